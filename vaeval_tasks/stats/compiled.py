"""How the room's kernels are compiled.

Kernels release the interpreter lock, so that blocks of replicates run on plain threads, and are cached on disk, as the
first use on a machine takes some seconds. The cache notices a change of a kernel's own module alone, so a kernel uses
nothing of other modules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, TypeVar, cast

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_REORDER = {"reassoc", "contract", "nsz", "arcp"}
"""Lets sums run in several lanes; their order is fixed at compile time, so results repeat. NaN and infinity stay."""
_COMPILING = Lock()
"""Blocks of replicates run on threads, and each calls first."""


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers at its first call.

    Numba itself is imported then: it takes longer than all else that ranking a small file by the sandwich needs.
    """
    ready: list[Callable[..., Any]] = []

    @wraps(function)
    def call(*arguments: Any) -> Any:
        if not ready:
            with _COMPILING:
                if not ready:
                    from numba import njit

                    ready.append(njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)(function))
        return ready[0](*arguments)

    return cast("F", call)
