"""Ratings with intervals, differences and rank ranges of one rubric, from a bootstrap or from a sandwich."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.stats.bootstrap import Resamples
from vaeval_tasks.stats.clusters import WAYS, lacking
from vaeval_tasks.stats.comparisons import Comparisons, Coverage
from vaeval_tasks.stats.fits import Fit
from vaeval_tasks.stats.intervals import Interval, no_interval, percentile_interval, t_interval, with_width
from vaeval_tasks.stats.sandwich import Covariance

__all__ = ["Standings", "bare_standings", "difference", "standings"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standings:
    """One rubric's entities with their ratings, intervals and rank ranges, in the order of ``fit.entities``."""

    fit: Fit
    level: float
    """The coverage aimed at, 0.95 as a rule."""
    ratings: tuple[float, ...]
    """In ``fit.unit``."""
    intervals: tuple[Interval, ...]
    rank_low: tuple[int | None, ...]
    """The best rank an entity can hold: 1 + the number of entities that are separated above it."""
    rank_high: tuple[int | None, ...]
    """The worst rank: the number of entities less those separated below it. None without intervals."""
    coverage: tuple[Coverage, ...]
    """Ratings that name the entity, and their raters and prompts."""
    ridged: int
    """Replicates that needed the fallback ridge."""
    absent: int
    """Replicates left out because an entity had no rating in them."""


def standings(source: Resamples | Covariance, rubric: str, *, level: float = 0.95) -> Standings:
    """Return ratings, intervals and rank ranges of one rubric.

    Two entities are separated where the interval of their difference excludes 0 (the difference of two correlated
    numbers is often certain although their intervals overlap).

    Raises:
        UnknownNameError: ``source`` has no such rubric.
    """
    fit = _fit_of(source, rubric)
    ratings = fit.ratings
    m = len(ratings)
    entities = np.eye(m)
    lacks = _lacks(source, fit)
    if lacks:
        return bare_standings(fit, source.data, lacks, level=level)
    intervals = tuple(_interval(source, fit, entities[i], float(ratings[i]), level) for i in range(m))
    above = np.zeros((m, m), dtype=bool)  # [i, j]: i is separated above j
    for i in range(m):
        for j in range(m):
            if ratings[i] > ratings[j]:
                gap = _interval(source, fit, entities[i] - entities[j], float(ratings[i] - ratings[j]), level)
                above[i, j] = gap.low is not None and gap.low > 0
    known = [interval.low is not None for interval in intervals]
    return Standings(
        fit=fit,
        level=level,
        ratings=tuple(ratings.tolist()),
        intervals=intervals,
        rank_low=tuple(1 + int(above[:, i].sum()) if known[i] else None for i in range(m)),
        rank_high=tuple(m - int(above[i].sum()) if known[i] else None for i in range(m)),
        coverage=source.data.only(rubric).coverage(),
        ridged=_count(source, "ridged", rubric),
        absent=_count(source, "absent", rubric),
    )


def bare_standings(fit: Fit, data: Comparisons, reason: str, *, level: float = 0.95) -> Standings:
    """Return ratings and what they rest on, without intervals and ranks, for that reason."""
    m = len(fit.entities)
    return Standings(
        fit=fit,
        level=level,
        ratings=tuple(fit.ratings.tolist()),
        intervals=(no_interval(reason),) * m,
        rank_low=(None,) * m,
        rank_high=(None,) * m,
        coverage=data.only(fit.rubric).coverage(),
        ridged=0,
        absent=0,
    )


def difference(source: Resamples | Covariance, rubric: str, a: str, b: str, *, level: float = 0.95) -> Interval:
    """Return the interval of ``a`` less ``b``, in the unit of the fit.

    Raises:
        UnknownNameError: one of the names is not among the entities or rubrics.
    """
    fit = _fit_of(source, rubric)
    i, j = source.data.entity_code(a), source.data.entity_code(b)
    entities = np.eye(len(fit.entities))
    lacks = _lacks(source, fit)
    if lacks:
        return no_interval(lacks)
    return _interval(source, fit, entities[i] - entities[j], float(fit.ratings[i] - fit.ratings[j]), level)


def _fit_of(source: Resamples | Covariance, rubric: str) -> Fit:
    fits = source.fits if isinstance(source, Resamples) else (source.fit,)
    for fit in fits:
        if fit.rubric == rubric:
            return fit
    raise UnknownNameError("rubric", rubric, [fit.rubric for fit in fits])


def _lacks(source: Resamples | Covariance, fit: Fit) -> str:
    """Return why the clusters of a source cannot be told apart in a fit, empty if they can."""
    clusters = source.clusters if isinstance(source, Covariance) else WAYS[source.draws.scheme]
    lacks = lacking(clusters, fit.n_raters, fit.n_prompts, fit.n_ratings)
    return lacks.text if lacks else ""


def _interval(
    source: Resamples | Covariance, fit: Fit, contrast: NDArray[np.float64], estimate: float, level: float
) -> Interval:
    """Return the interval of a linear combination of ratings; one without width is none."""
    if isinstance(source, Covariance):
        # rounding may leave a variance of 0 a little below it
        variance = max(float(contrast @ source.matrix @ contrast), 0.0) * fit.unit_size**2
        found = t_interval(estimate, variance, source.degrees, level=level)
    else:
        anchor = float(fit.ratings.mean()) * float(contrast.sum())
        found = percentile_interval(anchor + fit.unit_size * (source.of(fit.rubric) @ contrast), level=level)
    return with_width(found, fit.unit_size) if contrast.any() else found  # an entity is itself for certain


def _count(source: Resamples | Covariance, what: str, rubric: str) -> int:
    if isinstance(source, Covariance):
        return 0
    marks = source.ridged if what == "ridged" else source.absent
    return int(marks[:, source.data.rubric_code(rubric)].sum())
