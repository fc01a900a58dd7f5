"""Compiled refits of one model to thousands of slightly different tables of counts.

With x = exp(delta - tau_k) a cumulative logit is F_k = 1 / (1 + x), and a category's probability factors into
F_k F_{k-1} (exp(-tau_{k-1}) - exp(-tau_k)) exp(delta). So with A_k = N_k + N_{k+1} the log-likelihood is

    l = sum_p [ sum_k A_pk log F_pk + delta_p (n_p - N_p1) ] + sum_k N_k log(exp(-tau_{k-1}) - exp(-tau_k)),

a sum of K-1 logistic regressions and a term of the thresholds alone: no difference of nearly equal numbers, and one
exponential per entity instead of one per pair and category. From a near start a few Newton steps suffice; as soon as
a step is small, its factorised Hessian is kept for the remaining ones. Partial-margin Bradley-Terry is the case of one
threshold at 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.compiled import inner, kernel

__all__ = ["FAILED", "FINE", "UNDEFINED", "Model", "refit_all"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

FINE, FAILED, UNDEFINED = 0, 1, 2
"""What became of a refit: found; no finite maximum near; an entity has no rating, or every rating ties."""
_TOLERANCE = 1e-8
_KEEP_HESSIAN = 0.02
"""A step below this leaves the Hessian nearly as it was."""
_RUNAWAY = 15.0
_FAST_STEPS = 15
_PIVOT = 1e-11


class Model(NamedTuple):
    """One table of counts in the form the likelihood uses (a tuple, since compiled code takes no data class)."""

    adjacent: Floats
    """(thresholds, pairs): A."""
    lift: Floats
    """(pairs,): ratings above the lowest category."""
    totals: Floats
    """(categories,)."""
    first: Codes
    second: Codes
    sign: Floats
    """(thresholds,): tau_k = sign_k t[slot_k]."""
    slot: Codes
    n_entities: int
    n_thresholds: int
    """Free threshold parameters t."""


class _Space(NamedTuple):
    """Scratch arrays of one fit."""

    odds: Floats
    pull: Floats
    bend: Floats
    cross: Floats
    gradient: Floats
    information: Floats
    step: Floats


@inner
def _ordinal_model(counts: Floats, first: Codes, second: Codes, m: int) -> Model:
    """Return the model of a (scores, pairs) table, with the levels merged that no rating uses."""
    width, n_pairs = counts.shape
    scale = width // 2
    totals = np.zeros(width)
    for c in range(width):
        totals[c] = counts[c].sum()
    columns = np.array([c for c in range(width) if totals[c] + totals[2 * scale - c] > 0.0])
    n_tau = max(len(columns) - 1, 0)
    half = n_tau // 2
    sign, slot = np.zeros(n_tau), np.zeros(n_tau, dtype=np.int64)
    for j in range(half):
        sign[half - 1 - j], slot[half - 1 - j] = -1.0, j
        sign[n_tau - half + j], slot[n_tau - half + j] = 1.0, j
    adjacent, lift = np.empty((n_tau, n_pairs)), np.zeros(n_pairs)
    for k in range(n_tau):
        low, high = columns[k], columns[k + 1]
        for p in range(n_pairs):
            adjacent[k, p] = counts[low, p] + counts[high, p]
            lift[p] += counts[high, p]
    return Model(adjacent, lift, totals[columns], first, second, sign, slot, m, half)


@inner
def _wins_model(counts: Floats, first: Codes, second: Codes, m: int) -> Model:
    """Return the model of partial wins: a score y of the (scores, pairs) table is (y / scale + 1) / 2 of a win."""
    width, n_pairs = counts.shape
    adjacent, lift = np.zeros((1, n_pairs)), np.zeros(n_pairs)
    for c in range(width):
        share = c / (width - 1)
        for p in range(n_pairs):
            adjacent[0, p] += counts[c, p]
            lift[p] += counts[c, p] * share
    return Model(adjacent, lift, np.zeros(2), first, second, np.zeros(1), np.zeros(1, dtype=np.int64), m, 0)


@inner
def _pairs(model: Model, theta: Floats, space: _Space, hessian: bool) -> None:
    """Add up the logistic regressions: pull and bend per pair, and the thresholds' share of the gradient."""
    m, n_pairs = model.n_entities, len(model.lift)
    up = np.exp(theta[:m])
    down = 1.0 / up
    odds, pull, bend = space.odds, space.pull, space.bend
    for p in range(n_pairs):
        odds[p] = up[model.first[p]] * down[model.second[p]]
        pull[p] = model.lift[p]
        bend[p] = 0.0
    if hessian:
        space.cross[:] = 0.0
    for k in range(len(model.sign)):
        t = m + model.slot[k]
        sign = model.sign[k]
        shrink = np.exp(-sign * theta[t]) if sign != 0.0 else 1.0
        adjacent = model.adjacent[k]
        above, curve = 0.0, 0.0
        if hessian:
            cross = space.cross[model.slot[k]]
            for p in range(n_pairs):
                x = odds[p] * shrink
                f = 1.0 / (1.0 + x)
                u = adjacent[p] * x * f
                g = u * f
                pull[p] -= u
                bend[p] += g
                cross[p] += sign * g
                above += u
                curve += g
        else:
            for p in range(n_pairs):
                x = odds[p] * shrink
                u = adjacent[p] * x / (1.0 + x)
                pull[p] -= u
                above += u
        if sign != 0.0:
            space.gradient[t] += sign * above
            space.information[t, t] += curve


@inner
def _gaps(model: Model, theta: Floats, space: _Space, hessian: bool) -> None:
    """Add the term of the thresholds alone to gradient and information."""
    m, last = model.n_entities, len(model.sign) - 1
    for k in range(1, last + 1):
        sa, sb = model.sign[k], model.sign[k - 1]
        a, b = m + model.slot[k], m + model.slot[k - 1]
        tau_a = sa * theta[a] if sa != 0.0 else 0.0
        tau_b = sb * theta[b] if sb != 0.0 else 0.0
        gap = np.expm1(tau_a - tau_b)
        if sa != 0.0:
            space.gradient[a] += sa * model.totals[k] / gap
        if sb != 0.0:
            space.gradient[b] -= sb * model.totals[k] * (1.0 + 1.0 / gap)
        if hessian:
            bend = model.totals[k] * (gap + 1.0) / (gap * gap)
            if sa != 0.0:
                space.information[a, a] += bend
            if sb != 0.0:
                space.information[b, b] += bend
            if sa * sb != 0.0:
                if a == b:
                    space.information[a, a] -= 2.0 * sa * sb * bend
                else:
                    space.information[max(a, b), min(a, b)] -= sa * sb * bend
    if model.sign[last] != 0.0:
        space.gradient[m + model.slot[last]] -= model.sign[last] * model.totals[last + 1]


@inner
def _derive(model: Model, theta: Floats, ridge: float, space: _Space, hessian: bool) -> None:
    """Fill the gradient, and the lower triangle of the information, lifted along the constant shift, if asked."""
    m = model.n_entities
    gradient, information = space.gradient, space.information
    gradient[:] = 0.0
    if hessian:
        information[:] = 0.0
    _pairs(model, theta, space, hessian)
    _gaps(model, theta, space, hessian)
    for p in range(len(model.lift)):
        gradient[model.first[p]] += space.pull[p]
        gradient[model.second[p]] -= space.pull[p]
    for i in range(m):
        gradient[i] -= ridge * theta[i]
    if not hessian:
        return
    trace = 0.0
    for p in range(len(model.lift)):
        a, b, bend = model.first[p], model.second[p], space.bend[p]
        if a != b:
            information[a, a] += bend
            information[b, b] += bend
            information[b, a] -= bend  # first < second: the lower triangle
            trace += 2.0 * bend
            for j in range(model.n_thresholds):
                information[m + j, a] -= space.cross[j, p]
                information[m + j, b] += space.cross[j, p]
    for i in range(m):
        information[i, i] += ridge
        for j in range(i + 1):
            information[i, j] += trace / (m * m)


@inner
def _factor(matrix: Floats) -> bool:
    """Replace a lower triangle by its Cholesky factor; False where it is not definite."""
    for i in range(len(matrix)):
        row = matrix[i]
        diagonal = row[i]
        for j in range(i + 1):
            other = matrix[j]
            v = row[j]
            for k in range(j):
                v -= row[k] * other[k]
            if j < i:
                row[j] = v / other[j]
            elif v <= _PIVOT * diagonal or not v > 0.0:
                return False
            else:
                row[i] = np.sqrt(v)
    return True


@inner
def _back_solve(factor: Floats, right: Floats, out: Floats) -> None:
    """Solve L L' out = right."""
    n = len(right)
    for i in range(n):
        row = factor[i]
        v = right[i]
        for k in range(i):
            v -= row[k] * out[k]
        out[i] = v / row[i]
    for i in range(n - 1, -1, -1):
        row = factor[i]
        out[i] /= row[i]
        for k in range(i):
            out[k] -= row[k] * out[i]


@inner
def _sane(model: Model, theta: Floats) -> bool:
    """Whether strengths are not running away and thresholds are positive and increase."""
    for i in range(model.n_entities):
        if not abs(theta[i]) < _RUNAWAY:
            return False
    before = 0.0
    for j in range(model.n_thresholds):
        t = theta[model.n_entities + j]
        if not t > before:
            return False
        before = t
    return True


@inner
def _newton(model: Model, theta: Floats, ridge: float, space: _Space) -> bool:
    """Take Newton steps; False where they do not settle (the caller then has slower, safer ways)."""
    keep, before = False, 1.0
    for _ in range(_FAST_STEPS):
        _derive(model, theta, ridge, space, not keep)
        if not keep and not _factor(space.information):
            return False
        _back_solve(space.information, space.gradient, space.step)
        largest = np.abs(space.step).max()
        theta += space.step
        if not _sane(model, theta):
            return False
        shrink = largest / before
        if largest * min(shrink, 1.0) < _TOLERANCE:  # so small would the next step be
            return True
        keep = largest < _KEEP_HESSIAN and (not keep or shrink < 0.3)
        before = largest
    return False


@inner
def _seen(model: Model) -> bool:
    """Whether every entity is compared with another one, and not every rating is a tie."""
    if not len(model.sign):
        return False
    seen, weight = np.zeros(model.n_entities), np.zeros(len(model.lift))
    for k in range(len(model.sign)):
        weight += model.adjacent[k]
    for p in range(len(model.lift)):
        if model.first[p] != model.second[p]:
            seen[model.first[p]] += weight[p]
            seen[model.second[p]] += weight[p]
    return bool(np.all(seen > 0.0))


@inner
def _refit(model: Model, strengths: Floats, edges: Floats, ridge: float, out: Floats) -> int:
    """Fit one model, starting at the full fit, and write the strengths; returns what became of it."""
    m, n, n_pairs = model.n_entities, model.n_entities + model.n_thresholds, len(model.lift)
    out[:] = np.nan
    if not len(model.sign) or (ridge == 0.0 and not _seen(model)):
        return UNDEFINED
    space = _Space(
        np.empty(n_pairs), np.empty(n_pairs), np.empty(n_pairs), np.zeros((max(model.n_thresholds, 1), n_pairs)),
        np.empty(n), np.empty((n, n)), np.empty(n),
    )  # fmt: skip
    theta = np.empty(n)
    theta[:m], theta[m:] = strengths, edges
    if not _newton(model, theta, ridge, space):
        return FAILED
    out[:] = theta[:m]
    return FINE


@inner
def _edges_of(table: Floats, edges: Floats, n_thresholds: int) -> Floats:
    """Pick the starting thresholds of the levels that this table uses (all of them occur in the full data)."""
    scale = len(edges) - 1
    used, n_used = np.empty(scale + 1), 0
    for level in range(1, scale + 1):
        if table[scale + level].sum() + table[scale - level].sum() > 0.0:
            used[n_used] = edges[level]
            n_used += 1
    return used[n_used - n_thresholds : n_used].copy()


@kernel
def refit_all(
    tables: Floats,
    first: Codes,
    second: Codes,
    wins: bool,
    starts: Floats,
    edges: Floats,
    ridge: float,
    strengths: Floats,
    status: NDArray[np.uint8],
) -> None:
    """Fit every rubric of every replicate.

    Args:
        tables: (rubrics x scores, pairs, replicates) counts.
        first: entity code, per pair.
        second: higher entity code, per pair, or the same.
        wins: fit partial-margin Bradley-Terry instead of the ordinal model.
        starts: (rubrics, entities), strengths of the full fits.
        edges: (rubrics, scale + 1), the full fits' threshold just below each level.
        ridge: that of the full fits.
        strengths: (replicates, rubrics, entities), written; NaN where the status is not FINE.
        status: (replicates, rubrics), written.
    """
    n_rubrics, m = starts.shape
    n_pairs, n_lanes = tables.shape[1], tables.shape[2]
    width = tables.shape[0] // n_rubrics
    turned = np.empty((n_lanes, width, n_pairs))
    for r in range(n_rubrics):
        for c in range(width):
            for p in range(n_pairs):
                for b in range(n_lanes):
                    turned[b, c, p] = tables[r * width + c, p, b]
        for b in range(n_lanes):
            table = turned[b]
            model = _wins_model(table, first, second, m) if wins else _ordinal_model(table, first, second, m)
            start = _edges_of(table, edges[r], model.n_thresholds)
            status[b, r] = _refit(model, starts[r], start, ridge, strengths[b, r])
