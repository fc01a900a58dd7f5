"""Head-to-head margins of two entities in score points: voices, thinking levels, or any pair."""

from __future__ import annotations

from dataclasses import dataclass

from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.draws import Draws
from vaeval_tasks.stats.intervals import Interval

__all__ = ["Margin", "margins"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How far ``a`` is ahead of ``b`` in the ratings that compare the two directly."""

    rubric: str
    a: str
    b: str
    margin: float | None
    """Weighted mean score, positive when ``a`` is preferred, in score points."""
    interval: Interval
    significant: bool | None
    """Whether the interval excludes 0; None without one. False is printed as ``n.s.``"""
    wins: float
    losses: float
    ties: float
    win_rate: float | None
    """wins / (wins + losses): ties excluded."""
    n_ratings: float
    n_raters: int
    n_prompts: int
    reason: str = ""


def margins(data: Comparisons, a: str, b: str, draws: Draws, *, level: float = 0.95) -> tuple[Margin, ...]:
    """Return the margin of ``a`` over ``b`` in every rubric.

    For a voice pooled over thinking levels, subset to the model's rows and relabel to voices first.

    Raises:
        UnknownNameError: one of the two is not among the entities.
    """
    raise NotImplementedError
