"""Ratings grouped so that a resample's weighted counts cost one short pass.

A session is one rater on one pair for one prompt; its ratings (one per rubric) share one resampling weight. Sessions
are sorted by pair, so that the counts of a pair stay in the nearest cache while its sessions are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.cells import orient
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.compiled import kernel

__all__ = ["Tally", "tally", "weigh"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    weight: Floats
    """Per rating."""
    n_rubrics: int
    n_columns: int
    """2 * scale + 1 scores."""

    @property
    def n_sessions(self) -> int:
        """How many sessions there are."""
        return len(self.rater)


def tally(data: Comparisons) -> Tally:
    """Group the ratings, in time proportional to their number."""
    turned = orient(data)
    order = np.arange(len(data))
    for key in (data.prompt, data.rater, turned.pair):
        order = _sorted_by(key, order, int(key.max(initial=-1)) + 1)
    pair, rater, prompt = turned.pair[order], data.rater[order], data.prompt[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (pair[1:] != pair[:-1]) | (rater[1:] != rater[:-1]) | (prompt[1:] != prompt[:-1])
    start = np.flatnonzero(new)
    n_columns = 2 * data.scale + 1
    return Tally(
        first=turned.first,
        second=turned.second,
        pair_start=np.searchsorted(pair[start], np.arange(len(turned.first) + 1)),
        rater=rater[start],
        prompt=prompt[start],
        session_start=np.append(start, len(order)),
        cell=(data.rubric * n_columns + turned.score + data.scale)[order],
        weight=data.weight[order],
        n_rubrics=len(data.rubrics),
        n_columns=n_columns,
    )


@kernel
def _sorted_by(key: Codes, order: Codes, n_keys: int) -> Codes:
    """Reorder ``order`` by ``key``, stably (a counting sort)."""
    start = np.zeros(n_keys + 1, dtype=np.int64)
    for k in key:
        start[k + 1] += 1
    for k in range(n_keys):
        start[k + 1] += start[k]
    out = np.empty_like(order)
    for i in order:
        out[start[key[i]]] = i
        start[key[i]] += 1
    return out


@kernel
def weigh(
    pair_start: Codes,
    rater: Codes,
    prompt: Codes,
    session_start: Codes,
    cell: Codes,
    weight: Floats,
    by_rater: Floats,
    by_prompt: Floats,
    n_cells: int,
) -> Floats:
    """Return the weighted counts (cells, pairs, lanes) of several replicates at once.

    ``by_rater`` (raters, lanes) and ``by_prompt`` (prompts, lanes) hold the resampling weights; a rating counts their
    product times its own weight. Lanes are replicates, innermost, so that the additions run in parallel in registers.
    """
    n_pairs, lanes = len(pair_start) - 1, by_rater.shape[1]
    out = np.zeros((n_cells, n_pairs, lanes))
    local = np.empty((n_cells, lanes))
    session = np.empty(lanes)
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
