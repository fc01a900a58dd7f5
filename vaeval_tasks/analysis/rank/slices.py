"""The board on some of the prompts: every category, difficulty and recording condition, each fitted on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings
from vaeval_tasks.analysis.load.source import prompt_level
from vaeval_tasks.analysis.rank.board import BoardRow, rank, rankable
from vaeval_tasks.analysis.rank.board_tables import rank_text
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.stats import Ci, RankSettings

__all__ = ["MIN_RATINGS", "slice_table"]

Rows = list[dict[str, Any]]

MIN_RATINGS = 30
"""A slice with fewer ratings of a rubric gets no ranking."""
_COLUMNS = (
    "rubric", "field", "slice", "slice_ratings", "rank", "entity", "elo", "low", "high", "n_ratings", "n_raters",
    "n_prompts", "reason",
)  # fmt: skip


def _slices(ratings: Ratings) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Yield (field, value, which rows)."""
    known = [ratings.prompt_info[p] for p in ratings.prompts]
    fields = {
        "category": [p.category for p in known],
        "difficulty": [prompt_level(p) for p in known],
        "condition": [p.condition.value for p in known],
    }
    for name, values in fields.items():
        for value in sorted(set(values)):
            yield name, value, np.array([v == value for v in values])[ratings.data.prompt]


def _row(row: BoardRow) -> dict[str, Any]:
    shown = ("entity", "elo", "low", "high", "n_ratings", "n_raters", "n_prompts")
    return {"rank": rank_text(row), **{name: getattr(row, name) for name in shown}, "reason": ""}


def _ranked(ratings: Ratings, rubrics: Sequence[str], level: Level, settings: RankSettings) -> dict[str, Rows]:
    """Return the rows of each rubric; one that cannot be ranked has one row with the reason."""
    able = rankable(ratings, level, rubrics, engine=settings.engine, ridge=settings.ridge)
    out: dict[str, Rows] = {one.rubric: [{"reason": one.reason}] for one in able.unranked}
    for group in able.groups:
        for row in rank(ratings, level=level, rubrics=group, settings=settings).rows:
            out.setdefault(row.rubric, []).append(_row(row))
    return out


def slice_table(ratings: Ratings, rubrics: Sequence[str], level: Level, settings: RankSettings) -> Table:
    """Return every rubric's board on every category, difficulty and condition.

    Intervals are those of the sandwich: hundreds of small boards, each resampled, would take minutes.

    Args:
        ratings: with what is known of their prompts.
        rubrics: which rubrics.
        level: what is ranked.
        settings: as of the whole board, but for the intervals.
    """
    settings = replace(settings, ci=Ci.sandwich)
    rows: Rows = []
    for field, value, inside in _slices(ratings):
        part = ratings.subset(inside)
        counts = {rubric: int(np.sum(part.data.rubric == part.data.rubric_code(rubric))) for rubric in rubrics}
        enough = [rubric for rubric, n in counts.items() if n >= MIN_RATINGS]
        found = _ranked(part, enough, level, settings)
        for rubric, n in counts.items():
            few: Rows = [{"reason": f"{n} ratings, fewer than {MIN_RATINGS}"}]
            about = {"rubric": rubric, "field": field, "slice": value, "slice_ratings": n}
            rows += [about | row for row in found.get(rubric, few)]
    return Table(
        name="board_slices",
        title="Elo by category, difficulty and recording condition, each slice fitted on its own; sandwich intervals",
        columns=_COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: rubrics.index(row["rubric"]))),
        digits={"elo": 1, "low": 1, "high": 1},
    )
