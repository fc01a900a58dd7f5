"""Clustering of rubrics by what is left of their strength profiles without the shared quality axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vaeval_tasks.errors import EstimationError

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
    x = np.asarray(strengths, dtype=np.float64)
    centred = x - x.mean(axis=-1, keepdims=True)
    left, size, right = np.linalg.svd(centred, full_matrices=False)
    first = size[..., 0, None, None] * left[..., :, 0, None] * right[..., None, 0, :]
    total = (size**2).sum(axis=-1)
    share = np.divide(size[..., 0] ** 2, total, out=np.zeros_like(total), where=total > 0)
    return Profiles(residuals=centred - first, axis=right[..., 0, :], share=share)


def partition(similarity: ArrayLike, k: int) -> tuple[int, ...]:
    """Return average-linkage groups of a similarity matrix cut at ``k``, numbered in order of appearance."""
    s = np.asarray(similarity, dtype=np.float64)
    from scipy.cluster.hierarchy import fcluster  # only the clustering of rubrics pays for it

    return _number(fcluster(_tree(s), k, "maxclust"))


def adjusted_rand(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the adjusted Rand index of two partitions (Hubert & Arabie 1985), 1 if both are trivial and equal.

    Raises:
        ValueError: they are of different lengths.
    """
    from sklearn.metrics import adjusted_rand_score  # heavy, and only clustering needs it

    return float(adjusted_rand_score(first, second))


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
    x = np.asarray(strengths, dtype=np.float64)
    if not 1 <= k <= len(rubrics) or x.shape[1] < 3:
        raise EstimationError(
            f"{len(rubrics)} rubrics of {x.shape[1]} entities cannot be clustered into {k} groups: that needs as many "
            "rubrics as groups, and three entities or more"
        )
    profiles = residual_profiles(x)
    drawn = None if replicates is None else _defined(np.asarray(replicates, dtype=np.float64))
    split = None if halves is None else _defined(np.asarray(halves, dtype=np.float64))
    noise = None if drawn is None or not len(drawn) else _noise(profiles, drawn)
    similarity = _similarity(profiles.residuals, noise)
    labels = partition(similarity, k)
    stability = _Stability() if drawn is None or noise is None else _stability(x, drawn, noise, labels, k)
    rand = [] if split is None else [_rand(pair, noise, k) for pair in split]
    return RubricClusters(
        rubrics=tuple(rubrics),
        k=k,
        labels=labels,
        similarity=similarity,
        noise=noise,
        tree=_tree(similarity),
        axis_share=float(profiles.share),
        reproduction=stability.reproduction,
        chance=stability.chance,
        rand_mean=float(np.mean(rand)) if rand else None,
        rand_sd=float(np.std(rand, ddof=1)) if len(rand) > 1 else None,
        replicates=0 if drawn is None else len(drawn),
        halves=len(rand),
        reason=_reason(stability.reproduction is None, not rand),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stability:
    reproduction: float | None = None
    chance: float | None = None


def _stability(
    x: NDArray[np.float64],
    drawn: NDArray[np.float64],
    noise: NDArray[np.float64],
    labels: tuple[int, ...],
    k: int,
) -> _Stability:
    """Return how often replicates give the partition, and how often noise about the first component alone does."""
    centred = x - x.mean(axis=1, keepdims=True)
    alone = centred - residual_profiles(x).residuals + (drawn - drawn.mean(axis=0))
    rates = []
    for version in (drawn, alone):
        residuals = residual_profiles(version).residuals
        rates.append(float(np.mean([partition(_similarity(e, noise), k) == labels for e in residuals])))
    return _Stability(reproduction=rates[0], chance=rates[1])


def _rand(pair: NDArray[np.float64], noise: NDArray[np.float64] | None, k: int) -> float:
    """Return the adjusted Rand index of the partitions of two halves of the raters.

    A half has half the ratings, so about twice the noise of the whole.
    """
    doubled = None if noise is None else 2 * noise
    first, second = (partition(_similarity(e, doubled), k) for e in residual_profiles(pair).residuals)
    return adjusted_rand(first, second)


def _noise(profiles: Profiles, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean product of the residuals' deviations; the component is found anew in every replicate."""
    moved = residual_profiles(drawn).residuals - profiles.residuals
    return np.asarray(np.einsum("bri,bsi->rs", moved, moved) / len(moved))


def _similarity(residuals: NDArray[np.float64], noise: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return cosines of residual profiles, with the noise taken from the products but not from the norms."""
    products = residuals @ residuals.T
    norms = np.sqrt(np.diag(products))
    below = np.outer(norms, norms)
    if noise is not None:
        products = products - noise
    return np.divide(products, below, out=np.zeros_like(products), where=below > 0)


def _tree(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return average linkage of the condensed distances 1 - similarity (SciPy would take a square as observations)."""
    distance = np.clip(1 - (similarity + similarity.T) / 2, 0, None)
    condensed = distance[np.triu_indices(len(distance), 1)]
    from scipy.cluster.hierarchy import linkage

    return np.asarray(linkage(condensed, "average"))


def _number(labels: ArrayLike) -> tuple[int, ...]:
    """Number groups in order of appearance."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(int(label), len(numbers)) for label in np.asarray(labels))


def _defined(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the replicates (or splits) in which every strength is defined."""
    return strengths[np.isfinite(strengths).reshape(len(strengths), -1).all(axis=1)]


def _reason(no_replicates: bool, no_halves: bool) -> str:
    missing = [name for name, absent in (("replicates", no_replicates), ("rater halves", no_halves)) if absent]
    return f"no {' and no '.join(missing)} with every strength defined" if missing else ""
