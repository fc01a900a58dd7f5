"""How the room's kernels are compiled.

Kernels release the interpreter lock, so that blocks of replicates run on plain threads, and are cached on disk, as the
first use on a machine takes some seconds. The cache notices a change of a kernel's own module alone, so a kernel uses
nothing of other modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_REORDER = {"reassoc", "contract", "nsz", "arcp"}
"""Lets sums run in several lanes; their order is fixed at compile time, so results repeat. NaN and infinity stay."""


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers at its first call."""
    return njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)(function)
