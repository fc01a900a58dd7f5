"""Side bias: does the response that is shown first win more than it should? A diagnostic."""

from __future__ import annotations

from dataclasses import dataclass

from vaeval_tasks.stats.comparisons import Comparisons

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
    """Fit the ordinal model with a side term on the rows whose side is known."""
    raise NotImplementedError
