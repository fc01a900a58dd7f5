"""The categories of a score that occur, and how thresholds are made of parameters.

A level (absolute score) that no rating uses has no finite threshold of its own: it is merged with its neighbour by
fitting thresholds only between the levels that occur. Without ties the middle threshold is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Categories", "categories"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Categories:
    """The used columns of a count table and the design of their thresholds."""

    columns: NDArray[np.int64]
    """Columns that are kept, ascending."""
    levels: tuple[int, ...]
    """Absolute scores that occur."""
    design: NDArray[np.float64]
    """(thresholds, parameters): tau = design @ t, one threshold between every two neighbours in ``columns``."""


def categories(totals: NDArray[np.float64], *, symmetric: bool = True) -> Categories:
    """Return the used categories of a table with these column totals (from -scale to +scale).

    With ``symmetric`` a score and its mirror image are used or unused together and tau is antisymmetric.
    """
    scale = len(totals) // 2
    both = totals + totals[::-1]
    levels = tuple(level for level in range(scale + 1) if both[scale + level] > 0)
    columns = np.flatnonzero(both if symmetric else totals)
    n_thresholds = max(len(columns) - 1, 0)
    if not symmetric:
        return Categories(columns=columns, levels=levels, design=np.eye(n_thresholds))
    half = n_thresholds // 2
    design = np.zeros((n_thresholds, half))
    rows = np.arange(half)
    design[half - 1 - rows, rows] = -1.0
    design[n_thresholds - half + rows, rows] = 1.0
    return Categories(columns=columns, levels=levels, design=design)
