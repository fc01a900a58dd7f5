"""Agreement between raters: Krippendorff's alpha, ICC(1) and Gwet's AC1/AC2, on counts per unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vaeval_tasks.stats.comparisons import Comparisons

__all__ = [
    "Agreement",
    "Coefficient",
    "Metric",
    "Orientation",
    "Weights",
    "agreement",
    "agreement_of_counts",
    "gwet_ac",
    "icc1",
    "krippendorff_alpha",
    "unit_counts",
]


class Metric(StrEnum):
    """Krippendorff's difference functions."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


class Weights(StrEnum):
    """Gwet's agreement weights over the declared categories; ``identity`` gives AC1."""

    identity = "identity"
    linear = "linear"
    quadratic = "quadratic"
    ordinal = "ordinal"


class Orientation(StrEnum):
    """Which of the two compared entities a unit's scores are signed for."""

    mirrored = "mirrored"
    """Both, each unit entering twice: the same number whatever the labels."""
    presented = "presented"
    """The one shown first. Needs the side."""
    by_id = "by_id"
    """The one that comes first in the list of entities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One agreement coefficient, or the reason why it is undefined."""

    value: float | None
    observed: float | None = None
    """Observed agreement (AC), observed disagreement (alpha) or mean square between units (ICC)."""
    expected: float | None = None
    """Expected agreement (AC), expected disagreement (alpha) or mean square within units (ICC)."""
    se: float | None = None
    """Of AC1/AC2 over units (Gwet 2014); None elsewhere."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The coefficients of one rubric or one family of rubrics."""

    rubrics: tuple[str, ...]
    alpha: Coefficient
    icc: Coefficient
    ac: Coefficient
    n_units: int
    """Units (prompt x pair x rubric) with two ratings or more."""
    n_single: int
    """Units with one rating, which no coefficient here can use."""
    n_ratings: int
    """Ratings in the units with two or more."""
    n_raters: int
    n_prompts: int


def unit_counts(unit: ArrayLike, category: ArrayLike, n_categories: int) -> NDArray[np.float64]:
    """Return (units, categories) counts from codes, one rating a row; units of no rating are left out."""
    raise NotImplementedError


def krippendorff_alpha(counts: ArrayLike, values: Sequence[float], *, metric: Metric = Metric.interval) -> Coefficient:
    """Return alpha = 1 - Do/De from (units, categories) counts and the categories' values."""
    raise NotImplementedError


def icc1(counts: ArrayLike, values: Sequence[float]) -> Coefficient:
    """Return the one-way random ICC(1) for unequal numbers of ratings per unit."""
    raise NotImplementedError


def gwet_ac(counts: ArrayLike, *, weights: Weights = Weights.quadratic) -> Coefficient:
    """Return Gwet's AC1 (identity weights) or AC2 over all declared categories (the columns)."""
    raise NotImplementedError


def agreement_of_counts(
    counts: ArrayLike,
    values: Sequence[float],
    *,
    metric: Metric = Metric.interval,
    weights: Weights = Weights.quadratic,
) -> tuple[Coefficient, Coefficient, Coefficient]:
    """Return alpha, ICC(1) and AC of one table of counts (for MOS and other scales)."""
    raise NotImplementedError


def agreement(
    data: Comparisons,
    rubrics: Sequence[str],
    *,
    orientation: Orientation = Orientation.mirrored,
    metric: Metric = Metric.interval,
    weights: Weights = Weights.quadratic,
) -> Agreement:
    """Return the agreement on one rubric, or on several pooled (their units are put one after the other).

    Use the finest entities (configurations): a unit is a prompt, a pair of entities and a rubric.
    """
    raise NotImplementedError
