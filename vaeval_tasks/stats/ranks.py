"""Rank correlation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["row_spearman", "spearman"]


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Spearman's rank correlation (ties averaged), None where a side is constant or there are fewer than two."""
    x, y = np.atleast_2d(np.asarray(first, dtype=np.float64)), np.atleast_2d(np.asarray(second, dtype=np.float64))
    rho = float(row_spearman(x, y)[0])
    return rho if np.isfinite(rho) else None


def row_spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank correlation of each row of two tables; NaN where a side is constant or not finite."""
    a, b = _centred_ranks(first), _centred_ranks(second)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.divide((a * b).sum(axis=1), scale, out=np.full(len(a), np.nan), where=scale > 0)


def _centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, per row, twice the mean rank less its mean: the number of smaller values less that of greater ones."""
    signs = np.sign(values[:, :, None] - values[:, None, :])  # NaN spreads
    return signs.sum(axis=2)
