"""Intervals, differences and rank ranges from a bootstrap or from a sandwich."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaeval_tasks.stats.bootstrap import Resamples
from vaeval_tasks.stats.fits import Fit
from vaeval_tasks.stats.sandwich import Covariance

__all__ = ["Interval", "Standings", "difference", "percentile_interval", "standings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval, or the reason why there is none (then every number is None)."""

    low: float | None
    high: float | None
    se: float | None
    low_error: float | None = None
    """Monte-Carlo standard error of ``low``; None where nothing was drawn."""
    high_error: float | None = None
    """Monte-Carlo standard error of ``high``."""
    replicates: int = 0
    """Replicates used; 0 where nothing was drawn."""
    reason: str = ""

    def excludes(self, value: float) -> bool:
        """Whether the interval is defined and ``value`` lies outside of it."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


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
    n_ratings: tuple[float, ...]
    """Ratings that name the entity (a row between two of its own counts once)."""
    n_raters: tuple[int, ...]
    n_prompts: tuple[int, ...]
    ridged: int
    """Replicates that needed the fallback ridge."""
    absent: int
    """Replicates left out because an entity had no rating in them."""


def percentile_interval(values: Sequence[float], *, level: float = 0.95) -> Interval:
    """Return the type-7 percentile interval of replicates; NaNs are left out and counted."""
    raise NotImplementedError


def standings(source: Resamples | Covariance, rubric: str, *, level: float = 0.95) -> Standings:
    """Return ratings, intervals and rank ranges of one rubric.

    Two entities are separated where the interval of their difference excludes 0 (the difference of two correlated
    numbers is often certain although their intervals overlap).
    """
    raise NotImplementedError


def difference(source: Resamples | Covariance, rubric: str, a: str, b: str, *, level: float = 0.95) -> Interval:
    """Return the interval of ``a`` less ``b``, in the unit of the fit.

    Raises:
        UnknownNameError: one of the names is not among the entities or rubrics.
    """
    raise NotImplementedError
