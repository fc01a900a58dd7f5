"""Weighted rank correlations of many short lists at once: Spearman's rho and Kendall's tau-b."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["RankCorrelations", "rank_correlations"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankCorrelations:
    """Both coefficients of every list; NaN where a side is constant, not finite, or of one item."""

    rho: NDArray[np.float64]
    tau: NDArray[np.float64]


def rank_correlations(x: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> RankCorrelations:
    """Return Spearman's rho (ties averaged) and Kendall's tau-b of each row.

    An item of weight w counts as w items with equal values, so that a resampled list need not be written out.

    Args:
        x: (lists, items).
        y: (lists, items).
        weight: (lists, items), 0 or more; all 1 if left out.
    """
    first, second = np.atleast_2d(np.asarray(x, np.float64)), np.atleast_2d(np.asarray(y, np.float64))
    w = np.ones_like(first) if weight is None else np.broadcast_to(np.asarray(weight, np.float64), first.shape)
    finite = np.asarray(np.isfinite(np.where(w > 0, first + second, 0.0)).all(axis=1))
    signs = [np.sign(v[:, :, None] - v[:, None, :]) for v in (np.nan_to_num(first), np.nan_to_num(second))]
    # the midrank of an item is (n + 1 + number below - number above) / 2; constants do not matter to a correlation
    ranks = [np.einsum("lij,lj->li", s, w) for s in signs]
    total = w.sum(axis=1, keepdims=True)
    a, b = (r - (w * r).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0) for r in ranks)
    pairs = w[:, :, None] * w[:, None, :]
    rho = _ratio((w * a * b).sum(axis=1), (w * a * a).sum(axis=1) * (w * b * b).sum(axis=1), finite)
    both, one, other = ((pairs * s).sum(axis=(1, 2)) for s in (signs[0] * signs[1], np.abs(signs[0]), np.abs(signs[1])))
    return RankCorrelations(rho=rho, tau=_ratio(both, one * other, finite))


def _ratio(
    product: NDArray[np.float64], squares: NDArray[np.float64], finite: NDArray[np.bool_]
) -> NDArray[np.float64]:
    usable = finite & (squares > 1e-12)
    return np.divide(product, np.sqrt(np.where(usable, squares, 1.0)), out=np.full(len(product), np.nan), where=usable)
