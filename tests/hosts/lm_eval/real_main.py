"""Recorded answers through the harness with the real offline scorers: python real_main.py ANSWERS RUN OUT TASK ...

As one process of several or alone; what every item scored and what the table says goes to OUT.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import lm_eval
import torch

from vaeval_tasks.hosts.lm_eval.register import register, task_manager

responses, run, out, *tasks = sys.argv[1:]
register()
manager = task_manager(dataset_path="sample", profile="offline", asr_model="whisper-tiny.en")
results = lm_eval.simple_evaluate(
    "vaeval-replay",
    model_args={"responses": responses, "run_dir": run},
    tasks=tasks,
    task_manager=manager,
    bootstrap_iters=0,
)
if results is not None:
    rows = {task: {k: v for k, v in row.items() if "vae" in k} for task, row in results["results"].items()}
    items = {
        sample["doc"]["item_id"]: {metric: sample[metric] for metric in sample["metrics"]}
        for samples in results["samples"].values()
        for sample in samples
    }
    for metrics in items.values():
        for record in metrics.values():
            record.pop("run")  # the folder, and what is told of it
            record.pop("settings")
    told = {"threads": torch.get_num_threads(), "rows": rows, "items": items}
    Path(out).write_text(json.dumps(told, sort_keys=True))
