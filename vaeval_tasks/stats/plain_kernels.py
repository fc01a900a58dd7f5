"""The steps of :mod:`.kernels` and the counts of :mod:`.tally` in NumPy alone, for problems that are small.

Loading what compiles the kernels takes two seconds of a processor, a file of a hundred ratings less than one to rank.
The model, the damping and the verdicts are those that the kernels' module explains; only the Hessian is new at every
step. A test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.kernels import ENDLESS, FINE, FRESH, KEPT, LONG, NEARER, PIVOT, RUNAWAY, TOLERANCE

if TYPE_CHECKING:
    from vaeval_tasks.stats.batches import Batch

__all__ = ["SMALL_COUNTS", "SMALL_STEPS", "plain_counts", "plain_steps"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

SMALL_STEPS = 128
"""Thresholds times pairs of a batch, at most."""
SMALL_COUNTS = 1 << 17
"""Ratings times cells times pairs, at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Design:
    """What does not change between steps."""

    pairs: Floats
    """(pairs, entities): +1 at the first, -1 at the second."""
    squares: Floats
    """(pairs, entities * entities): the outer products of its rows."""
    signs: Floats
    """(thresholds tau, parameters t): tau = signs @ t."""
    ridge: float


def plain_counts(pair: Codes, cell: Codes, weight: Floats, sessions: Floats, shape: tuple[int, int]) -> Floats:
    """Return the weighted counts (cells, pairs, replicates).

    Args:
        pair: per rating.
        cell: per rating.
        weight: per rating.
        sessions: (ratings, replicates), the resampling weight.
        shape: how many cells and pairs there are.
    """
    places = np.zeros((shape[0] * shape[1], len(pair)))
    places[cell * shape[1] + pair, np.arange(len(pair))] = weight
    return np.einsum("cr,rb->cb", places, sessions).reshape(*shape, -1)  # no threads for so little


def plain_steps(
    batch: Batch, first: Codes, second: Codes, state: NDArray[np.uint8], theta: Floats, m: int, ridge: float, steps: int
) -> None:
    """Take Newton steps until every replicate is done; ``state`` and ``theta`` are as the kernels leave them."""
    design = _design(first, second, batch.place, m, theta.shape[1] - m, ridge)
    largest = np.ones(len(theta))
    for _ in range(steps):
        active = np.flatnonzero(state <= KEPT)
        if not len(active):
            return
        part = batch.of(active)
        gradient, information = _derivatives(part, design, theta[active])
        step, known = _solved(gradient, information)
        moved, largest[active], verdict = _taken(theta[active], step, largest[active], known, design.pairs.shape[1])
        theta[active], state[active] = moved, verdict


def _design(first: Codes, second: Codes, place: Codes, m: int, n_free: int, ridge: float) -> _Design:
    pairs = np.zeros((len(first), m))
    np.add.at(pairs, (np.arange(len(first)), first), 1.0)
    np.add.at(pairs, (np.arange(len(first)), second), -1.0)
    signs = np.zeros((len(place), n_free))
    for k, j in enumerate(place):
        if j:
            signs[k, abs(j) - 1] = np.sign(j)
    squares = (pairs[:, :, None] * pairs[:, None, :]).reshape(len(first), m * m)
    return _Design(pairs=pairs, squares=squares, signs=signs, ridge=ridge)


def _derivatives(batch: Batch, design: _Design, theta: Floats) -> tuple[Floats, Floats]:
    """Return gradient (replicates, n) and information (replicates, n, n), lifted along the constant shift."""
    m = design.pairs.shape[1]
    strengths, signs = theta[:, :m], design.signs
    tau = theta[:, m:] @ signs.T
    with np.errstate(over="ignore"):
        f = 1.0 / (1.0 + np.exp((strengths @ design.pairs.T)[:, None, :] - tau[:, :, None]))
    u = batch.adjacent * (1.0 - f)
    g = u * f
    gradient = np.empty_like(theta)
    gradient[:, :m] = (batch.lift - u.sum(axis=1)) @ design.pairs - design.ridge * strengths
    gradient[:, m:] = u.sum(axis=2) @ signs
    information = np.zeros((*theta.shape, theta.shape[1]))
    entities = (g.sum(axis=1) @ design.squares).reshape(-1, m, m)
    lift = np.trace(entities, axis1=1, axis2=2) / (m * m)
    information[:, :m, :m] = entities + lift[:, None, None] + design.ridge * np.eye(m)
    mixed = -np.einsum("bkp,kt,pm->btm", g, signs, design.pairs, optimize=True)
    information[:, m:, :m] = mixed
    information[:, :m, m:] = mixed.transpose(0, 2, 1)
    of_thresholds, bend = _thresholds(batch.totals, tau, signs)
    gradient[:, m:] += of_thresholds
    own = (g.sum(axis=2) @ np.abs(signs))[:, :, None] * np.eye(signs.shape[1])
    information[:, m:, m:] = bend + own
    return gradient, information


def _thresholds(totals: Floats, tau: Floats, signs: Floats) -> tuple[Floats, Floats]:
    """Return the share of the term of the thresholds alone in gradient and information of the parameters t."""
    between = np.diff(signs, axis=0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        gap = np.expm1(np.diff(tau, axis=1))
        inside = totals[:, 1:-1]
        gradient = (inside / gap) @ signs[1:] - (inside * (1.0 + 1.0 / gap)) @ signs[:-1]
        bend = inside * (gap + 1.0) / (gap * gap)
    gradient = gradient - totals[:, -1:] * signs[-1]
    return gradient, np.einsum("bk,ki,kj->bij", bend, between, between, optimize=True)


def _solved(gradient: Floats, information: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Solve by Cholesky's method; return the step, and where the data say something of every direction."""
    n = gradient.shape[1]
    factor, known = np.zeros_like(information), np.ones(len(gradient), dtype=bool)
    for i in range(n):
        floor = PIVOT * information[:, i, i]
        for j in range(i):
            v = information[:, i, j] - np.einsum("bk,bk->b", factor[:, i, :j], factor[:, j, :j])
            factor[:, i, j] = v / factor[:, j, j]
        v = information[:, i, i] - np.einsum("bk,bk->b", factor[:, i, :i], factor[:, i, :i])
        known &= v > floor
        factor[:, i, i] = np.sqrt(np.maximum(v, floor))
    step = np.empty_like(gradient)
    for i in range(n):
        step[:, i] = (gradient[:, i] - np.einsum("bk,bk->b", factor[:, i, :i], step[:, :i])) / factor[:, i, i]
    for i in reversed(range(n)):
        step[:, i] = (step[:, i] - np.einsum("bk,bk->b", factor[:, i + 1 :, i], step[:, i + 1 :])) / factor[:, i, i]
    return step, known


def _taken(
    theta: Floats, step: Floats, before: Floats, known: NDArray[np.bool_], m: int
) -> tuple[Floats, Floats, NDArray[np.uint8]]:
    """Return where the step, or a part of it, leads, its largest change, and what it says of each replicate."""
    free = step.shape[1] > m
    size = np.abs(step).max(axis=1)
    span = step[:, :m].max(axis=1, initial=0.0) - step[:, :m].min(axis=1, initial=0.0) + (size if free else 0.0)
    part = np.where(span > LONG, np.log1p(span) / np.maximum(span, LONG), 1.0)
    if free:
        room = np.diff(theta[:, m:], axis=1, prepend=0.0)
        change = np.diff(step[:, m:], axis=1, prepend=0.0)
        tight = change < -NEARER * room
        allowed = np.where(tight, -NEARER * room / np.where(tight, change, 1.0), np.inf)
        part = np.minimum(part, allowed.min(axis=1))
    moved = theta + part[:, None] * step
    largest = size * part
    away = ~(np.abs(moved[:, :m]) < RUNAWAY).all(axis=1)
    done = largest * np.minimum(largest / before, 1.0) < TOLERANCE
    verdict = np.where(away | ~known, ENDLESS, np.where(done, FINE, FRESH)).astype(np.uint8)
    return moved, largest, verdict
