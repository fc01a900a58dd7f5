"""The rater-and-prompt bootstrap of the strengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.cells import session_codes
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.draws import Draws, Scheme, lanes, unit_lanes
from vaeval_tasks.stats.engines import fit_all
from vaeval_tasks.stats.fits import Engine, Fit
from vaeval_tasks.stats.refits import Refits, block_size, plan, refit_tables, run_blocks
from vaeval_tasks.stats.tally import tally, weighted_counts

__all__ = ["Progress", "Resamples", "bootstrap"]

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
    """(replicates, rubrics): no finite estimate, :data:`.refits.FALLBACK_RIDGE` was used."""
    absent: NDArray[np.bool_]
    """(replicates, rubrics): an entity had no rating in the replicate; its row of ``strengths`` is NaN."""
    draws: Draws
    data: Comparisons

    def of(self, rubric: str) -> NDArray[np.float64]:
        """Return the strengths of one rubric, (replicates, entities)."""
        return self.strengths[:, self.data.rubric_code(rubric)]


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
        fits: :func:`.engines.fit_all` of the same data and engine, if at hand.
        threads: at most this many (all processors if left out); the result has the same bytes for any number.
        progress: told how many replicates are done.

    Raises:
        EstimationError: the full data have no finite estimate.
    """
    points = fit_all(data, engine=engine) if fits is None else fits
    drawn = _sessions_as_raters(data) if draws.scheme is Scheme.iid else data
    task = plan(tally(drawn), points)
    units = draws.scheme is Scheme.iid and not (data.raters_named and data.prompts_named)

    def replicate(start: int, stop: int) -> Refits:
        if units:
            weights = unit_lanes(draws, start, stop, data.weight)
        else:
            weights = lanes(draws, start, stop, drawn.n_raters, drawn.n_prompts)
        return refit_tables(task, weighted_counts(task.tally, weights.rater, weights.prompt))

    shape = (draws.replicates, len(data.rubrics))
    strengths, ridged = np.empty((*shape, len(data.entities))), np.empty(shape, dtype=bool)
    for start, stop, done in run_blocks(replicate, draws.replicates, size=block_size(task), threads=threads):
        strengths[start:stop], ridged[start:stop] = done.strengths, done.ridged
        if progress is not None:
            progress(stop - start)
    return Resamples(
        engine=engine,
        rubrics=data.rubrics,
        entities=data.entities,
        fits=points,
        strengths=strengths,
        ridged=ridged,
        absent=np.isnan(strengths[:, :, 0]),
        draws=draws,
        data=data,
    )


def _sessions_as_raters(data: Comparisons) -> Comparisons:
    """Give every session a rater of its own, and all the same prompt.

    Without sessions every row is one, and its weight is drawn: see :func:`.draws.unit_lanes`.
    """
    session = session_codes(data)
    n = int(session.max(initial=-1)) + 1
    weight = data.weight if data.raters_named and data.prompts_named else np.ones(len(data))
    return replace(data, rater=session, prompt=np.zeros_like(session), n_raters=n, n_prompts=1, weight=weight)
