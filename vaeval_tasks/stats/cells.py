"""Ratings reduced to weighted counts per (pair, score)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.comparisons import Comparisons, recode

__all__ = ["Cells", "Oriented", "count_cells", "orient", "session_codes"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Oriented:
    """Every row turned to its canonical pair (lower code first), with the list of the pairs that occur."""

    first: Codes
    """Lower entity code, per pair."""
    second: Codes
    """Higher entity code, per pair. The rows within one entity share one pair with ``first == second``."""
    pair: Codes
    """Index of the pair, per row."""
    score: Codes
    """Positive when ``first`` is preferred, per row."""
    side: Codes
    """+1 where ``first`` was shown first, per row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Counts of one rubric."""

    rubric: str
    entities: tuple[str, ...]
    first: Codes
    second: Codes
    side: Codes
    """+1, 0 or -1 per pair; 0 throughout unless sides were asked for."""
    counts: Floats
    """(pairs, 2 * scale + 1), from -scale to +scale."""
    scale: int
    n_raters: int | None
    """None where raters are not named."""
    n_prompts: int | None


def orient(data: Comparisons) -> Oriented:
    """Turn every row so that the entity of the lower code comes first; (a, b, y) is (b, a, -y)."""
    m = len(data.entities)
    a, b = np.divmod(np.arange(m * m), m)
    key = np.where(a == b, 0, np.minimum(a, b) * m + np.maximum(a, b))  # within one entity: strengths cancel anyhow
    shown = data.a * m + data.b
    found = np.unique(key[np.bincount(shown, minlength=m * m) > 0])
    turn = np.where(a > b, -1, 1)[shown]
    return Oriented(
        first=found // m,
        second=found % m,
        pair=np.searchsorted(found, key)[shown],
        score=data.score * turn,
        side=data.side * turn,
    )


def session_codes(data: Comparisons) -> Codes:
    """Return a code per session: one rater on one pair of entities for one prompt.

    Where raters or prompts are not named no two ratings are known to be of one session: every row has its own.
    """
    if not (data.raters_named and data.prompts_named):
        return np.arange(len(data))
    turned = orient(data)
    visit, _ = recode(data.rater * data.n_prompts + data.prompt)
    return recode(visit * len(turned.first) + turned.pair)[0]


def count_cells(data: Comparisons, *, sides: bool = False) -> tuple[Cells, ...]:
    """Count the ratings per pair and score, and per side too where ``sides`` is set; one table per rubric, one pass."""
    turned = orient(data)
    n_rubrics, n_pairs, width = len(data.rubrics), len(turned.first), 2 * data.scale + 1
    shown = turned.side + 1 if sides else 1
    row = (data.rubric * n_pairs + turned.pair) * 3 + shown
    weights = np.bincount(
        row * width + turned.score + data.scale, weights=data.weight, minlength=n_rubrics * n_pairs * 3 * width
    )
    counts = weights.astype(np.float64, copy=False).reshape(n_rubrics, n_pairs * 3, width)
    raters = _distinct(data.rubric, data.rater, n_rubrics, data.n_raters)
    prompts = _distinct(data.rubric, data.prompt, n_rubrics, data.n_prompts)
    tables = []
    for code, rubric in enumerate(data.rubrics):
        kept = np.flatnonzero(counts[code].sum(axis=1))
        tables.append(
            Cells(
                rubric=rubric,
                entities=data.entities,
                first=turned.first[kept // 3],
                second=turned.second[kept // 3],
                side=kept % 3 - 1,
                counts=counts[code, kept],
                scale=data.scale,
                n_raters=int(raters[code]) if data.raters_named else None,
                n_prompts=int(prompts[code]) if data.prompts_named else None,
            )
        )
    return tuple(tables)


def _distinct(rubric: Codes, code: Codes, n_rubrics: int, n: int) -> Codes:
    """Return how many different codes each rubric has."""
    return np.count_nonzero(np.bincount(rubric * n + code, minlength=n_rubrics * n).reshape(n_rubrics, n), axis=1)
