"""The one progress bar: on a terminal and in a notebook, nothing in a pipe or where there is nothing to count."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["progress_bar", "progress_shown", "tracked"]

T = TypeVar("T")

_shown: ContextVar[bool] = ContextVar("progress_shown", default=True)


@contextmanager
def progress_shown(shown: bool) -> Iterator[None]:
    """Show no bar at all within the block where ``shown`` is False, however deep."""
    token = _shown.set(shown and _shown.get())
    try:
        yield
    finally:
        _shown.reset(token)


def tracked(items: Iterable[T], what: str, unit: str, *, total: int) -> Iterator[T]:
    """Yield ``total`` items while a bar counts them; see :func:`progress_bar`."""
    with progress_bar(total, what, unit) as bar:
        for item in items:
            yield item
            bar.update()


def progress_bar(total: int, what: str, unit: str, *, shown: bool = True) -> tqdm[Any]:
    """Return a bar, to be closed or used as a context manager. A terminal that tells no size counts as 80 by 24.

    Args:
        total: how much there is to do; at 0 nothing is shown.
        what: is being done, or comes of it.
        unit: of what is counted.
        shown: False: nothing is shown.
    """
    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    except (AttributeError, OSError, ValueError):
        width = 0
    ncols, nrows = (None, None) if width else (80, 24)
    disable = None if shown and total and _shown.get() else True
    return _kind()(total=total, desc=what, unit=unit, disable=disable, ncols=ncols, nrows=nrows)


def _kind() -> type[tqdm[Any]]:
    """Return the bar of a notebook where there may be one, else that of a terminal."""
    from tqdm import tqdm  # looks its own version up among all packages, which takes as long as click does

    if "ipykernel" not in sys.modules:
        return tqdm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it falls back to a terminal's where no widgets are installed
        from tqdm.auto import tqdm as automatic
    return automatic
