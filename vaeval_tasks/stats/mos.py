"""Mean opinion scores: averaged over the raters of a sample, then over samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vaeval_tasks.stats.draws import Draws
from vaeval_tasks.stats.intervals import Interval

__all__ = ["MosRatings", "MosSummary", "mos", "mos_ratings"]

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MosRatings:
    """Absolute ratings of single responses, one a row, as codes. Build one with :func:`mos_ratings`."""

    entities: tuple[str, ...]
    rubrics: tuple[str, ...]
    levels: tuple[int, ...]
    """The declared scores, 1 to 5 as a rule."""
    rubric: Codes
    entity: Codes
    sample: Codes
    """The response: (prompt, configuration). It stays when configurations are pooled into models."""
    rater: Codes
    prompt: Codes
    score: Codes
    weight: NDArray[np.float64]
    n_raters: int
    n_prompts: int

    def subset(self, keep: ArrayLike) -> MosRatings:
        """Return the rows where ``keep`` is true; raters, prompts and samples are coded anew."""
        raise NotImplementedError

    def relabel(self, names: Sequence[str]) -> MosRatings:
        """Return the same ratings with entity ``i`` renamed ``names[i]``; equal names are pooled."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class MosSummary:
    """One entity's MOS in one rubric."""

    rubric: str
    entity: str
    mean: float | None
    interval: Interval
    distribution: tuple[float, ...]
    """Share of ratings at each level; empty without ratings."""
    n_ratings: float
    n_raters: int
    n_prompts: int
    n_samples: int
    reason: str = ""


def mos_ratings(
    *,
    entities: Sequence[str],
    entity: ArrayLike,
    score: ArrayLike,
    rater: ArrayLike,
    prompt: ArrayLike,
    rubrics: Sequence[str] = ("overall",),
    rubric: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    levels: Sequence[int] = (1, 2, 3, 4, 5),
) -> MosRatings:
    """Check columns of codes and return them as a record; as :func:`.comparisons.comparisons` does."""
    raise NotImplementedError


def mos(data: MosRatings, draws: Draws, *, pooled: bool = False, level: float = 0.95) -> tuple[MosSummary, ...]:
    """Return every entity's MOS in every rubric, rubric by rubric.

    Args:
        data: the ratings.
        draws: how raters and prompts are resampled for the intervals.
        pooled: average over ratings at once instead of over samples.
        level: of the intervals.
    """
    raise NotImplementedError
