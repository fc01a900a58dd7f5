"""The two-way clustered sandwich covariance of the strengths (calibrated, and quick)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.fits import Fit

__all__ = ["Clusters", "Covariance", "sandwich"]


class Clusters(StrEnum):
    """Which ratings may depend on each other."""

    two_way = "two_way"
    """Those of one rater and those of one prompt (Cameron, Gelbach & Miller 2011)."""
    none = "none"
    """None: every session (one rater on one pair) on its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covariance:
    """A covariance of the strengths of one fit."""

    fit: Fit
    clusters: Clusters
    matrix: NDArray[np.float64]
    """(entities, entities), of the strengths."""
    degrees: float
    """Degrees of freedom of the t quantile: the smaller number of clusters less one."""


def sandwich(data: Comparisons, fit: Fit, *, clusters: Clusters = Clusters.two_way) -> Covariance:
    """Return H^-1 (sum_r G_r G_r' + sum_p G_p G_p' - sum_rp G_rp G_rp') H^-1 of a fit to ``data``.

    Raises:
        EstimationError: there is only one rater or one prompt, so nothing tells how they vary.
    """
    raise NotImplementedError
