"""Where the entry point ``lm_eval.tasks`` points: ``vaeval_tasks.hosts.lm_eval.plugin.task_configs``.

lm-eval's pull request 4015 takes the folder of the package that such an entry point names, without importing it. Our
YAMLs lie at the top of a checkout and below ``_data`` in a wheel; this package looks for its parts there too.
"""

from vaeval_tasks.paths import task_configs_dir

__path__.append(str(task_configs_dir().parent))
