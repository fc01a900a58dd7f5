"""Damped Newton for cumulative-link models of paired comparisons, on aggregated counts.

P(Y <= k) = F(tau_k - delta), delta = X @ s, tau = design @ t. The log-likelihood is jointly concave in (s, t)
(log-concave density), so damped Newton steps find its maximum wherever there is one. Models: K = 2 Bradley & Terry
(1952), K = 3 Rao & Kupper (1967), more Tutz (1986), Agresti (1992).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.links import Link, quantile, tail

if TYPE_CHECKING:  # SciPy is imported by what calls it, so that a bad file is refused without it
    from scipy.sparse import csr_matrix

__all__ = ["Problem", "Solution", "category_scores", "incidence", "inverse_information", "solve", "weighted_gram"]

Floats = NDArray[np.float64]
_TOLERANCE = 1e-8
_MAX_STEPS = 60
_MAX_HALVINGS = 30
_PIVOT = 1e-11
"""A pivot of so small a share of its diagonal is zero."""

_RUNAWAY = 15.0
"""Log odds beyond which a strength is taken to be on its way to infinity."""
_SMALLEST = 1e-150
"""Probabilities are held above this; one over its square is still a number."""
_DENSE = 1_000_000
"""Incidences of up to so many elements are quicker as plain arrays."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """Data and model of one fit."""

    counts: Floats
    """(pairs, categories)."""
    incidence: csr_matrix | Floats
    """(pairs, coefficients) such that delta = incidence @ coefficients."""
    n_centred: int
    """The first so many coefficients are strengths, which are determined up to a constant and sum to zero."""
    design: Floats
    """(categories - 1, threshold parameters)."""
    link: Link = Link.logit
    ridge: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """Where Newton's method ended."""

    coefficients: Floats
    thresholds: Floats
    """The parameters t."""
    covariance: Floats
    """Of (coefficients, thresholds), the strengths constrained to sum zero."""
    log_likelihood: float
    iterations: int
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _State:
    value: float
    """Penalised log-likelihood."""
    gradient: Floats
    information: Floats
    """Minus the Hessian."""


def incidence(
    first: NDArray[np.int64], second: NDArray[np.int64], n: int, side: NDArray[np.int64] | None = None
) -> csr_matrix:
    """Return the (pairs, n) matrix with +1 at ``first`` and -1 at ``second``; ``side`` adds a last column."""
    from scipy.sparse import csr_matrix

    rows = np.arange(len(first))
    data = [np.ones(len(first)), -np.ones(len(first))]
    columns = [first, second]
    if side is not None:
        data.append(side.astype(np.float64))
        columns.append(np.full(len(first), n))
    shape = (len(first), n + (side is not None))
    return csr_matrix((np.concatenate(data), (np.tile(rows, len(data)), np.concatenate(columns))), shape=shape)


def weighted_gram(x: csr_matrix | Floats, weight: Floats) -> Floats:
    """Return x' diag(weight) x."""
    if isinstance(x, np.ndarray):
        return np.asarray(x.T @ (weight[:, None] * x))
    return np.asarray((x.T @ x.multiply(weight[:, None])).toarray())


def solve(problem: Problem) -> Solution:
    """Maximise the penalised log-likelihood. ``converged`` is False where there seems to be no finite maximum."""
    from scipy.linalg import cho_solve

    if not isinstance(problem.incidence, np.ndarray) and np.prod(problem.incidence.shape) <= _DENSE:
        problem = replace(problem, incidence=problem.incidence.toarray())
    n_coef = problem.incidence.shape[1]
    theta = np.concatenate([np.zeros(n_coef), _start(problem)])
    state = _evaluate(problem, theta)
    converged, iterations = False, 0
    while not converged and iterations < _MAX_STEPS:
        factor = _factor(problem, state.information)
        if factor is None:
            break
        step = cho_solve(factor, state.gradient)
        iterations += 1
        theta, state, moved = _advance(problem, theta, step, state)
        if not moved or np.abs(theta[:n_coef]).max() > _RUNAWAY:
            break
        converged = bool(np.abs(step).max() < _TOLERANCE)
    penalty = 0.5 * problem.ridge * float(theta[: problem.n_centred] @ theta[: problem.n_centred])
    return Solution(
        coefficients=theta[:n_coef],
        thresholds=theta[n_coef:],
        covariance=_covariance(problem, state.information) if converged else np.zeros((len(theta), len(theta))),
        log_likelihood=state.value + penalty,
        iterations=iterations,
        converged=converged,
    )


def inverse_information(problem: Problem, coefficients: Floats, thresholds: Floats) -> Floats:
    """Return the model's covariance of (coefficients, thresholds), the strengths constrained to sum zero."""
    return _covariance(problem, _evaluate(problem, np.concatenate([coefficients, thresholds])).information)


def category_scores(problem: Problem, delta: Floats, thresholds: Floats) -> Floats:
    """Return d log p_k / d (tau_j - delta), shape (pairs, categories, categories - 1)."""
    z = problem.design @ thresholds - delta[:, None]
    at = tail(problem.link, z)
    probability = _probabilities(at.below, at.above, z)
    n_thresholds = z.shape[1]
    slopes = np.zeros((*probability.shape, n_thresholds))
    for j in range(n_thresholds):
        slopes[:, j, j] = at.density[:, j] / probability[:, j]
        slopes[:, j + 1, j] = -at.density[:, j] / probability[:, j + 1]
    return slopes


def _start(problem: Problem) -> Floats:
    """Thresholds at the quantiles of the category totals (made symmetric where the design is)."""
    totals = problem.counts.sum(axis=0)
    n_parameters = problem.design.shape[1]
    if n_parameters == 0:
        return np.zeros(0)
    if n_parameters < len(totals) - 1:
        totals = totals + totals[::-1]
    tau = quantile(problem.link, np.cumsum(totals)[:-1] / totals.sum())
    return tau[-n_parameters:]


def _advance(problem: Problem, theta: Floats, step: Floats, state: _State) -> tuple[Floats, _State, bool]:
    """Take the step, halved until thresholds increase and the likelihood does not fall."""
    n_coef = problem.incidence.shape[1]
    slack = 1e-12 * (1 + abs(state.value))
    for _ in range(_MAX_HALVINGS):
        trial = theta + step
        if np.all(np.diff(problem.design @ trial[n_coef:]) > 0):
            reached = _evaluate(problem, trial)
            if reached.value >= state.value - slack:
                return trial, reached, True
        step = step / 2
    return theta, state, False


def _evaluate(problem: Problem, theta: Floats) -> _State:
    """Return value, gradient and information at ``theta``."""
    x, design, counts = problem.incidence, problem.design, problem.counts
    n_coef = x.shape[1]
    z = design @ theta[n_coef:] - (x @ theta[:n_coef])[:, None]  # (pairs, categories - 1)
    at = tail(problem.link, z)
    probability = _probabilities(at.below, at.above, z)
    ratio = counts / probability
    curve = ratio / probability
    pull = ratio[:, :-1] - ratio[:, 1:]
    slope = at.density * pull  # gradient with respect to z
    diagonal = at.slope * pull - at.density**2 * (curve[:, :-1] + curve[:, 1:])
    beside = at.density[:, :-1] * at.density[:, 1:] * curve[:, 1:-1]
    across = diagonal.copy()  # Hessian in z, summed over one of its axes
    across[:, :-1] += beside
    across[:, 1:] += beside
    hessian_z = np.diag(diagonal.sum(axis=0)) + np.diag(beside.sum(axis=0), 1) + np.diag(beside.sum(axis=0), -1)

    gradient = np.concatenate([-(x.T @ slope.sum(axis=1)), design.T @ slope.sum(axis=0)])
    information = np.empty((len(theta), len(theta)))
    information[:n_coef, :n_coef] = -weighted_gram(x, across.sum(axis=1))
    information[:n_coef, n_coef:] = x.T @ (across @ design)
    information[n_coef:, :n_coef] = information[:n_coef, n_coef:].T
    information[n_coef:, n_coef:] = -(design.T @ hessian_z @ design)
    value = float((counts * np.log(probability)).sum())
    if problem.ridge:
        s = theta[: problem.n_centred]
        value -= 0.5 * problem.ridge * float(s @ s)
        gradient[: problem.n_centred] -= problem.ridge * s
        information[np.arange(problem.n_centred), np.arange(problem.n_centred)] += problem.ridge
    return _State(value=value, gradient=gradient, information=information)


def _probabilities(below: Floats, above: Floats, z: Floats) -> Floats:
    """Return the category probabilities, each as a difference of the smaller tails."""
    one, zero = np.ones((len(z), 1)), np.zeros((len(z), 1))
    from_left = np.diff(np.hstack([zero, below, one]), axis=1)
    from_right = -np.diff(np.hstack([one, above, zero]), axis=1)
    right = np.hstack([np.zeros((len(z), 1), dtype=bool), z > 0])  # of a category's lower threshold
    return np.maximum(np.where(right, from_right, from_left), _SMALLEST)


def _lifted(problem: Problem, information: Floats) -> Floats:
    """Make the information definite along the constant shift of strengths, which neither data nor steps involve."""
    n = problem.n_centred
    lifted = information.copy()
    if n:
        lifted[:n, :n] += np.trace(information[:n, :n]) / n**2
    return lifted


def _factor(problem: Problem, information: Floats) -> tuple[Floats, bool] | None:
    """Return the Cholesky factor, or None where the data say nothing of some direction.

    Rounding can leave a pivot that ought to be zero, as of entities that were never compared, a little above it.
    """
    from scipy.linalg import cho_factor

    lifted = _lifted(problem, information)
    try:
        factor, lower = cho_factor(lifted, lower=True)
    except np.linalg.LinAlgError:
        return None
    return None if np.any(np.diag(factor) ** 2 <= _PIVOT * np.diag(lifted)) else (factor, lower)


def _covariance(problem: Problem, information: Floats) -> Floats:
    inverse = np.linalg.inv(_lifted(problem, information))
    n = problem.n_centred
    centre = np.eye(len(inverse))
    centre[:n, :n] -= 1 / max(n, 1)
    return centre @ inverse @ centre
