"""``vaeval lm-eval`` with stand-in scorers, as one process of several: python omni_main.py ARGUMENT ..."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import harness_fakes
import lm_eval.tasks
import torch

from vaeval_tasks.cli import main
from vaeval_tasks.metrics import profiles

torch.set_num_threads(1)
profiles.load_scorers = harness_fakes.load_scorers
lm_eval.tasks.TaskManager = partial(lm_eval.tasks.TaskManager, include_defaults=False)
sys.exit(main(["lm-eval", *sys.argv[1:]]))
