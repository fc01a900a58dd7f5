"""Split-half reliability: how alike are the rankings of two disjoint halves of the raters?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.bootstrap import Progress
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.draws import halves
from vaeval_tasks.stats.engines import fit_all
from vaeval_tasks.stats.rank_correlation import row_spearman
from vaeval_tasks.stats.refits import Refits, block_size, plan, refit_tables, run_blocks
from vaeval_tasks.stats.tally import tally, weighted_counts

__all__ = ["SplitHalf", "half_summary", "rater_halves", "split_half"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitHalf:
    """Spearman correlation of two halves' strengths over many random splits, for one rubric."""

    rubric: str
    mean: float | None
    sd: float | None
    n_splits: int
    """Splits in which both halves had every entity."""
    n_undefined: int
    """Splits left out: a half lacked an entity, or had all strengths equal."""
    ridged: int
    """Half fits that needed the fallback ridge."""
    n_entities: int
    n_raters: int
    """Raters of the rubric."""
    reason: str = ""

    @property
    def stepped_up(self) -> float | None:
        """The reliability of all raters together, by Spearman and Brown: 2r/(1+r); None where r is not above 0."""
        return None if self.mean is None or self.mean <= 0 else 2 * self.mean / (1 + self.mean)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Split:
    """Both halves of a block of splits."""

    first: Refits
    second: Refits


_DIGITS = 7
"""Strengths that differ by less are equal: a fit ends within 1e-8, and rounding is no order."""
_FEW_RATERS = 16
"""Up to so many raters, at most 12,870 halves differ."""


def split_half(
    data: Comparisons,
    *,
    splits: int = 20_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[SplitHalf, ...]:
    """Split the raters in two by head count, fit the ordinal model to each half, and correlate; per rubric.

    The number depends on how many entities there are: print it for configurations and for models. All rubrics share
    the splits.

    Raises:
        EstimationError: the full data have no finite estimate.
    """
    rho = np.empty((splits, len(data.rubrics)))
    ridged = np.zeros(len(data.rubrics), dtype=np.int64)
    for start, stop, halved in _split(data, splits, seed, threads):
        for row in range(len(data.rubrics)):
            first, second = (np.round(half.strengths[:, row], _DIGITS) for half in (halved.first, halved.second))
            rho[start:stop, row] = row_spearman(first, second)
        ridged += halved.first.ridged.sum(axis=0) + halved.second.ridged.sum(axis=0)
        if progress is not None:
            progress(stop - start)
    return tuple(_summary(data, rubric, rho[:, code], int(ridged[code])) for code, rubric in enumerate(data.rubrics))


def rater_halves(
    data: Comparisons, *, splits: int = 500, seed: int = 0, threads: int | None = None
) -> NDArray[np.float64]:
    """Return the strengths of both halves, (splits, 2, rubrics, entities); NaN where a half lacks an entity."""
    blocks = [
        np.stack([halved.first.strengths, halved.second.strengths], axis=1)
        for _, _, halved in _split(data, splits, seed, threads)
    ]
    return np.concatenate(blocks)


def _split(data: Comparisons, splits: int, seed: int, threads: int | None) -> Iterator[tuple[int, int, _Split]]:
    merged = replace(data, prompt=np.zeros_like(data.prompt), n_prompts=1)  # halves do not tell prompts apart
    task = plan(tally(merged), fit_all(data))
    every = weighted_counts(task.tally, np.ones((data.n_raters, 1)), np.ones((1, 1)))

    def fitted(chosen: NDArray[np.float64]) -> _Split:
        tables = weighted_counts(task.tally, chosen, np.ones((1, chosen.shape[1])))
        return _Split(first=refit_tables(task, tables), second=refit_tables(task, every - tables))

    if data.n_raters > _FEW_RATERS:

        def drawn(start: int, stop: int) -> _Split:
            return fitted(halves(seed, start, stop, data.n_raters))

        yield from run_blocks(drawn, splits, size=block_size(task), threads=threads)
        return
    # few raters can be halved in few ways: each is fitted once
    distinct, way = np.unique(halves(seed, 0, splits, data.n_raters), axis=1, return_inverse=True)

    def once(start: int, stop: int) -> _Split:
        return fitted(distinct[:, start:stop])

    blocks = [part for _, _, part in run_blocks(once, distinct.shape[1], size=block_size(task), threads=threads)]
    first, second = (_picked([getattr(block, name) for block in blocks], way) for name in ("first", "second"))
    yield 0, splits, _Split(first=first, second=second)


def _picked(parts: Sequence[Refits], rows: NDArray[np.int64]) -> Refits:
    """Return rows of refits that were made part by part."""
    strengths = np.concatenate([part.strengths for part in parts])[rows.ravel()]
    return Refits(strengths=strengths, ridged=np.concatenate([part.ridged for part in parts])[rows.ravel()])


def _summary(data: Comparisons, rubric: str, rho: NDArray[np.float64], ridged: int) -> SplitHalf:
    n_raters = len(np.unique(data.rater[data.rubric == data.rubric_code(rubric)]))
    return half_summary(rubric, rho, ridged=ridged, n_entities=len(data.entities), n_raters=n_raters)


def half_summary(
    rubric: str, rho: NDArray[np.float64], *, n_entities: int, n_raters: int, ridged: int = 0
) -> SplitHalf:
    """Return the record of a rubric from the correlation of every split, NaN where that is undefined."""
    defined = rho[np.isfinite(rho)]
    enough, lost = len(defined) >= 2, len(rho) - len(defined)
    return SplitHalf(
        rubric=rubric,
        mean=float(defined.mean()) if enough else None,
        sd=float(defined.std(ddof=1)) if enough else None,
        n_splits=len(defined),
        n_undefined=lost,
        ridged=ridged,
        n_entities=n_entities,
        n_raters=n_raters,
        reason=""
        if enough
        else f"in {lost} of {len(rho)} splits a half lacks an entity, or has all its strengths equal",
    )
