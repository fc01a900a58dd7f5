"""Ordinal Bradley-Terry: a cumulative-link model of the score with symmetric thresholds."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats.cells import Cells, count_cells
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.cumulative import Problem, incidence, solve
from vaeval_tasks.stats.existence import require_connected, require_ratings, separation_error
from vaeval_tasks.stats.fits import Engine, Fit
from vaeval_tasks.stats.levels import Categories, categories
from vaeval_tasks.stats.links import Link

__all__ = ["Link", "Thresholds", "fit_ordinal", "fit_ordinal_cells", "ordinal_problem", "require_levels"]


class Thresholds(StrEnum):
    """Whether a score y and its mirror image -y share a threshold."""

    symmetric = "symmetric"
    """Then the fit does not depend on which entity of a pair is called a."""
    free = "free"
    """Only for data whose order of a and b means something."""


def fit_ordinal(
    data: Comparisons,
    rubric: str,
    *,
    thresholds: Thresholds = Thresholds.symmetric,
    link: Link = Link.logit,
    ridge: float = 0.0,
) -> Fit:
    """Fit P(Y <= k) = F(tau_k - (s_a - s_b)); levels that no rating uses are merged.

    With free thresholds the pairs keep their order, so two entities that appear in both orders are two pairs.

    Raises:
        EstimationError: see :func:`vaeval_tasks.stats.engines.fit`.
    """
    one = data.only(rubric)
    cells = count_cells(one)[0] if thresholds is Thresholds.symmetric else _ordered_cells(one)
    return fit_ordinal_cells(cells, thresholds=thresholds, link=link, ridge=ridge)


def fit_ordinal_cells(
    cells: Cells,
    *,
    thresholds: Thresholds = Thresholds.symmetric,
    link: Link = Link.logit,
    ridge: float = 0.0,
) -> Fit:
    """Fit a table of counts; see :func:`fit_ordinal`."""
    used = require_levels(cells, symmetric=thresholds is Thresholds.symmetric)
    if not ridge:
        require_connected(cells)
    problem = ordinal_problem(cells, used, link=link, ridge=ridge)
    solution = solve(problem)
    if not solution.converged:
        raise separation_error(cells, problem)
    m = len(cells.entities)
    return Fit(
        engine=Engine.ordinal,
        rubric=cells.rubric,
        entities=cells.entities,
        strengths=solution.coefficients,
        covariance=solution.covariance[:m, :m],
        log_likelihood=solution.log_likelihood,
        levels=used.levels,
        thresholds=tuple(solution.thresholds.tolist()),
        threshold_se=tuple(np.sqrt(np.diag(solution.covariance)[m:]).tolist()),
        ridge=ridge,
        iterations=solution.iterations,
        n_ratings=float(cells.counts.sum()),
        n_raters=cells.n_raters,
        n_prompts=cells.n_prompts,
    )


def require_levels(cells: Cells, *, symmetric: bool = True) -> Categories:
    """Return the used categories.

    Raises:
        EstimationError: there are no ratings, or every rating is a tie (with free thresholds: has the same score).
    """
    require_ratings(cells)
    used = categories(cells.counts.sum(axis=0), symmetric=symmetric)
    if len(used.columns) < 2:
        value = int(used.columns[0]) - cells.scale
        raise EstimationError(f"every rating is {value}, which orders nothing", rubric=cells.rubric)
    return used


def ordinal_problem(
    cells: Cells, used: Categories, *, link: Link = Link.logit, ridge: float = 0.0, side: bool = False
) -> Problem:
    """Return the model of a table of counts, with a side term as the last coefficient if asked."""
    m = len(cells.entities)
    return Problem(
        counts=cells.counts[:, used.columns],
        incidence=incidence(cells.first, cells.second, m, cells.side if side else None),
        n_centred=m,
        design=used.design,
        link=link,
        ridge=ridge,
    )


def _ordered_cells(one: Comparisons) -> Cells:
    """Count per ordered pair: (a, b) apart from (b, a)."""
    m = len(one.entities)
    key, pair = np.unique(one.a * m + one.b, return_inverse=True)
    width = 2 * one.scale + 1
    cell = pair * width + one.score + one.scale
    return Cells(
        rubric=one.rubrics[0],
        entities=one.entities,
        first=key // m,
        second=key % m,
        side=np.zeros(len(key), dtype=np.int64),
        counts=np.bincount(cell, one.weight, len(key) * width).astype(np.float64).reshape(-1, width),
        scale=one.scale,
        n_raters=one.n_raters if one.raters_named else None,
        n_prompts=one.n_prompts if one.prompts_named else None,
    )
