"""Compiled Newton steps of one model on many slightly different tables of counts.

With x = exp(delta - tau_k) a cumulative logit is F_k = 1 / (1 + x), and a category's probability factors into
F_k F_{k-1} (exp(-tau_{k-1}) - exp(-tau_k)) exp(delta). So with A_k = N_k + N_{k+1} the log-likelihood is

    l = sum_p [ sum_k A_pk log F_pk + delta_p (n_p - N_p1) ] + sum_k N_k log(exp(-tau_{k-1}) - exp(-tau_k)),

a sum of K-1 logistic regressions and a term of the thresholds alone: no difference of nearly equal numbers, and one
exponential per entity instead of one per pair and category. Partial-margin Bradley-Terry is the case of one threshold
at 0.

A step is :func:`add_pairs`, :func:`add_entities`, :func:`add_thresholds` and :func:`take_step`, in this order, each for
all replicates that are not done. They share these arrays, with n parameters (m strengths, then the thresholds t):

- ``state`` (replicates,): one of the codes below.
- ``theta`` (replicates, n): where to derive, and where the step leads.
- ``gradient`` (replicates, n).
- ``information`` (replicates, n, n): minus the Hessian, of which the lower triangle counts. Only fresh replicates get a
  new one; after a step it holds its Cholesky factor.
- ``place`` (thresholds,): tau_k is t_j where it is j = 1, 2, …, -t_j where it is -j, and 0 where it is 0.
- ``parts`` (replicates, 2 + thresholds t, pairs): the derivative of a pair's term in its delta, minus the second one,
  and minus the mixed ones in delta and t_j; passed on from the first call to the second.

The kernels are plain loops and none calls another: one that is called is optimised again within each of its callers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.compiled import kernel

__all__ = [
    "ENDLESS",
    "FAILED",
    "FINE",
    "FRESH",
    "KEPT",
    "LONG",
    "NEARER",
    "PIVOT",
    "RUNAWAY",
    "TOLERANCE",
    "add_entities",
    "add_pairs",
    "add_thresholds",
    "take_step",
]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
States = NDArray[np.uint8]

FRESH, KEPT, FINE, FAILED, ENDLESS = 0, 1, 2, 3, 4
"""The next step needs a new Hessian; the last one still holds; at the maximum; not to be fitted, or not in time; the
likelihood rises without end, or the data say nothing of some direction."""
TOLERANCE = 1e-8
_KEEP_HESSIAN = 0.02
"""A step below this leaves the Hessian nearly as it was."""
RUNAWAY = 15.0
LONG = 0.5
"""Newton's step may overshoot from here on."""
NEARER = 0.9
"""How much of the room between two thresholds one step may take."""
PIVOT = 1e-11


@kernel
def add_pairs(
    adjacent: Floats,
    lift: Floats,
    first: Codes,
    second: Codes,
    place: Codes,
    state: States,
    theta: Floats,
    gradient: Floats,
    information: Floats,
    parts: Floats,
) -> None:
    """Set ``parts``, and the thresholds' share of gradient and information, to those of the logistic regressions.

    ``adjacent`` (replicates, thresholds, pairs) is A; ``lift`` (replicates, pairs) counts ratings above the lowest
    category; ``first`` and ``second`` are entity codes per pair.
    """
    n_lanes, n_tau, n_pairs = adjacent.shape
    n, n_parts = theta.shape[1], parts.shape[1]
    m = n - n_parts + 2
    up, odds = np.empty(m), np.empty(n_pairs)
    for b in range(n_lanes):
        if state[b] > KEPT:
            continue
        for i in range(n):
            gradient[b, i] = 0.0
            if state[b] == FRESH:
                for j in range(i + 1):
                    information[b, i, j] = 0.0
        for i in range(m):
            up[i] = math.exp(theta[b, i])
        for p in range(n_pairs):
            odds[p] = up[first[p]] / up[second[p]]
            parts[b, 0, p] = lift[b, p]
            for j in range(1, n_parts):
                parts[b, j, p] = 0.0
        for k in range(n_tau):
            t = abs(place[k])
            sign = 1.0 if place[k] > 0 else -1.0 if place[k] < 0 else 0.0
            shrink = math.exp(-sign * theta[b, m + t - 1])  # with sign 0 this is 1
            above, curve = 0.0, 0.0
            for p in range(n_pairs):
                x = odds[p] * shrink
                f = 1.0 / (1.0 + x)
                u = adjacent[b, k, p] * x * f
                g = u * f
                parts[b, 0, p] -= u
                parts[b, 1, p] += g
                parts[b, 1 + t, p] += sign * g  # with sign 0 this adds nothing to the row before
                above += u
                curve += g
            if t:
                gradient[b, m + t - 1] += sign * above
                if state[b] == FRESH:
                    information[b, m + t - 1, m + t - 1] += curve


@kernel
def add_entities(
    first: Codes,
    second: Codes,
    ridge: float,
    state: States,
    theta: Floats,
    gradient: Floats,
    information: Floats,
    parts: Floats,
) -> None:
    """Add ``parts`` up per entity, and the penalty; lift the information along the constant shift of strengths."""
    n, n_parts = theta.shape[1], parts.shape[1]
    m = n - n_parts + 2
    for b in range(len(theta)):
        if state[b] > KEPT:
            continue
        for p in range(len(first)):
            gradient[b, first[p]] += parts[b, 0, p]
            gradient[b, second[p]] -= parts[b, 0, p]
        for i in range(m):
            gradient[b, i] -= ridge * theta[b, i]
        if state[b] != FRESH:
            continue
        for p in range(len(first)):
            i, j, bend = first[p], second[p], parts[b, 1, p]
            if i != j:
                information[b, i, i] += bend
                information[b, j, j] += bend
                information[b, j, i] -= bend  # first < second: the lower triangle
        for t in range(2, n_parts):
            for p in range(len(first)):
                information[b, m + t - 2, first[p]] -= parts[b, t, p]
                information[b, m + t - 2, second[p]] += parts[b, t, p]
        trace = 0.0
        for i in range(m):
            trace += information[b, i, i]
            information[b, i, i] += ridge
        for i in range(m):
            for j in range(i + 1):
                information[b, i, j] += trace / (m * m)


@kernel
def add_thresholds(
    totals: Floats, place: Codes, m: int, state: States, theta: Floats, gradient: Floats, information: Floats
) -> None:
    """Add the term of the thresholds alone; ``totals`` (replicates, categories) are the N_k summed over pairs."""
    last = len(place) - 1
    for b in range(len(theta)):
        if state[b] > KEPT:
            continue
        for k in range(1, last + 1):
            i, j = m + abs(place[k]) - 1, m + abs(place[k - 1]) - 1
            upper = 1.0 if place[k] > 0 else -1.0 if place[k] < 0 else 0.0
            lower = 1.0 if place[k - 1] > 0 else -1.0 if place[k - 1] < 0 else 0.0
            gap = math.expm1(upper * theta[b, i] - lower * theta[b, j])
            gradient[b, i] += upper * totals[b, k] / gap
            gradient[b, j] -= lower * totals[b, k] * (1.0 + 1.0 / gap)
            if state[b] == FRESH:
                bend = totals[b, k] * (gap + 1.0) / (gap * gap)
                information[b, i, i] += upper * upper * bend
                information[b, j, j] += lower * lower * bend
                double = 2.0 if i == j else 1.0
                information[b, max(i, j), min(i, j)] -= double * upper * lower * bend
        if place[last] > 0:
            gradient[b, m + place[last] - 1] -= totals[b, last + 1]


@kernel
def take_step(
    m: int, state: States, theta: Floats, gradient: Floats, information: Floats, step: Floats, largest: Floats
) -> None:
    """Solve for the step by Cholesky's method, take it or a part of it, and judge it; ``step`` is scratch.

    Along a step that changes no term's argument by more than S, a second derivative of logistic terms changes at most
    by exp(S), so that ln(1 + S) / S of Newton's step is never too much (Bach 2010, Electronic Journal of Statistics 4,
    section 2); thus strengths that run away show a likelihood without a maximum.

    ``largest`` (replicates,) is the largest change of the last step, 1 before the first.
    """
    n = theta.shape[1]
    for b in range(len(theta)):
        if state[b] > KEPT:
            continue
        known = True
        for i in range(n if state[b] == FRESH else 0):
            floor = PIVOT * information[b, i, i]
            for j in range(i + 1):
                v = information[b, i, j]
                for k in range(j):
                    v -= information[b, i, k] * information[b, j, k]
                information[b, i, j] = v / information[b, j, j] if j < i else math.sqrt(max(v, floor))
            known = known and v > floor
        for i in range(n):
            v = gradient[b, i]
            for k in range(i):
                v -= information[b, i, k] * step[k]
            step[i] = v / information[b, i, i]
        before, largest[b], up, down = largest[b], 0.0, 0.0, 0.0
        for i in range(n - 1, -1, -1):
            step[i] /= information[b, i, i]
            for k in range(i):
                step[k] -= information[b, i, k] * step[i]
            largest[b] = max(largest[b], abs(step[i]))
            up, down = (max(up, step[i]), min(down, step[i])) if i < m else (up, down)
        span = up - down + (largest[b] if n > m else 0.0)
        part = math.log1p(span) / span if span > LONG else 1.0
        for i in range(m, n):
            room = theta[b, i] - (theta[b, i - 1] if i > m else 0.0)
            change = step[i] - (step[i - 1] if i > m else 0.0)
            part = min(part, -NEARER * room / change) if change < -NEARER * room else part
        away = False
        for i in range(n):
            theta[b, i] += part * step[i]
            away = away or (i < m and not abs(theta[b, i]) < RUNAWAY)
        largest[b] *= part
        shrink = largest[b] / before
        if away or not known:
            state[b] = ENDLESS
        elif largest[b] * min(shrink, 1.0) < TOLERANCE:  # so small would the next step be
            state[b] = FINE
        elif largest[b] < _KEEP_HESSIAN and (state[b] == FRESH or shrink < 0.3):
            state[b] = KEPT
        else:
            state[b] = FRESH
