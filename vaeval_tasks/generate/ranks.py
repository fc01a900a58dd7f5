"""Several processes that torchrun or ``accelerate launch`` started share a run."""

from __future__ import annotations

import os
from datetime import timedelta

__all__ = ["rank", "wait_for_all", "world_size"]


def rank() -> int:
    """Return this process's number, 0 where there is one."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """Return how many processes there are."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def wait_for_all() -> None:
    """Wait until every process is here, over gloo, which needs no GPU."""
    if world_size() == 1:
        return
    import torch.distributed as group

    if not group.is_initialized():
        group.init_process_group("gloo", timeout=timedelta(days=7))  # shares may end hours apart
    group.monitored_barrier(timeout=timedelta(days=7))
