"""Rank correlation."""

from __future__ import annotations

from numpy.typing import ArrayLike

__all__ = ["spearman"]


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Spearman's rank correlation (ties averaged), None where a side is constant or there are fewer than two."""
    raise NotImplementedError
