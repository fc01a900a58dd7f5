"""Split-half reliability: how alike are the rankings of two disjoint halves of the raters?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.bootstrap import Progress
from vaeval_tasks.stats.comparisons import Comparisons

__all__ = ["SplitHalf", "rater_halves", "split_half"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitHalf:
    """Spearman correlation of two halves' strengths over many random splits, for one rubric."""

    rubric: str
    mean: float | None
    sd: float | None
    n_splits: int
    """Splits in which both halves had every entity."""
    n_undefined: int
    """Splits left out: a half lacked an entity, or had all strengths equal."""
    ridged: int
    """Half fits that needed the fallback ridge."""
    n_entities: int
    n_raters: int
    reason: str = ""


def split_half(
    data: Comparisons,
    *,
    splits: int = 20_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[SplitHalf, ...]:
    """Split the raters in two by head count, fit the ordinal model to each half, and correlate; per rubric.

    The number depends on how many entities there are: print it for configurations and for models.
    """
    raise NotImplementedError


def rater_halves(
    data: Comparisons, *, splits: int = 500, seed: int = 0, threads: int | None = None
) -> NDArray[np.float64]:
    """Return the strengths of both halves, (splits, 2, rubrics, entities); NaN where a half lacks an entity."""
    raise NotImplementedError
