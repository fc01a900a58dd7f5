"""Intervals of a number: percentiles of replicates, a standard error times a t quantile, or Wilson's score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Interval", "no_interval", "percentile_interval", "t_interval", "wilson_interval", "with_width"]

_NO_WIDTH = 1e-9
"""Log odds or score points: an interval so narrow is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval, or the reason why there is none (then every number is None)."""

    low: float | None
    high: float | None
    se: float | None
    low_error: float | None = None
    """Monte-Carlo standard error of ``low``; None where nothing was drawn."""
    high_error: float | None = None
    """Monte-Carlo standard error of ``high``."""
    replicates: int = 0
    """Replicates used; 0 where nothing was drawn."""
    reason: str = ""

    def excludes(self, value: float) -> bool:
        """Whether the interval is defined and ``value`` lies outside of it."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


def no_interval(reason: str) -> Interval:
    """Return the interval of what has none."""
    return Interval(low=None, high=None, se=None, reason=reason)


def with_width(found: Interval, unit_size: float = 1.0) -> Interval:
    """Return an interval as it is; one without width claims a certainty that no data give, and becomes none."""
    if found.low is None or found.high is None or found.high - found.low > _NO_WIDTH * unit_size:
        return found
    return no_interval("no rating is off the estimate, so nothing tells how far off it is")


def percentile_interval(values: ArrayLike, *, level: float = 0.95) -> Interval:
    """Return the percentile interval (type 7) of replicates.

    NaN marks replicates in which the number is undefined; they are left out, and if they are the half or more there is
    no interval. The Monte-Carlo error of an end point is half the distance between the order statistics one binomial
    standard deviation to its left and right.
    """
    drawn = np.asarray(values, dtype=np.float64)
    kept = np.sort(drawn[np.isfinite(drawn)])
    n = len(kept)
    if n < 2 or 2 * n <= len(drawn):
        return no_interval(f"the number is undefined in {len(drawn) - n} of {len(drawn)} replicates")
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    low, high = np.quantile(kept, tails)
    spread = np.sqrt(tails * (1 - tails) / n)
    around = np.quantile(kept, np.clip([tails - spread, tails + spread], 0, 1))
    errors = (around[1] - around[0]) / 2
    return Interval(
        low=float(low),
        high=float(high),
        se=float(kept.std(ddof=1)),
        low_error=float(errors[0]),
        high_error=float(errors[1]),
        replicates=n,
    )


def t_interval(estimate: float, variance: float, degrees: float, *, level: float = 0.95) -> Interval:
    """Return estimate +- t * sqrt(variance)."""
    from scipy.special import stdtrit  # scipy.stats, which has it too, costs a second; percentiles need neither

    se = float(np.sqrt(variance))
    half = float(stdtrit(degrees, (1 + level) / 2)) * se
    return Interval(low=estimate - half, high=estimate + half, se=se)


def wilson_interval(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion; without trials there is none.

    Source: E. B. Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22.
    """
    if n <= 0:
        return no_interval("no trials")
    z, p = NormalDist().inv_cdf((1 + level) / 2), successes / n
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Interval(low=max(0.0, centre - half), high=min(1.0, centre + half), se=math.sqrt(p * (1 - p) / n))
