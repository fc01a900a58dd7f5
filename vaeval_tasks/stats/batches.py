"""Many tables of counts with one set of categories, fitted together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.kernels import (
    ENDLESS,
    FAILED,
    FINE,
    FRESH,
    KEPT,
    add_entities,
    add_pairs,
    add_thresholds,
    take_step,
)
from vaeval_tasks.stats.levels import Categories
from vaeval_tasks.stats.plain_kernels import SMALL_STEPS, plain_steps

__all__ = ["Batch", "Fitted", "fit_batch", "ordinal_batch", "wins_batch"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Counts in the form the kernels use; see there."""

    adjacent: Floats
    """(replicates, thresholds, pairs)."""
    lift: Floats
    """(replicates, pairs)."""
    totals: Floats
    """(replicates, categories)."""
    place: Codes
    """(thresholds,)."""

    def of(self, replicates: Codes) -> Batch:
        """Return the counts of some replicates."""
        return Batch(
            adjacent=self.adjacent[replicates],
            lift=self.lift[replicates],
            totals=self.totals[replicates],
            place=self.place,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """What came of a batch."""

    strengths: Floats
    """(replicates, entities); NaN where there is no finite maximum, or none was found."""
    failed: NDArray[np.bool_]
    """(replicates,): every entity has ratings, but the steps did not end."""
    endless: NDArray[np.bool_]
    """(replicates,): every entity has ratings, and there is no finite maximum."""


def ordinal_batch(counts: Floats, used: Categories) -> Batch:
    """Return the cumulative-link model of counts (scores, pairs, replicates) of which the ``used`` ones occur."""
    kept = counts if len(used.columns) == len(counts) else counts[used.columns]  # seldom a copy
    j = np.arange(1, used.design.shape[1] + 1)
    return Batch(
        adjacent=np.ascontiguousarray((kept[:-1] + kept[1:]).transpose(2, 0, 1)),
        lift=np.ascontiguousarray(kept[1:].sum(axis=0).T),
        totals=np.ascontiguousarray(kept.sum(axis=1).T),
        place=(used.design @ j).astype(np.int64),
    )


def wins_batch(counts: Floats) -> Batch:
    """Return the model of partial wins: a score y of (scores, pairs, replicates) is (y / scale + 1) / 2 of a win."""
    share = np.linspace(0.0, 1.0, len(counts))
    return Batch(
        adjacent=np.ascontiguousarray(counts.sum(axis=0).T[:, None]),
        lift=np.ascontiguousarray(np.tensordot(share, counts, axes=1).T),
        totals=np.zeros((counts.shape[2], 2)),
        place=np.zeros(1, dtype=np.int64),
    )


def fit_batch(
    batch: Batch, first: Codes, second: Codes, strengths: Floats, thresholds: Floats, *, ridge: float
) -> Fitted:
    """Take Newton steps from one start until every replicate is done.

    Args:
        batch: the counts.
        first: entity code, per pair.
        second: higher entity code, per pair, or the same.
        strengths: where to start, per entity.
        thresholds: where to start, ascending from above 0.
        ridge: precision of a zero-mean normal penalty on the strengths.
    """
    n_lanes, m, n_free = len(batch.lift), len(strengths), len(thresholds)
    fitted = np.full(n_lanes, bool(len(batch.place)))
    if ridge == 0.0:
        fitted &= _all_seen(batch, first, second, m)
    state = np.where(fitted, FRESH, FAILED).astype(np.uint8)
    theta = np.tile(np.concatenate([strengths, thresholds]), (n_lanes, 1))
    if batch.adjacent.shape[1] * len(first) <= SMALL_STEPS:
        plain_steps(batch, first, second, state, theta, m, ridge, _STEPS)
        return _fitted(state, theta, fitted, m)
    n = m + n_free
    gradient, information, step = np.empty((n_lanes, n)), np.empty((n_lanes, n, n)), np.empty(n)
    parts, largest = np.empty((n_lanes, 2 + n_free, len(first))), np.ones(n_lanes)
    for _ in range(_STEPS):
        if not np.any(state <= KEPT):
            break
        add_pairs(batch.adjacent, batch.lift, first, second, batch.place, state, theta, gradient, information, parts)
        add_entities(first, second, ridge, state, theta, gradient, information, parts)
        add_thresholds(batch.totals, batch.place, m, state, theta, gradient, information)
        take_step(m, state, theta, gradient, information, step, largest)
    return _fitted(state, theta, fitted, m)


def _fitted(state: NDArray[np.uint8], theta: Floats, fitted: NDArray[np.bool_], m: int) -> Fitted:
    """Return what the last states say; ``fitted`` are the replicates that could be fitted."""
    fine = state == FINE
    endless = fitted & (state == ENDLESS)
    strengths = np.where(fine[:, None], theta[:, :m], np.nan)
    return Fitted(strengths=strengths, failed=fitted & ~fine & ~endless, endless=endless)


def _all_seen(batch: Batch, first: Codes, second: Codes, m: int) -> NDArray[np.bool_]:
    """Return, per replicate, whether every entity is compared with another one."""
    touches = np.zeros((len(first), m))
    apart = np.flatnonzero(first != second)
    touches[apart, first[apart]] = touches[apart, second[apart]] = 1.0
    return np.all(batch.adjacent.sum(axis=1) @ touches > 0.0, axis=1)
