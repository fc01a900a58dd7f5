"""Ratings grouped so that a resample's weighted counts cost one short pass.

A session is one rater on one pair for one prompt; its ratings (one per rubric) share one resampling weight. Sessions
are sorted by pair, so that the counts of a pair stay in the nearest cache while its sessions are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.cells import orient
from vaeval_tasks.stats.comparisons import Comparisons, recode
from vaeval_tasks.stats.compiled import kernel
from vaeval_tasks.stats.plain_kernels import SMALL_COUNTS, plain_counts

__all__ = ["Tally", "tally", "weighted_counts"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Lane = NDArray[np.float32] | Floats
_EXACT = 2.0**24
"""Sums of whole numbers below this have no rounding error in single precision, which is twice as fast."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally:
    """Sessions by pair, ratings by session."""

    first: Codes
    """Entity code, per pair; see :class:`.cells.Oriented`."""
    second: Codes
    pair_start: Codes
    """Session ``pair_start[p]`` is the first of pair p (one more entry than pairs)."""
    rater: Codes
    """Per session."""
    prompt: Codes
    """Per session."""
    session_start: Codes
    """Rating ``session_start[i]`` is the first of session i (one more entry than sessions)."""
    cell: Codes
    """rubric * columns + score column, per rating."""
    weight: Lane
    """Per rating; in single precision where that loses nothing."""
    heaviest: float
    """The largest total weight of a pair; infinite where a weight is not a whole number."""
    n_rubrics: int
    n_columns: int
    """2 * scale + 1 scores."""


def tally(data: Comparisons) -> Tally:
    """Group the ratings. One sort of whole numbers does it, so that the cost hardly shows beside the resampling."""
    turned = orient(data)
    n_columns = 2 * data.scale + 1
    n_cells = len(data.rubrics) * n_columns
    visit, n_visits = recode(data.prompt * data.n_raters + data.rater)
    rater, prompt = np.empty(n_visits, dtype=np.int64), np.empty(n_visits, dtype=np.int64)
    rater[visit], prompt[visit] = data.rater, data.prompt
    key = (turned.pair * n_visits + visit) * n_cells + (data.rubric * n_columns + turned.score + data.scale)
    weight = data.weight
    if np.all(weight == 1):
        key.sort()  # equal keys are alike
    else:
        order = np.argsort(key, kind="stable")
        key, weight = key[order], weight[order]
    heaviest = _heaviest(turned.pair, data.weight)
    session = key // n_cells
    start = np.flatnonzero(np.diff(session, prepend=-1))
    pair, visit = np.divmod(session[start], n_visits)
    return Tally(
        first=turned.first,
        second=turned.second,
        pair_start=np.searchsorted(pair, np.arange(len(turned.first) + 1)),
        rater=rater[visit],
        prompt=prompt[visit],
        session_start=np.append(start, len(key)),
        cell=key - session * n_cells,
        weight=weight.astype(np.float32) if heaviest < _EXACT else weight,
        heaviest=heaviest,
        n_rubrics=len(data.rubrics),
        n_columns=n_columns,
    )


def _heaviest(pair: Codes, weight: Floats) -> float:
    """Return the largest total weight of a pair, infinite where a weight is not a whole number."""
    if np.any(weight != np.floor(weight)):
        return np.inf
    return float(np.bincount(pair, weights=weight).max(initial=0.0))


def weighted_counts(counted: Tally, by_rater: Floats, by_prompt: Floats) -> Floats:
    """Return the weighted counts (cells, pairs, replicates) of several replicates at once.

    Args:
        counted: the ratings.
        by_rater: (raters, replicates) resampling weights; a rating counts their product times its own weight.
        by_prompt: (prompts, replicates).
    """
    n_cells, n_pairs = counted.n_rubrics * counted.n_columns, len(counted.first)
    if len(counted.cell) * n_cells * n_pairs <= SMALL_COUNTS:
        session = np.repeat(np.arange(len(counted.rater)), np.diff(counted.session_start))
        pair = np.repeat(np.arange(n_pairs), np.diff(counted.pair_start))[session]
        drawn = (by_rater[counted.rater] * by_prompt[counted.prompt])[session]
        return plain_counts(pair, counted.cell, counted.weight.astype(np.float64), drawn, (n_cells, n_pairs))
    exact = counted.heaviest * by_rater.max(initial=0.0) * by_prompt.max(initial=0.0) < _EXACT
    lane: type[np.floating] = np.float32 if exact else np.float64
    return _weigh(
        counted.pair_start, counted.rater, counted.prompt, counted.session_start, counted.cell,
        counted.weight.astype(lane, copy=False), by_rater.astype(lane), by_prompt.astype(lane),
        n_cells,
    )  # fmt: skip


@kernel
def _weigh(
    pair_start: Codes,
    rater: Codes,
    prompt: Codes,
    session_start: Codes,
    cell: Codes,
    weight: Lane,
    by_rater: Lane,
    by_prompt: Lane,
    n_cells: int,
) -> Floats:
    """Add up; the lanes (replicates) come last, so that the additions run in parallel in registers."""
    n_pairs, lanes = len(pair_start) - 1, by_rater.shape[1]
    out = np.empty((n_cells, n_pairs, lanes))
    local = np.empty((n_cells, lanes), by_rater.dtype)
    session = np.empty(lanes, by_rater.dtype)
    for p in range(n_pairs):
        local[:] = 0.0
        for i in range(pair_start[p], pair_start[p + 1]):
            ur, vp = by_rater[rater[i]], by_prompt[prompt[i]]
            for b in range(lanes):
                session[b] = ur[b] * vp[b]
            for j in range(session_start[i], session_start[i + 1]):
                row, w = local[cell[j]], weight[j]
                for b in range(lanes):
                    row[b] += w * session[b]
        for c in range(n_cells):
            for b in range(lanes):
                out[c, p, b] = local[c, b]
    return out
