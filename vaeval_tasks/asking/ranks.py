"""Several processes that torchrun or ``accelerate launch`` started share a run."""

from __future__ import annotations

import atexit
import os
from datetime import timedelta
from typing import Any

__all__ = ["group", "rank", "wait_for_all", "world_size"]

_PATIENCE = timedelta(days=30)
"""Shares may end long apart."""


def rank() -> int:
    """Return this process's number, 0 where there is one."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """Return how many processes there are."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def group() -> Any:
    """Return ``torch.distributed``, joined by this process over gloo: what is gathered is small and needs no GPU."""
    import torch.distributed

    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo", timeout=_PATIENCE)
        atexit.register(torch.distributed.destroy_process_group)
    return torch.distributed


def wait_for_all() -> None:
    """Wait until every process is here."""
    if world_size() > 1:
        group().monitored_barrier(timeout=_PATIENCE)
