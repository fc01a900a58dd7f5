"""The rater-and-prompt bootstrap of the strengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.draws import Draws
from vaeval_tasks.stats.fits import Engine, Fit

__all__ = ["FALLBACK_RIDGE", "Progress", "Resamples", "bootstrap"]

FALLBACK_RIDGE = 1e-2
"""Precision of the penalty that stands in where a replicate has no finite estimate."""

Progress = Callable[[int], object]
"""Called with the number of replicates finished since the last call (``tqdm.update``)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resamples:
    """Strengths of every replicate, and what became of each fit."""

    engine: Engine
    rubrics: tuple[str, ...]
    entities: tuple[str, ...]
    fits: tuple[Fit, ...]
    """The fits to the full data, one per rubric: the point estimates."""
    strengths: NDArray[np.float64]
    """(replicates, rubrics, entities), sum zero over entities; NaN where a replicate lacks an entity."""
    ridged: NDArray[np.bool_]
    """(replicates, rubrics): no finite estimate, :data:`FALLBACK_RIDGE` was used."""
    absent: NDArray[np.bool_]
    """(replicates, rubrics): an entity had no rating in the replicate; its row of ``strengths`` is NaN."""
    draws: Draws
    n_raters: int
    n_prompts: int

    def of(self, rubric: str) -> NDArray[np.float64]:
        """Return the strengths of one rubric, (replicates, entities)."""
        raise NotImplementedError


def bootstrap(
    data: Comparisons,
    draws: Draws,
    *,
    engine: Engine = Engine.ordinal,
    fits: tuple[Fit, ...] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Resamples:
    """Refit every rubric on every replicate.

    Args:
        data: the comparisons of all rubrics.
        draws: the plan; use one plan for every engine and level, so that differences pair up.
        engine: which model.
        fits: :func:`fit_all` of the same data and engine, if at hand.
        threads: at most this many; the result has the same bytes for any number.
        progress: told how many replicates are done.

    Raises:
        EstimationError: the full data have no finite estimate.
    """
    raise NotImplementedError
