"""Side bias: does the response that is shown first win more than it should? A diagnostic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats.cells import count_cells
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.cumulative import solve
from vaeval_tasks.stats.existence import require_connected
from vaeval_tasks.stats.ordinal import ordinal_problem, require_levels

__all__ = ["SideEffect", "side_effect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffect:
    """The advantage of being shown first, in one rubric."""

    rubric: str
    beta: float | None
    """Log odds in favour of the first shown; None where it cannot be estimated (see ``reason``)."""
    se: float | None
    likelihood_ratio: float | None
    """Twice the gain in log-likelihood, one degree of freedom."""
    p_value: float | None
    n_ratings: float
    """Ratings of known side."""
    reason: str = ""


def side_effect(data: Comparisons, rubric: str) -> SideEffect:
    """Fit the ordinal model with delta = s_a - s_b + beta * side on the rows whose side is known.

    The standard error takes ratings as independent. R's ``clm`` with symmetric thresholds calls -beta the centre.

    Raises:
        UnknownNameError: there is no such rubric.
    """
    from scipy.special import chdtrc  # the chi-squared tail; scipy.stats, which has it too, costs a second

    one = data.only(rubric)
    known = one.subset(one.side != 0).used()
    n_ratings = float(known.weight.sum())
    if n_ratings == 0:
        return _undefined(rubric, n_ratings, "no rating says which side was shown first")
    try:
        cells = count_cells(known, sides=True)[0]
        used = require_levels(cells)
        require_connected(cells)
    except EstimationError as error:
        return _undefined(rubric, n_ratings, str(error))
    with_side = solve(ordinal_problem(cells, used, side=True))
    without = solve(ordinal_problem(cells, used))
    if not (with_side.converged and without.converged):
        return _undefined(rubric, n_ratings, "the model with a side term has no finite estimate")
    m = len(cells.entities)
    ratio = max(0.0, 2 * (with_side.log_likelihood - without.log_likelihood))
    return SideEffect(
        rubric=rubric,
        beta=float(with_side.coefficients[m]),
        se=float(np.sqrt(with_side.covariance[m, m])),
        likelihood_ratio=ratio,
        p_value=float(chdtrc(1, ratio)),
        n_ratings=n_ratings,
    )


def _undefined(rubric: str, n_ratings: float, reason: str) -> SideEffect:
    return SideEffect(
        rubric=rubric, beta=None, se=None, likelihood_ratio=None, p_value=None, n_ratings=n_ratings, reason=reason
    )
