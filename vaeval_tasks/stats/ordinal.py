"""Ordinal Bradley-Terry: a cumulative-link model of the score with symmetric thresholds."""

from __future__ import annotations

from enum import StrEnum

from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.fits import Fit

__all__ = ["Link", "Thresholds", "fit_ordinal"]


class Link(StrEnum):
    """The distribution of the latent error."""

    logit = "logit"
    probit = "probit"


class Thresholds(StrEnum):
    """Whether a score y and its mirror image -y share a threshold."""

    symmetric = "symmetric"
    free = "free"


def fit_ordinal(
    data: Comparisons,
    rubric: str,
    *,
    thresholds: Thresholds = Thresholds.symmetric,
    link: Link = Link.logit,
    ridge: float = 0.0,
) -> Fit:
    """Fit P(Y <= k) = F(tau_k - (s_a - s_b)); see :func:`vaeval_tasks.stats.fits.fit` for the errors."""
    raise NotImplementedError
