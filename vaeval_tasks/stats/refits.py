"""Refits of all rubrics to many weighted versions of one set of ratings, block by block, on several threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.batches import Fitted, fit_batch, ordinal_batch, wins_batch
from vaeval_tasks.stats.cumulative import Problem, incidence, solve
from vaeval_tasks.stats.fits import Engine, Fit
from vaeval_tasks.stats.fractional import partial_wins
from vaeval_tasks.stats.levels import categories
from vaeval_tasks.stats.tally import Tally

__all__ = ["FALLBACK_RIDGE", "LANES", "RefitPlan", "Refits", "block_size", "plan", "refit_tables", "run_blocks"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
T = TypeVar("T")
_SINGULAR = 1e-10

LANES = 128
"""Replicates that are weighed and refitted together, at most."""
_NUMBERS = 2**25
"""That a block of replicates may take (256 MB)."""
FALLBACK_RIDGE = 1e-2
"""Precision of the penalty that stands in where a replicate has no finite estimate."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefitPlan:
    """What every replicate needs: the ratings, the engine and where to start."""

    tally: Tally
    engine: Engine
    strengths: Floats
    """(rubrics, entities) of the full fits."""
    edges: Floats
    """(rubrics, scale + 1): of the full ordinal fits, the threshold just below each level; NaN where there is none."""
    ridge: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refits:
    """What came of a block of replicates."""

    strengths: Floats
    """(replicates, rubrics, entities); NaN where an entity has no rating in a replicate, or every rating ties."""
    ridged: NDArray[np.bool_]
    """(replicates, rubrics): there was no finite maximum, and :data:`FALLBACK_RIDGE` was used."""


def plan(counted: Tally, fits: tuple[Fit, ...]) -> RefitPlan:
    """Prepare the refits of ratings whose full fits are ``fits``, one per rubric."""
    edges = np.full((len(fits), counted.n_columns // 2 + 1), np.nan)
    for row, one in enumerate(fits):
        positive = [level for level in one.levels if level > 0]
        for level, threshold in zip(positive[len(positive) - len(one.thresholds) :], one.thresholds, strict=True):
            edges[row, level] = threshold
    return RefitPlan(
        tally=counted,
        engine=fits[0].engine,
        strengths=np.stack([one.strengths for one in fits]),
        edges=edges,
        ridge=fits[0].ridge,
    )


def block_size(task: RefitPlan) -> int:
    """Return how many replicates go together: fewer where there are very many pairs or entities."""
    n_rubrics, m = task.strengths.shape
    n_pairs, n_cells = len(task.tally.first), n_rubrics * task.tally.n_columns
    working = 4 * task.tally.n_columns  # copies of one rubric's counts, and derivatives
    return max(1, min(LANES, _NUMBERS // ((n_cells + working) * n_pairs + m * m)))


def refit_tables(task: RefitPlan, tables: Floats) -> Refits:
    """Fit every rubric of every replicate to counts (rubrics x scores, pairs, replicates)."""
    if task.engine is Engine.massey:
        return _refit_massey(task, tables)
    width = task.tally.n_columns
    strengths = np.empty((tables.shape[2], *task.strengths.shape))
    ridged = np.zeros(strengths.shape[:2], dtype=bool)
    for row in range(len(task.strengths)):
        counts = tables[row * width : (row + 1) * width]
        for group in _alike(task.engine, counts.sum(axis=1)):
            part = counts if len(group) == len(strengths) else counts[:, :, group]
            fitted, held = _refit_alike(task, row, part)
            strengths[group, row], ridged[group, row] = fitted.strengths, held
            for replicate in group[fitted.failed]:
                again = _refit_safely(task, counts[:, :, replicate].T)
                strengths[replicate, row], ridged[replicate, row] = again
    return Refits(strengths=strengths, ridged=ridged)


def _alike(engine: Engine, totals: Floats) -> list[Codes]:
    """Return groups of replicates whose totals (scores, replicates) use the same levels, if levels matter."""
    used = totals + totals[::-1] > 0
    if engine is not Engine.ordinal or np.all(used == used[:, :1]):
        return [np.arange(totals.shape[1])]
    patterns, group = np.unique(used, axis=1, return_inverse=True)
    return [np.flatnonzero(group == code) for code in range(patterns.shape[1])]


def _refit_alike(task: RefitPlan, row: int, counts: Floats) -> tuple[Fitted, NDArray[np.bool_]]:
    """Fit replicates of one rubric that use the same levels, starting at the full fit.

    Returns:
        The fits, and which of them have the fallback ridge, as without it there is no finite maximum.
    """
    if task.engine is Engine.fractional:
        batch, start = wins_batch(counts), np.zeros(0)
    else:
        used = categories(counts[:, :, 0].sum(axis=1))
        batch = ordinal_batch(counts, used)
        start = task.edges[row, [level for level in used.levels if level > 0]]
        start = start[len(start) - used.design.shape[1] :]
    pairs, strengths = (task.tally.first, task.tally.second), task.strengths[row]
    fitted = fit_batch(batch, *pairs, strengths, start, ridge=task.ridge)
    endless = np.flatnonzero(fitted.endless)
    if len(endless):
        again = fit_batch(batch.of(endless), *pairs, strengths, start, ridge=max(task.ridge, FALLBACK_RIDGE))
        fitted.strengths[endless] = again.strengths
        fitted.failed[endless] = again.failed | again.endless
    return fitted, fitted.endless & ~fitted.failed


def _refit_safely(task: RefitPlan, counts: Floats) -> tuple[Floats, bool]:
    """Fit one table with damped steps from a cold start, and with the fallback ridge if that fails."""
    if task.engine is Engine.fractional:
        counts, design = partial_wins(counts, task.tally.n_columns // 2), np.zeros((1, 0))
    else:
        used = categories(counts.sum(axis=0))
        counts, design = counts[:, used.columns], used.design
    m = task.strengths.shape[1]
    pairs = incidence(task.tally.first, task.tally.second, m)
    problem = Problem(counts=counts, incidence=pairs, n_centred=m, design=design, ridge=task.ridge)
    found = solve(problem)
    if found.converged:
        return found.coefficients, False
    return solve(replace(problem, ridge=max(task.ridge, FALLBACK_RIDGE))).coefficients, True


def _refit_massey(task: RefitPlan, tables: Floats) -> Refits:
    """Solve the least squares of all replicates of one rubric at once."""
    t, m = task.tally, task.strengths.shape[1]
    pairs = incidence(t.first, t.second, m).toarray()
    outer = (pairs[:, :, None] * pairs[:, None, :]).reshape(-1, m * m)
    score = np.arange(t.n_columns) - t.n_columns // 2
    strengths = np.empty((tables.shape[2], t.n_rubrics, m))
    ridged = np.zeros(strengths.shape[:2], dtype=bool)
    for row in range(t.n_rubrics):
        counts = tables[row * t.n_columns : (row + 1) * t.n_columns]  # (scores, pairs, replicates)
        weight, margin = counts.sum(axis=0), np.tensordot(score, counts, axes=1)
        system = (weight.T @ outer).reshape(-1, m, m) + task.ridge * np.eye(m)
        diagonal = np.einsum("bii->bi", system)
        seen = diagonal.min(axis=1) > 0
        system[~seen] = np.eye(m)
        system += (diagonal.sum(axis=1) / m**2)[:, None, None]
        apart = np.linalg.eigvalsh(system)[:, 0] < _SINGULAR * diagonal.max(axis=1)
        system[apart] += FALLBACK_RIDGE * np.eye(m)
        strengths[:, row] = np.linalg.solve(system, (pairs.T @ margin).T[:, :, None])[:, :, 0]
        strengths[~seen, row] = np.nan
        ridged[:, row] = apart & seen
    return Refits(strengths=strengths, ridged=ridged)


def run_blocks(
    work: Callable[[int, int], T], total: int, *, size: int, threads: int | None
) -> Iterator[tuple[int, int, T]]:
    """Run ``work(start, stop)`` over blocks of a range, in order; the blocks do not depend on the threads."""
    spans = [(start, min(start + size, total)) for start in range(0, total, size)]
    workers = max(1, min(threads or os.cpu_count() or 1, len(spans)))
    if workers == 1:
        for start, stop in spans:
            yield start, stop, work(start, stop)
        return
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, *span) for span in spans]
        try:
            for (start, stop), future in zip(spans, futures, strict=True):
                yield start, stop, future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
