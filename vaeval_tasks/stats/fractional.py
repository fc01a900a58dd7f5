"""Partial-margin Bradley-Terry: a score y is a win of weight (y / scale + 1) / 2.

A tie is half a win and half a loss. Source: Bradley & Terry 1952; DAI-S2S-ST, "classic Bradley-Terry with
partial-margin extension".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.cells import Cells
from vaeval_tasks.stats.cumulative import Problem, incidence, solve
from vaeval_tasks.stats.existence import require_connected, require_ratings, separation_error
from vaeval_tasks.stats.fits import Engine, Fit

__all__ = ["fit_fractional_cells", "fractional_problem", "partial_wins"]


def partial_wins(counts: NDArray[np.float64], scale: int) -> NDArray[np.float64]:
    """Return (…, 2): losses and wins of the first entity, from counts over -scale to +scale."""
    share = (np.arange(-scale, scale + 1) / scale + 1) / 2
    return np.stack([counts @ (1 - share), counts @ share], axis=-1)


def fit_fractional_cells(cells: Cells, *, ridge: float = 0.0) -> Fit:
    """Maximise sum w [f log sig(d) + (1 - f) log sig(-d)], f the partial win and d = s_a - s_b.

    Raises:
        EstimationError: see :func:`vaeval_tasks.stats.engines.fit`.
    """
    require_ratings(cells)
    if not ridge:
        require_connected(cells)
    problem = fractional_problem(cells, ridge)
    solution = solve(problem)
    if not solution.converged:
        raise separation_error(cells, problem)
    return Fit(
        engine=Engine.fractional,
        rubric=cells.rubric,
        entities=cells.entities,
        strengths=solution.coefficients,
        covariance=solution.covariance,
        log_likelihood=solution.log_likelihood,
        levels=(),
        thresholds=(),
        threshold_se=(),
        ridge=ridge,
        iterations=solution.iterations,
        n_ratings=float(cells.counts.sum()),
        n_raters=cells.n_raters,
        n_prompts=cells.n_prompts,
    )


def fractional_problem(cells: Cells, ridge: float = 0.0) -> Problem:
    """Return the model of a table of counts: wins and losses, and a threshold fixed at 0."""
    m = len(cells.entities)
    return Problem(
        counts=partial_wins(cells.counts, cells.scale),
        incidence=incidence(cells.first, cells.second, m),
        n_centred=m,
        design=np.zeros((1, 0)),
        ridge=ridge,
    )
