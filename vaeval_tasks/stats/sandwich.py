"""The two-way clustered sandwich covariance of the strengths (calibrated, and quick).

Source: Cameron, Gelbach & Miller 2011, "Robust inference with multiway clustering", with their small-sample factors
G / (G - 1) and a t quantile of min(G) - 1 degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.cells import count_cells, orient, session_codes
from vaeval_tasks.stats.clusters import Clusters
from vaeval_tasks.stats.comparisons import Comparisons, recode
from vaeval_tasks.stats.cumulative import category_scores, incidence, inverse_information
from vaeval_tasks.stats.fits import Engine, Fit
from vaeval_tasks.stats.fractional import fractional_problem
from vaeval_tasks.stats.massey import massey_inverse
from vaeval_tasks.stats.ordinal import ordinal_problem, require_levels

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Covariance", "sandwich"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covariance:
    """A covariance of the strengths of one fit."""

    fit: Fit
    data: Comparisons
    """The ratings of the fit's rubric."""
    clusters: Clusters
    matrix: Floats
    """(entities, entities), of the strengths. Of no use with one rater or prompt: see :func:`.clusters.lacking`."""
    degrees: float
    """Degrees of freedom of the t quantile: the smallest number of clusters less one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Influence:
    """The ingredients of a sandwich."""

    inverse: Floats
    """Of the information, (parameters, parameters)."""
    scores: csr_matrix
    """(ratings, parameters): each rating's share of the gradient."""

    def around(self, middle: Floats) -> Floats:
        """Return the sandwich, exactly symmetric."""
        matrix = self.inverse @ middle @ self.inverse
        return np.asarray((matrix + matrix.T) / 2)


def sandwich(data: Comparisons, fit: Fit, *, clusters: Clusters = Clusters.two_way) -> Covariance:
    """Return H^-1 (sum_r G_r G_r' + sum_p G_p G_p' - sum_rp G_rp G_rp') H^-1 of a fit to ``data``.

    G are sums of the ratings' gradients over a rater, over a prompt, and over what one rater did on one prompt;
    clusters of one way have the one sum. With :attr:`Clusters.none` the middle is the sum over sessions, or over single
    ratings where raters or prompts are not named. With few clusters the difference may not be a covariance (a negative
    eigenvalue); then the last sum is left in, which is the careful side (MacKinnon, Nielsen & Webb 2021).
    """
    one = data.only(fit.rubric)
    influence = _influence(one, fit)
    m = len(fit.entities)
    n_clusters: float
    if clusters is not Clusters.two_way:
        middle, n_clusters = _one_way(influence.scores, one, clusters)
        matrix = influence.around(middle)[:m, :m]
    else:
        by_rater, n_raters = _outer(influence.scores, one.rater)
        by_prompt, n_prompts = _outer(influence.scores, one.prompt)
        by_both, _ = _outer(influence.scores, one.rater * one.n_prompts + one.prompt)
        n_clusters = min(n_raters, n_prompts)
        matrix = influence.around(by_rater + by_prompt - by_both)[:m, :m]
        if np.linalg.eigvalsh(matrix)[0] < -_ROUNDING * np.trace(matrix):
            matrix = influence.around(by_rater + by_prompt)[:m, :m]
    return Covariance(fit=fit, data=one, clusters=clusters, matrix=matrix, degrees=float(max(n_clusters - 1, 1)))


def _one_way(scores: csr_matrix, one: Comparisons, clusters: Clusters) -> tuple[Floats, float]:
    """Return the middle of clusters of one way, and how many there are."""
    if clusters is not Clusters.none:
        return _outer(scores, one.rater if clusters is Clusters.rater else one.prompt)
    if one.raters_named and one.prompts_named:
        return _outer(scores, session_codes(one))
    # a row of weight w is w ratings: its gradient is w times that of one, and the squares of w such ones are added
    unit = scores.multiply(1 / np.sqrt(one.weight)[:, None]).tocsr()
    n = float(one.weight.sum())
    return (unit.T @ unit).toarray() * (n / max(n - 1, 1.0)), n


def _outer(scores: csr_matrix, cluster: Codes) -> tuple[Floats, int]:
    """Return sum_g G_g G_g' times G / (G - 1), and how many clusters there are."""
    from scipy.sparse import csr_matrix

    codes, n = recode(cluster)
    sums = csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(n, len(codes))) @ scores
    return (sums.T @ sums).toarray() * (n / max(n - 1, 1)), n


def _influence(one: Comparisons, fit: Fit) -> _Influence:
    """Return inverse information and per-rating scores at a fit, for its engine."""
    from scipy.sparse import csr_matrix, hstack  # here: a bad file is refused without SciPy

    cells, turned = count_cells(one)[0], orient(one)
    column = turned.score + one.scale
    pairs = incidence(turned.first, turned.second, len(fit.entities))
    if fit.engine is Engine.massey:
        pull = turned.score - (pairs @ fit.strengths)[turned.pair]
        return _Influence(inverse=massey_inverse(cells, fit.ridge), scores=_rows(one, pairs, turned.pair, pull))
    if fit.engine is Engine.fractional:
        problem = fractional_problem(cells, fit.ridge)
        share = (turned.score / one.scale + 1) / 2
        pull = share - 1 / (1 + np.exp(-(pairs @ fit.strengths)[turned.pair]))
        inverse = inverse_information(problem, fit.strengths, np.zeros(0))
        return _Influence(inverse=inverse, scores=_rows(one, pairs, turned.pair, pull))
    used = require_levels(cells)
    problem = ordinal_problem(cells, used, ridge=fit.ridge)
    thresholds = np.array(fit.thresholds)
    category = np.searchsorted(used.columns, column)
    slopes = category_scores(problem, pairs @ fit.strengths, thresholds)[turned.pair, category]
    rows = _rows(one, pairs, turned.pair, -slopes.sum(axis=1))
    rest = csr_matrix((slopes @ used.design) * one.weight[:, None])
    return _Influence(
        inverse=inverse_information(problem, fit.strengths, thresholds), scores=hstack([rows, rest]).tocsr()
    )


def _rows(one: Comparisons, pairs: csr_matrix, pair: Codes, pull: Floats) -> csr_matrix:
    """Return each rating's gradient with respect to the strengths."""
    return pairs[pair].multiply((pull * one.weight)[:, None]).tocsr()
