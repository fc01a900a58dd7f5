"""What every ranking engine returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.elo import ELO_PER_LOGIT, elo

__all__ = ["Engine", "Fit", "Unit"]


class Engine(StrEnum):
    """A model that turns paired comparisons into strengths."""

    ordinal = "ordinal"
    """Cumulative logit with symmetric thresholds: the headline."""
    fractional = "fractional"
    """Partial-margin Bradley-Terry: a score y is (y / scale + 1) / 2 of a win."""
    massey = "massey"
    """Least squares on the scores."""


class Unit(StrEnum):
    """What the displayed numbers are measured in."""

    elo = "Elo"
    points = "CMOS points"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """One engine's fit to one rubric."""

    engine: Engine
    rubric: str
    entities: tuple[str, ...]
    strengths: NDArray[np.float64]
    """One per entity, sum zero: log odds, or score points for Massey."""
    covariance: NDArray[np.float64]
    """Of the strengths, from the model alone (independent ratings); see :mod:`.sandwich` for honest ones."""
    log_likelihood: float | None
    """None for Massey."""
    levels: tuple[int, ...]
    """The absolute scores that occur; thresholds lie between them."""
    thresholds: tuple[float, ...]
    """In log odds, increasing; of a symmetric fit the positive ones, of a free fit all. Empty where there are none."""
    threshold_se: tuple[float, ...]
    ridge: float
    """The penalty on the strengths that was asked for, 0 as a rule."""
    iterations: int
    n_ratings: float
    """The sum of the weights."""
    n_raters: int | None
    """None where raters are not named."""
    n_prompts: int | None

    @property
    def unit(self) -> Unit:
        """The unit of :attr:`ratings`. Massey's margins are never turned into odds."""
        return Unit.points if self.engine is Engine.massey else Unit.elo

    @property
    def unit_size(self) -> float:
        """Units per unit of strength: Elo points per logit, or 1."""
        return 1.0 if self.engine is Engine.massey else ELO_PER_LOGIT

    @property
    def ratings(self) -> NDArray[np.float64]:
        """What a board shows, per entity: Elo with mean 1000, or score points with mean 0 for Massey."""
        return self.strengths if self.engine is Engine.massey else elo(self.strengths)

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """The model's own standard errors of the strengths, per entity."""
        return np.sqrt(np.diag(self.covariance))
