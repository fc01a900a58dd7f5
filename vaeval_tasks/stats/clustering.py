"""Clustering of rubrics by what is left of their strength profiles without the shared quality axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Profiles", "RubricClusters", "adjusted_rand", "cluster_rubrics", "partition", "residual_profiles"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profiles:
    """Strengths without their row means and without their first principal component."""

    residuals: NDArray[np.float64]
    """(…, rubrics, entities)."""
    axis: NDArray[np.float64]
    """The component's entity loadings, (…, entities)."""
    share: NDArray[np.float64]
    """Share of the row-centred sum of squares that the component holds, (…)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RubricClusters:
    """A partition of the rubrics and how far it can be trusted."""

    rubrics: tuple[str, ...]
    k: int
    labels: tuple[int, ...]
    """A group number per rubric, 0 for the group of the first rubric, in order of appearance."""
    similarity: NDArray[np.float64]
    """(rubrics, rubrics), corrected for shared noise where replicates were given."""
    noise: NDArray[np.float64] | None
    """(rubrics, rubrics): shared noise that was subtracted from the products of residuals."""
    tree: NDArray[np.float64]
    """Average linkage, as SciPy writes it: (rubrics - 1, 4)."""
    axis_share: float
    """Share of the first principal component."""
    reproduction: float | None
    """Share of replicates that give the same partition."""
    chance: float | None
    """The same, in replicates of which only the first component and noise are left."""
    rand_mean: float | None
    """Adjusted Rand index between the partitions of two rater halves: mean over splits."""
    rand_sd: float | None
    replicates: int
    halves: int
    reason: str = ""
    """Why a rate is None."""


def residual_profiles(strengths: ArrayLike) -> Profiles:
    """Centre each row, then take the first principal component out."""
    raise NotImplementedError


def partition(similarity: ArrayLike, k: int) -> tuple[int, ...]:
    """Return average-linkage groups of a similarity matrix cut at ``k``, numbered in order of appearance."""
    raise NotImplementedError


def adjusted_rand(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the adjusted Rand index of two partitions (Hubert & Arabie 1985), 1 if both are trivial and equal."""
    raise NotImplementedError


def cluster_rubrics(
    strengths: ArrayLike,
    rubrics: Sequence[str],
    *,
    k: int = 2,
    replicates: ArrayLike | None = None,
    halves: ArrayLike | None = None,
) -> RubricClusters:
    """Cluster rubrics.

    Args:
        strengths: (rubrics, entities) of the full fits; any linear scale (log odds or Elo).
        rubrics: names of the rows (leave the overall question out).
        k: the number of groups.
        replicates: (replicates, rubrics, entities) of a bootstrap with shared draws, on the same scale.
        halves: (splits, 2, rubrics, entities) from :func:`.split_half.rater_halves`.

    Raises:
        EstimationError: there are fewer rubrics than groups, or fewer than three entities.
    """
    raise NotImplementedError
