"""Rank correlations of many short lists at once, weighted or not: Spearman's rho and Kendall's tau-b.

scipy has both for one pair of lists and without weights; importing ``scipy.stats`` costs half a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["RankCorrelations", "rank_correlations", "row_spearman", "spearman"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankCorrelations:
    """Both coefficients of every list; NaN where a side is constant, not finite, or of one item."""

    rho: Floats
    tau: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lists:
    """Lists as signs of differences, which both coefficients are made of."""

    signs: tuple[Floats, Floats]
    """(lists, items, items) of either side: whether an item is above each other one."""
    weight: Floats
    finite: NDArray[np.bool_]


def _lists(x: ArrayLike, y: ArrayLike, weight: ArrayLike | None) -> _Lists:
    first, second = np.atleast_2d(np.asarray(x, np.float64)), np.atleast_2d(np.asarray(y, np.float64))
    w = np.ones_like(first) if weight is None else np.broadcast_to(np.asarray(weight, np.float64), first.shape)
    finite = np.asarray(np.isfinite(np.where(w > 0, first + second, 0.0)).all(axis=1))
    a, b = (np.sign(v[:, :, None] - v[:, None, :]) for v in (np.nan_to_num(first), np.nan_to_num(second)))
    return _Lists(signs=(a, b), weight=w, finite=finite)


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Spearman's rank correlation (ties averaged), None where a side is constant or there are fewer than two."""
    rho = float(row_spearman(first, second)[0])
    return rho if np.isfinite(rho) else None


def row_spearman(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return Spearman's rho of each row of two tables; NaN where a side is constant or not finite."""
    return _rho(_lists(first, second, None))


def rank_correlations(x: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> RankCorrelations:
    """Return Spearman's rho (ties averaged) and Kendall's tau-b of each row.

    An item of weight w counts as w items with equal values, so that a resampled list need not be written out.

    Args:
        x: (lists, items).
        y: (lists, items).
        weight: (lists, items), 0 or more; all 1 if left out.
    """
    lists = _lists(x, y, weight)
    a, b = lists.signs
    pairs = lists.weight[:, :, None] * lists.weight[:, None, :]
    both, one, other = ((pairs * s).sum(axis=(1, 2)) for s in (a * b, np.abs(a), np.abs(b)))
    return RankCorrelations(rho=_rho(lists), tau=_ratio(both, one * other, lists.finite))


def _rho(lists: _Lists) -> Floats:
    w = lists.weight
    # the midrank of an item is (n + 1 + number below - number above) / 2; constants do not matter to a correlation
    ranks = [(s @ w[:, :, None])[:, :, 0] for s in lists.signs]
    total = w.sum(axis=1, keepdims=True)
    a, b = (r - (w * r).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0) for r in ranks)
    return _ratio((w * a * b).sum(axis=1), (w * a * a).sum(axis=1) * (w * b * b).sum(axis=1), lists.finite)


def _ratio(product: Floats, squares: Floats, finite: NDArray[np.bool_]) -> Floats:
    usable = finite & (squares > 1e-12)
    return np.divide(product, np.sqrt(np.where(usable, squares, 1.0)), out=np.full(len(product), np.nan), where=usable)
