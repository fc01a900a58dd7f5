"""Agreement coefficients on (units, categories) tables of counts.

A unit is what several raters rated; only the counts matter, so the cost grows with units, not with pairs of raters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Coefficient", "Metric", "Weights", "gwet_ac", "icc1", "krippendorff_alpha", "unit_counts"]

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


class Metric(StrEnum):
    """Krippendorff's difference functions."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


class Weights(StrEnum):
    """Gwet's agreement weights over the declared categories; ``identity`` gives AC1."""

    identity = "identity"
    linear = "linear"
    quadratic = "quadratic"
    ordinal = "ordinal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One agreement coefficient, or the reason why it is undefined."""

    value: float | None
    observed: float | None = None
    """Observed agreement (AC), observed disagreement (alpha) or mean square between units (ICC)."""
    expected: float | None = None
    """Expected agreement (AC), expected disagreement (alpha) or mean square within units (ICC)."""
    se: float | None = None
    """Of AC1/AC2 over units (Gwet 2014); None elsewhere."""
    reason: str = ""


def unit_counts(unit: ArrayLike, category: ArrayLike, n_categories: int) -> Floats:
    """Return (units, categories) counts from codes, one rating a row; units of no rating are left out."""
    _, units = np.unique(np.asarray(unit), return_inverse=True)
    n_units = int(units.max(initial=-1)) + 1
    cell = units * n_categories + np.asarray(category, dtype=np.int64)
    return np.bincount(cell, minlength=n_units * n_categories).reshape(n_units, n_categories).astype(np.float64)


def krippendorff_alpha(counts: ArrayLike, values: Sequence[float], *, metric: Metric = Metric.interval) -> Coefficient:
    """Return alpha = 1 - Do/De in its coincidence form (Krippendorff 2004).

    Do = sum_u (c_u' D c_u) / (r_u - 1) / n and De = n' D n / (n (n - 1)) over units of two ratings or more, D the
    squared differences of the metric. Undefined where De is 0: ratings that never differ tell nothing of agreement.

    Args:
        counts: (units, categories).
        values: of the categories (their order matters to ``ordinal``, their size to ``interval`` and ``ratio``).
        metric: the difference function.
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) >= 2]
    if not len(table):
        return _undefined("no unit has two ratings")
    raters = table.sum(axis=1)
    totals, n = table.sum(axis=0), raters.sum()
    squared = _differences(metric, np.asarray(values, dtype=np.float64), totals)
    observed = float((((table @ squared) * table).sum(axis=1) / (raters - 1)).sum() / n)
    expected = float(totals @ squared @ totals / (n * (n - 1)))
    if expected <= _ROUNDING:
        return Coefficient(value=None, observed=observed, expected=0.0, reason="all ratings are equal")
    return Coefficient(value=1 - observed / expected, observed=observed, expected=expected)


def _differences(metric: Metric, values: Floats, totals: Floats) -> Floats:
    """Return the squared difference of every two categories."""
    gap = values[:, None] - values[None, :]
    if metric is Metric.nominal:
        return (gap != 0).astype(np.float64)
    if metric is Metric.interval:
        return np.asarray(gap**2)
    if metric is Metric.ratio:
        total = values[:, None] + values[None, :]
        return np.divide(gap, total, out=np.zeros_like(gap), where=total != 0) ** 2
    below = np.cumsum(totals) - totals / 2  # ratings below a category, and half of its own
    return np.asarray((below[:, None] - below[None, :]) ** 2)


def icc1(counts: ArrayLike, values: Sequence[float]) -> Coefficient:
    """Return the one-way random ICC(1) (Shrout & Fleiss 1979) for unequal numbers of ratings per unit.

    (MSB - MSW) / (MSB + (k0 - 1) MSW), k0 = (N - sum k^2 / N) / (n - 1) over all n units. With k ratings on each of n
    units Krippendorff's interval alpha is (MSB - MSW) / (MSB + n / (n - 1) (k - 1) MSW).
    """
    table, scores = np.asarray(counts, dtype=np.float64), np.asarray(values, dtype=np.float64)
    table = table[table.sum(axis=1) > 0]
    raters = table.sum(axis=1)
    n_units, n = len(table), raters.sum()
    if n_units < 2 or n <= n_units:
        return _undefined("two units, and a unit with two ratings, are needed")
    means = table @ scores / raters
    grand = table.sum(axis=0) @ scores / n
    between = float((raters * (means - grand) ** 2).sum() / (n_units - 1))
    within = float((table * (scores[None, :] - means[:, None]) ** 2).sum() / (n - n_units))
    size = (n - (raters**2).sum() / n) / (n_units - 1)
    below = between + (size - 1) * within
    if below <= _ROUNDING:
        return Coefficient(value=None, observed=between, expected=within, reason="all ratings are equal")
    return Coefficient(value=float((between - within) / below), observed=between, expected=within)


def gwet_ac(counts: ArrayLike, *, weights: Weights = Weights.quadratic) -> Coefficient:
    """Return Gwet's AC1 (identity weights) or AC2 over all declared categories (the columns).

    pa is the mean weighted agreement over units of two ratings or more; pe = T_w / (q (q - 1)) sum pi (1 - pi) with pi
    the mean share of a category over all units and T_w the sum of the weights (Gwet 2008, 2014). The standard error
    takes units as a sample.
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) > 0]
    q, raters = table.shape[1], table.sum(axis=1)
    paired = raters >= 2
    if not paired.any():
        return _undefined("no unit has two ratings")
    if q < 2:
        return _undefined("one category is declared")
    w = _agreement_weights(weights, q)
    pairs = np.maximum(raters * (raters - 1), 1)
    agreed = np.where(paired, (table * (table @ w - 1)).sum(axis=1) / pairs, 0.0)
    shares = table / raters[:, None]
    share = shares.mean(axis=0)
    scale = w.sum() / (q * (q - 1))
    observed, expected = float(agreed[paired].mean()), float(scale * (share * (1 - share)).sum())
    value = (observed - expected) / (1 - expected)
    n, n_paired = len(table), int(paired.sum())
    unit = (n / n_paired) * np.where(paired, agreed - expected, 0.0) / (1 - expected)
    unit_expected = scale * (shares * (1 - share)).sum(axis=1)
    moved = unit - 2 * (1 - value) * (unit_expected - expected) / (1 - expected)
    se = float(np.sqrt(((moved - value) ** 2).sum() / (n * (n - 1)))) if n > 1 else None
    return Coefficient(value=value, observed=observed, expected=expected, se=se)


def _agreement_weights(weights: Weights, q: int) -> Floats:
    """Return the (q, q) weights by the categories' positions."""
    steps = np.abs(np.arange(q)[:, None] - np.arange(q)[None, :]).astype(np.float64)
    if weights is Weights.identity:
        return (steps == 0).astype(np.float64)
    if weights is Weights.linear:
        return 1 - steps / (q - 1)
    if weights is Weights.quadratic:
        return 1 - (steps / (q - 1)) ** 2
    return 1 - steps * (steps + 1) / (q * (q - 1))


def _undefined(reason: str) -> Coefficient:
    return Coefficient(value=None, reason=reason)
