"""Intervals of shares and of means of quantities between 0 and 1, of their products and of means of these.

Made for scores: items come in documents (several questions on one recording), a few items, all right, all wrong or
all alike are common, and a percentile bootstrap then has no width. Three steps, none of which draws anything:

1. *Parts*. A share has Wilson's interval (1927), a mean the same form with the variance that was measured in the
   place of the binomial one; both over an effective number of items that minds the documents (Korn and Graubard
   1998), with quantiles of t for the number of documents. Where nothing varies, nothing is known of the spread and
   the mean is treated as a share of as many items as there are documents.
2. *Products* of parts by the method of variance estimates recovery (Zou and Donner 2008, in the form that also holds
   at 0): the extremes of the product over the ellipsoid whose half axes reach to the ends of the parts' intervals,
   turned by the measured correlation of the parts.
3. *Means* of independent products: their distances to the ends, added as squares (the same method).

Measured coverage: ``python tests/benchmarks/score_coverage.py``; see the README of ``scoring``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoundedLimits", "BoundedPart", "mean_limits", "mean_part", "product_limits", "share_part", "wilson"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]

_Z = 1.959963984540054
_SAME = 1e-12
"""A variance below it is rounding."""
_DOUBTED = 8
"""Documents that a correlation of zero counts as: the correlation of a handful is mostly chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedLimits:
    """The ends of a 95 % interval, and the standard error."""

    low: float
    high: float
    se: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedPart:
    """A share or a mean between 0 and 1, with its interval."""

    value: float
    limits: BoundedLimits
    pulls: Floats
    """What each document adds to the error of ``value``, (documents,); for correlations."""


def wilson(value: float, n: float, quantile: float = _Z) -> tuple[float, float]:
    """Return Wilson's interval of a share, or of a mean with the variance ``value (1 - value) / n``.

    Args:
        value: between 0 and 1.
        n: items, or effective items; above 0.
        quantile: of the standard normal or of t.
    """
    square = quantile**2 / n
    centre = (value + square / 2) / (1 + square)
    half = quantile / (1 + square) * math.sqrt(value * (1 - value) / n + square / (4 * n))
    return min(max(0.0, centre - half), value), max(min(1.0, centre + half), value)


def share_part(flags: Flags, documents: Codes, within: Flags) -> BoundedPart:
    """Return the share of flags among the items ``within``, of which there is at least one.

    Args:
        flags: (items,).
        documents: (items,), the document of each, from 0.
        within: (items,), which items count.
    """
    x = flags.astype(np.float64)
    value, pulls, n, groups = _mean(x, documents, within)
    effective, quantile = float(groups), _Z
    if 0 < value < 1 and groups > 1:
        alone = value * (1 - value) / (n - 1)
        effective = n / max(1.0, _variance(pulls, groups) / alone)  # documents that repel each other add nothing
        quantile = _Z * _t(groups - 1) / _t(n - 1)
    return _part(value, pulls, effective, quantile)


def mean_part(x: Floats, documents: Codes, within: Flags) -> BoundedPart:
    """Return the mean of values between 0 and 1 of the items ``within``, of which there is at least one."""
    value, pulls, _, groups = _mean(x, documents, within)
    variance = _variance(pulls, groups) if groups > 1 else 0.0
    if variance < _SAME or not 0 < value < 1:
        return _part(value, pulls, float(groups), _Z)
    return _part(value, pulls, value * (1 - value) / variance, _t(groups - 1))


def _mean(x: Floats, documents: Codes, within: Flags) -> tuple[float, Floats, int, int]:
    """The mean, the pulls of the documents, the number of items and of documents."""
    n = int(within.sum())
    value = min(1.0, max(0.0, float(x[within].mean())))
    pulls = np.bincount(documents[within], (x[within] - value) / n, minlength=int(documents.max()) + 1)
    return value, np.asarray(pulls, dtype=np.float64), n, len(np.unique(documents[within]))


def _variance(pulls: Floats, groups: int) -> float:
    return float(groups / (groups - 1) * (pulls**2).sum())


def _t(degrees: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))


def _part(value: float, pulls: Floats, effective: float, quantile: float) -> BoundedPart:
    low, high = wilson(value, effective, quantile)
    middle = (low + high) / 2 if value in (0.0, 1.0) else value
    se = math.sqrt(middle * (1 - middle) / effective)
    return BoundedPart(value=value, limits=BoundedLimits(low=low, high=high, se=se), pulls=pulls)


def product_limits(parts: Sequence[BoundedPart], powers: Sequence[int]) -> BoundedLimits:
    """Return the interval of the product of parts, each raised to its power."""
    weights = np.array(powers, dtype=np.float64)
    value = np.array([part.value for part in parts])
    down = value - np.array([part.limits.low for part in parts])
    up = np.array([part.limits.high for part in parts]) - value
    related = _correlation(np.stack([part.pulls for part in parts]))
    low = 0.0 if (value == 0).any() else _extreme(value, down, up, weights, related, -1)
    high = _extreme(value, down, up, weights, related, 1)
    errors = np.array([part.limits.se for part in parts])
    product = float(np.prod(value**weights))
    # the derivative by each part, which stands where a part is 0 too
    slopes = [
        w * v ** (w - 1) * np.prod(np.delete(value**weights, k))
        for k, (w, v) in enumerate(zip(weights, value, strict=True))
    ]
    spread = np.array(slopes) * errors
    return BoundedLimits(
        low=min(low, product), high=max(high, product), se=float(np.sqrt(max(0.0, spread @ related @ spread)))
    )


def _correlation(pulls: Floats) -> Floats:
    """The correlation of the parts over documents, drawn towards none; of a part that never varies none."""
    sizes = np.sqrt((pulls**2).sum(axis=1))
    unit = pulls / np.where(sizes > _SAME, sizes, 1.0)[:, None] * (sizes > _SAME)[:, None]
    documents = pulls.shape[1]
    related = unit @ unit.T * documents / (documents + _DOUBTED)
    np.fill_diagonal(related, 1.0)
    return np.asarray(related, dtype=np.float64)


def _extreme(value: Floats, down: Floats, up: Floats, weights: Floats, related: Floats, sign: int) -> float:
    """The largest (smallest) product over the ellipsoid of points with unit distance."""

    def product(z: Floats) -> float:
        return float(np.prod(np.maximum(value + np.where(z > 0, up, down) * z, 0.0) ** weights))

    z = np.full(len(value), sign / math.sqrt(len(value)))  # a start, which may lie outside
    found = product(np.zeros(len(value)))
    for _ in range(40):
        axes = np.where((z > 0) | ((z == 0) & (sign > 0)), up, down)
        slope = weights * axes / np.maximum(value + axes * z, 1e-12)
        size = math.sqrt(max(0.0, float(slope @ related @ slope)))
        if size == 0:
            break
        before, z = z, sign * (related @ slope) / size
        found = max(found, product(z)) if sign > 0 else min(found, product(z))
        if np.abs(z - before).max() < 1e-9:
            break
    return found


def mean_limits(values: Sequence[float], limits: Sequence[BoundedLimits]) -> BoundedLimits:
    """Return the interval of the plain mean of independent values, which stays within their range."""
    n = len(values)
    down = math.sqrt(sum((v - x.low) ** 2 for v, x in zip(values, limits, strict=True))) / n
    up = math.sqrt(sum((x.high - v) ** 2 for v, x in zip(values, limits, strict=True))) / n
    mean = sum(values) / n
    return BoundedLimits(low=mean - down, high=mean + up, se=math.sqrt(sum(x.se**2 for x in limits)) / n)
