"""Correlations between rubrics over sessions, and their means within and across groups (table A8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.cells import orient, session_codes
from vaeval_tasks.stats.comparisons import Comparisons, recode

__all__ = ["Block", "CorrelationLevel", "RubricCorrelations", "block_means", "rubric_correlations"]


class CorrelationLevel(StrEnum):
    """What is correlated."""

    rating = "rating"
    """Single ratings: one rater on one pair."""
    pair = "pair"
    """Mean over the raters of one prompt and pair."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RubricCorrelations:
    """Pairwise correlations of rubrics; never NaN: what is undefined is 0 and marked so."""

    rubrics: tuple[str, ...]
    level: CorrelationLevel
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
    """None where no pair of rubrics has a defined correlation."""
    n_pairs: int
    """Pairs of rubrics whose correlation is defined; the means of blocks, weighted so, make the mean of all."""


def rubric_correlations(data: Comparisons, *, level: CorrelationLevel = CorrelationLevel.rating) -> RubricCorrelations:
    """Correlate the rubrics' scores over what answers both.

    A session is (rater, prompt, pair of entities). Scores are mirrored (uncentred Pearson), so that the order of a and
    b does not matter: sum(y1 y2) / sqrt(sum(y1^2) sum(y2^2)). Weights are not used: a row is one answer.
    """
    turned = orient(data)
    if level is CorrelationLevel.rating:
        session = session_codes(data)
    else:
        session, _ = recode(data.prompt * len(turned.first) + turned.pair)
    n_rubrics, n = len(data.rubrics), int(session.max(initial=-1)) + 1
    cell = data.rubric * n + session
    answers = np.bincount(cell, minlength=n_rubrics * n).reshape(n_rubrics, n)
    sums = np.bincount(cell, weights=turned.score, minlength=n_rubrics * n).reshape(n_rubrics, n)
    answered = (answers > 0).astype(np.float64)
    scores = sums / np.maximum(answers, 1)
    products, squares = scores @ scores.T, (scores**2) @ answered.T  # squares[i, j]: of i, where j is answered too
    below = np.sqrt(squares * squares.T)
    return RubricCorrelations(
        rubrics=data.rubrics,
        level=level,
        matrix=np.divide(products, below, out=np.zeros_like(products), where=below > 0),
        defined=below > 0,
        n=np.rint(answered @ answered.T).astype(np.int64),
    )


def block_means(correlations: RubricCorrelations, groups: Sequence[str]) -> tuple[Block, ...]:
    """Return the mean correlation within and between groups.

    Args:
        correlations: of all rubrics.
        groups: one group name per rubric, in their order.

    Raises:
        ValueError: there is not one group per rubric.
    """
    if len(groups) != len(correlations.rubrics):
        raise ValueError(f"block_means needs {len(correlations.rubrics)} groups, got {len(groups)}")
    found: dict[frozenset[str], list[float]] = {}
    for i, j in combinations(range(len(groups)), 2):
        if correlations.defined[i, j]:
            found.setdefault(frozenset((groups[i], groups[j])), []).append(float(correlations.matrix[i, j]))
    blocks = []
    for first, second in combinations_with_replacement(dict.fromkeys(groups), 2):
        values = found.get(frozenset((first, second)), [])
        mean = float(np.mean(values)) if values else None
        blocks.append(Block(first=first, second=second, mean=mean, n_pairs=len(values)))
    return tuple(blocks)
