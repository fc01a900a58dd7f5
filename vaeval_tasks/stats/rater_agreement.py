"""Agreement between the raters of paired comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats.cells import orient
from vaeval_tasks.stats.coefficients import (
    Coefficient,
    Metric,
    Weights,
    gwet_ac,
    icc1,
    krippendorff_alpha,
    unit_counts,
)
from vaeval_tasks.stats.comparisons import Comparisons, recode

__all__ = ["Agreement", "Orientation", "agreement", "agreement_of_counts"]


class Orientation(StrEnum):
    """Which of the two compared entities a unit's scores are signed for."""

    mirrored = "mirrored"
    """Both, each unit entering twice: the same number whatever the labels."""
    presented = "presented"
    """The one shown first. Needs the side."""
    by_id = "by_id"
    """The one that comes first in the list of entities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The coefficients of one rubric or one family of rubrics."""

    alpha: Coefficient
    icc: Coefficient
    """Over the units with two ratings or more, like alpha."""
    ac: Coefficient
    """Its chance term takes the categories' shares over all units, those with one rating included."""
    n_units: int
    """Units (prompt x pair x rubric) with two ratings or more."""
    n_single: int
    """Units with one rating, which no coefficient here can use."""
    n_ratings: int
    """Ratings in the units with two or more."""
    n_raters: int
    """Raters of these."""
    n_prompts: int
    """Prompts of these."""


def agreement_of_counts(
    counts: ArrayLike,
    values: Sequence[float],
    *,
    metric: Metric = Metric.interval,
    weights: Weights = Weights.quadratic,
    n_raters: int = 0,
    n_prompts: int = 0,
) -> Agreement:
    """Return the coefficients of a (units, categories) table, such as MOS scores of one response per unit.

    Args:
        counts: ratings per unit and declared category.
        values: of the categories.
        metric: of alpha.
        weights: of Gwet's coefficient.
        n_raters: carried into the record.
        n_prompts: carried into the record.
    """
    table = np.asarray(counts, dtype=np.float64)
    size = table.sum(axis=1)
    shared = table[size >= 2]
    return Agreement(
        alpha=krippendorff_alpha(shared, values, metric=metric),
        icc=icc1(shared, values),
        ac=gwet_ac(table, weights=weights),
        n_units=len(shared),
        n_single=int((size == 1).sum()),
        n_ratings=int(shared.sum()),
        n_raters=n_raters,
        n_prompts=n_prompts,
    )


def agreement(
    data: Comparisons,
    rubrics: Sequence[str],
    *,
    orientation: Orientation = Orientation.mirrored,
    metric: Metric = Metric.interval,
    weights: Weights = Weights.quadratic,
) -> Agreement:
    """Return the agreement on one rubric, or on several pooled (their units are put one after the other).

    Use the finest entities (configurations): a unit is a prompt, a pair of entities and a rubric. All
    2 * scale + 1 scores are declared categories. Where a row weight is no whole number of ratings, nothing tells how
    many agree: every coefficient is then None with that reason.

    Raises:
        EstimationError: the orientation needs a side that a row lacks.
        UnknownNameError: there is no such rubric.
    """
    chosen = data.subset(np.isin(data.rubric, [data.rubric_code(name) for name in rubrics]))
    if np.any(chosen.weight != np.floor(chosen.weight)):
        return _uncounted(chosen)
    unit, score = _units(chosen, orientation)
    values = range(-data.scale, data.scale + 1)
    repeats = chosen.weight.astype(np.int64)
    counts = unit_counts(np.repeat(unit, repeats), np.repeat(score + data.scale, repeats), len(values))
    sizes = np.bincount(unit, weights=chosen.weight)[unit] >= 2
    if orientation is Orientation.mirrored:
        twice = agreement_of_counts(np.vstack([counts, counts[:, ::-1]]), values, metric=metric, weights=weights)
    else:
        twice = agreement_of_counts(counts, values, metric=metric, weights=weights)
    size = counts.sum(axis=1)
    return Agreement(
        alpha=twice.alpha,
        icc=twice.icc,
        ac=twice.ac,
        n_units=int((size >= 2).sum()),
        n_single=int((size == 1).sum()),
        n_ratings=int(size[size >= 2].sum()),
        n_raters=len(np.unique(chosen.rater[sizes])),
        n_prompts=len(np.unique(chosen.prompt[sizes])),
    )


def _uncounted(data: Comparisons) -> Agreement:
    none = Coefficient(value=None, reason="counts are fractional, so nothing tells how many ratings agree")
    return Agreement(
        alpha=none,
        icc=none,
        ac=none,
        n_units=0,
        n_single=0,
        n_ratings=0,
        n_raters=len(np.unique(data.rater)),
        n_prompts=len(np.unique(data.prompt)),
    )


def _units(data: Comparisons, orientation: Orientation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a unit code and an oriented score per row."""
    m = len(data.entities)
    low, high = np.minimum(data.a, data.b), np.maximum(data.a, data.b)
    unit, _ = recode(((data.rubric * data.n_prompts + data.prompt) * m + low) * m + high)
    if orientation is Orientation.presented:
        if np.any(data.side == 0):
            raise EstimationError("orientation 'presented' needs to know which side was shown first in every rating")
        return unit, data.score * data.side
    return unit, orient(data).score
