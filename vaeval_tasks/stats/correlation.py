"""Correlations between rubrics over sessions, and their means within and across groups (table A8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.comparisons import Comparisons

__all__ = ["Block", "Level", "RubricCorrelations", "block_means", "rubric_correlations"]


class Level(StrEnum):
    """What is correlated."""

    rating = "rating"
    """Single ratings: one rater on one pair."""
    pair = "pair"
    """Mean over the raters of one prompt and pair."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RubricCorrelations:
    """Pairwise correlations of rubrics; never NaN: what is undefined is 0 and marked so."""

    rubrics: tuple[str, ...]
    level: Level
    matrix: NDArray[np.float64]
    """(rubrics, rubrics); 0 where undefined."""
    defined: NDArray[np.bool_]
    n: NDArray[np.int64]
    """Sessions (or pairs) that answer both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Mean correlation of the rubric pairs of one group, or between two groups."""

    first: str
    second: str
    """Equal to ``first`` for a group's inner mean."""
    mean: float | None
    n_pairs: int
    """Pairs of rubrics whose correlation is defined."""


def rubric_correlations(data: Comparisons, *, level: Level = Level.rating) -> RubricCorrelations:
    """Correlate the rubrics' scores over what answers both.

    A session is (rater, prompt, a, b). Scores are mirrored (uncentred Pearson), so that the order of a and b does not
    matter: sum(y1 y2) / sqrt(sum(y1^2) sum(y2^2)).
    """
    raise NotImplementedError


def block_means(correlations: RubricCorrelations, groups: Sequence[str]) -> tuple[Block, ...]:
    """Return the mean correlation within and between groups.

    Args:
        correlations: of all rubrics.
        groups: one group name per rubric, in their order.
    """
    raise NotImplementedError
