"""Quantiles of a sample with intervals between order statistics, which assume nothing of the distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["QuantileEstimate", "sample_quantile"]

_TAIL = 0.025


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileEstimate:
    """A quantile with its 95 % interval; what the sample is too small for is None, and ``reason`` says so."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int
    reason: str = ""


def sample_quantile(values: Sequence[float], share: float, documents: Sequence[str]) -> QuantileEstimate:
    """Return the quantile (type 7) of a sample, with the order statistics that hold the population's.

    The ranks are those of the binomial distribution; values of one document count as fewer, by the design effect of
    the share that lies below (Woodruff 1952). A quantile of which no value is expected beyond it is not given.

    Args:
        values: finite, in any order.
        share: between 0 and 1, such as 0.99.
        documents: the document of each value.
    """
    n = len(values)
    needed = math.ceil(1 / min(share, 1 - share) - 1e-9)
    if n < needed:
        return QuantileEstimate(value=None, n=n, reason=f"needs {needed} answers, has {n}" if n else "not recorded")
    x = np.sort(np.asarray(values, dtype=np.float64))
    value = float(np.quantile(x, share))
    effective = _effective(np.asarray(values) <= value, documents)
    ranks = _ranks(effective, share)
    if ranks is None:
        wanted = math.ceil(math.log(_TAIL) / math.log(max(share, 1 - share)))
        reason = f"an interval needs {wanted} answers that are independent, there are {effective}"
        return QuantileEstimate(value=value, n=n, reason=reason)
    low, high = (ranks[0] - 1) * n // effective, min(n, -(-ranks[1] * n // effective)) - 1
    return QuantileEstimate(value=value, low=min(value, float(x[low])), high=max(value, float(x[high])), n=n)


def _effective(below: NDArray[np.bool_], documents: Sequence[str]) -> int:
    """How many independent values the sample is worth."""
    from scipy.special import stdtrit

    codes = np.unique(np.asarray(documents), return_inverse=True)[1]
    n, groups = len(below), int(codes.max()) + 1
    share = below.mean()
    if groups < 2 or share in (0, 1):
        return groups
    pulls = np.bincount(codes, below - share)
    alone = share * (1 - share) * n / (n - 1)
    effect = max(1.0, groups / (groups - 1) * float((pulls**2).sum()) / n / alone)
    fewer = float(stdtrit(n - 1, 1 - _TAIL) / stdtrit(groups - 1, 1 - _TAIL)) ** 2
    return max(1, int(n / effect * fewer + 1e-9))


def _ranks(n: int, share: float) -> tuple[int, int] | None:
    """The ranks, from 1, of the order statistics that hold the quantile with 95 %; None where n is too small."""
    from scipy.special import bdtr

    below = bdtr(np.arange(n + 1), n, share)  # of k or fewer values below the quantile
    low, high = int(np.searchsorted(below, _TAIL, side="right")), int(np.searchsorted(below, 1 - _TAIL)) + 1
    return (low, high) if low >= 1 and high <= n else None
