"""The median of paired differences, with the interval and test of signs: nothing is assumed of the distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["MedianDifference", "median_difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianDifference:
    """The median, over documents, of the second system's value less the first's."""

    first: float | None = None
    """The median of the first system's values."""
    second: float | None = None
    difference: float | None = None
    """The median of the differences, which is not the difference of the medians."""
    low: float | None = None
    """Order statistics (the sign test turned round): at least the level asked for, whatever the distribution."""
    high: float | None = None
    p: float | None = None
    """Of the sign test, two-sided; differences of 0 are left out."""
    items: int = 0
    documents: int = 0
    reason: str = ""


def median_difference(
    first: ArrayLike, second: ArrayLike, document: ArrayLike, *, level: float = 0.95
) -> MedianDifference:
    """Return the median paired difference, where both systems have a value; a document's items are averaged first.

    Args:
        first: (items,), NaN where there is no value.
        second: the same.
        document: (items,), whole numbers.
        level: of the interval.
    """
    from scipy.special import bdtr

    a, b, codes = (np.asarray(x, dtype=np.float64) for x in (first, second, document))
    there = np.isfinite(a) & np.isfinite(b)
    if not there.any():
        return MedianDifference(reason="no item has a value in both runs")
    _, rows = np.unique(codes[there], return_inverse=True)
    each = np.sort(np.bincount(rows, weights=(b - a)[there]) / np.bincount(rows))
    n = len(each)
    up, down = int((each > 0).sum()), int((each < 0).sum())
    found = MedianDifference(
        first=float(np.median(a[there])),
        second=float(np.median(b[there])),
        difference=float(np.median(each)),
        p=min(1.0, 2 * float(bdtr(min(up, down), up + down, 0.5))) if up + down else None,
        items=int(there.sum()),
        documents=n,
    )
    ranks = [k for k in range(n // 2) if 2 * float(bdtr(k, n, 0.5)) <= 1 - level]
    if not ranks:
        return replace(found, reason=f"{n} documents are too few for an interval of a median")
    low, high = float(each[ranks[-1]]), float(each[n - 1 - ranks[-1]])
    if high - low <= 0:
        return replace(found, reason="the documents in the middle differ alike: nothing tells how far others would")
    return replace(found, low=low, high=high)
