"""Run the harness with the stand-ins, as one process of several: python rank_main.py DATA RUN OUT TASK ..."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import harness_fakes
import lm_eval

from vaeval_tasks.hosts.lm_eval.register import register, task_manager
from vaeval_tasks.metrics import profiles

profiles.load_scorers = harness_fakes.load_scorers
data, run, out, *tasks = sys.argv[1:]
register()
manager = task_manager(dataset_path=data)
results = lm_eval.simple_evaluate(
    harness_fakes.ToneLM(run_dir=run), tasks=tasks, task_manager=manager, bootstrap_iters=0
)
if results is not None:
    rows = {task: {k: v for k, v in row.items() if "vae" in k} for task, row in results["results"].items()}
    Path(out).write_text(json.dumps(rows, sort_keys=True))
