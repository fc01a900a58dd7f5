"""Massey ranking: least squares on score margins (Massey 1997)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats.cells import Cells
from vaeval_tasks.stats.cumulative import incidence, weighted_gram
from vaeval_tasks.stats.existence import require_connected, require_ratings
from vaeval_tasks.stats.fits import Engine, Fit

__all__ = ["fit_massey_cells", "massey_inverse", "massey_ratings"]


def massey_ratings(
    first: NDArray[np.int64], second: NDArray[np.int64], margin: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Return ratings with sum zero that minimise sum (margin - (r_first - r_second))^2; margins of any size."""
    x = incidence(first, second, n)
    laplacian = (x.T @ x).toarray()
    return np.linalg.solve(laplacian + 1 / n, x.T @ margin)


def massey_inverse(cells: Cells, ridge: float = 0.0) -> NDArray[np.float64]:
    """Return the inverse of the weighted Laplacian of the comparisons on ratings that sum to zero."""
    m = len(cells.entities)
    x = incidence(cells.first, cells.second, m)
    system = weighted_gram(x, cells.counts.sum(axis=1))
    centre = np.eye(m) - 1 / m
    inverse = np.linalg.inv(system + ridge * np.eye(m) + np.trace(system) / m**2)
    return np.asarray(centre @ inverse @ centre)


def fit_massey_cells(cells: Cells, *, ridge: float = 0.0) -> Fit:
    """Minimise sum w (y - (r_a - r_b))^2 + ridge sum r^2, ties counting as 0.

    Raises:
        EstimationError: there are no ratings, or the entities are not connected and ``ridge`` is 0.
    """
    require_ratings(cells)
    if not ridge:
        require_connected(cells)
    m = len(cells.entities)
    x = incidence(cells.first, cells.second, m)
    score = np.arange(-cells.scale, cells.scale + 1.0)
    inverse = massey_inverse(cells, ridge)
    strengths = inverse @ (x.T @ (cells.counts @ score))
    residual = score - (x @ strengths)[:, None]
    n_ratings = float(cells.counts.sum())
    freedom = n_ratings - (m - 1)
    if freedom <= 0:
        raise EstimationError(f"{n_ratings:g} ratings are too few to rank {m} entities", rubric=cells.rubric)
    variance = float((cells.counts * residual**2).sum()) / freedom
    return Fit(
        engine=Engine.massey,
        rubric=cells.rubric,
        entities=cells.entities,
        strengths=strengths,
        covariance=variance * inverse,
        log_likelihood=None,
        levels=(),
        thresholds=(),
        threshold_se=(),
        ridge=ridge,
        iterations=1,
        n_ratings=n_ratings,
        n_raters=cells.n_raters,
        n_prompts=cells.n_prompts,
    )
