"""How the room's kernels are compiled.

Kernels release the interpreter lock, so that blocks of replicates run on plain threads, and are cached on disk. Inner
ones get no wrapper for calls from Python, which saves time to compile. The cache of a kernel does not notice a change
of this module or of a kernel in another one: keep a kernel and what it calls in one module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["inner", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_REORDER = {"reassoc", "contract", "nsz", "arcp"}
"""Lets sums run in several lanes; their order is fixed at compile time, so results repeat. NaN and infinity stay."""


def kernel(function: F) -> F:
    """Compile a function that Python calls."""
    return njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)(function)


def inner(function: F) -> F:
    """Compile a function that only kernels call."""
    return njit(nogil=True, error_model="numpy", fastmath=_REORDER, no_cpython_wrapper=True, no_cfunc_wrapper=True)(
        function
    )
