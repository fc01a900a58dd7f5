"""Make our models and tasks known to lm-evaluation-harness, which has no plug-in mechanism in 0.4.13.

Its next release finds models by entry points (its pull request 4013), and may find tasks so (4015, open): both are
declared, and a harness that reads them needs nothing of this module.

In Python::

    register()
    lm_eval.simple_evaluate("vaeval-offline", tasks=[GROUP], task_manager=task_manager(dataset_path="sample"))
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks import paths

if TYPE_CHECKING:
    from lm_eval.tasks import TaskManager

__all__ = ["MODELS", "TASK_PACKAGE", "evaluate_quietly", "our_folders", "register", "task_manager"]

MODELS: dict[str, str] = {
    "vaeval": "vaeval_tasks.hosts.lm_eval.systems:ConfiguredLM",
    "vaeval-cascade": "vaeval_tasks.hosts.lm_eval.systems:CascadeLM",
    "vaeval-chat-audio": "vaeval_tasks.hosts.lm_eval.systems:ChatAudioLM",
    "vaeval-offline": "vaeval_tasks.hosts.lm_eval.offline:OfflineLM",
    "vaeval-omni": "vaeval_tasks.hosts.lm_eval.systems:OmniLM",
    "vaeval-realtime": "vaeval_tasks.hosts.lm_eval.systems:RealtimeLM",
    "vaeval-replay": "vaeval_tasks.hosts.lm_eval.replay:ReplayLM",
}
"""Model name: the class that is imported when the name is used."""

TASK_PACKAGE = "vaeval_tasks.hosts.lm_eval.plugin.task_configs"
"""The entry point of our tasks, in the group ``lm_eval.tasks``."""


def register() -> None:
    """Add our models to the harness's, which stay available. Calling it again changes nothing."""
    import lm_eval.models  # noqa: F401 - first: the harness adds its own models only to an empty registry
    from lm_eval.api.registry import model_registry

    for name, target in MODELS.items():
        if name not in model_registry:
            model_registry.register(name, target=target)


def our_folders() -> list[str]:
    """Return the folder of our YAMLs, nothing where the harness finds it by itself, as it would warn of each task."""
    import lm_eval.tasks.manager

    finds = getattr(lm_eval.tasks.manager, "discover_plugin_task_paths", None)
    ours = paths.task_configs_dir().resolve()
    return [] if finds is not None and ours in {Path(path).resolve() for path in finds()} else [str(ours)]


def task_manager(include_path: str | Path | None = None, *, defaults: bool = False, **metadata: Any) -> TaskManager:
    """Return a task manager that knows our tasks.

    Args:
        include_path: a further folder of task YAMLs.
        defaults: also index the tasks that come with the harness, which takes half a minute.
        metadata: what ``--metadata`` gives on the command line: ``dataset_path``, ``profile``, ``run_dir`` …
    """
    from lm_eval.tasks import TaskManager

    folders = our_folders() + ([str(include_path)] if include_path else [])
    return TaskManager(include_path=folders, include_defaults=defaults, metadata=metadata)


def evaluate_quietly(model: str, model_args: dict[str, Any], tasks: list[str], metadata: dict[str, Any]) -> None:
    """Run one of our models on some of our tasks, as ``vaeval lm-eval`` does, with our own output only.

    Args:
        model: a name of :data:`MODELS`.
        model_args: its arguments, with ``run_dir``.
        tasks: names of tasks or groups.
        metadata: of :func:`task_manager`.
    """
    import lm_eval.api.task
    import lm_eval.evaluator

    register()
    # a bar for each task that is done at once, and a git that is asked for the user's own folder
    before = lm_eval.api.task.tqdm, lm_eval.evaluator.get_git_commit_hash
    lm_eval.api.task.tqdm = partial(before[0], disable=True)
    lm_eval.evaluator.get_git_commit_hash = lambda: None
    try:
        manager = task_manager(**metadata)
        lm_eval.simple_evaluate(
            model, model_args=model_args, tasks=tasks, task_manager=manager, bootstrap_iters=0, log_samples=False
        )
    finally:
        lm_eval.api.task.tqdm, lm_eval.evaluator.get_git_commit_hash = before
