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
from vaeval_tasks.analysis.rank.board import Ci, Row, Settings, rank
from vaeval_tasks.analysis.rank.board_tables import rank_text
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError

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


def _row(row: Row) -> dict[str, Any]:
    shown = ("entity", "elo", "low", "high", "n_ratings", "n_raters", "n_prompts")
    return {"rank": rank_text(row), **{name: getattr(row, name) for name in shown}, "reason": ""}


def _ranked(ratings: Ratings, rubrics: Sequence[str], level: Level, settings: Settings) -> dict[str, Rows]:
    """Return the rows of each rubric; one that cannot be ranked has one row with the reason."""
    try:
        board = rank(ratings, level=level, rubrics=rubrics, settings=settings)
    except EstimationError as error:
        if len(rubrics) == 1:
            return {rubrics[0]: [{"reason": str(error)}]}
        alone = [_ranked(ratings, [rubric], level, settings) for rubric in rubrics]
        return {rubric: rows for found in alone for rubric, rows in found.items()}
    return {rubric: [_row(row) for row in board.rows if row.rubric == rubric] for rubric in rubrics}


def slice_table(ratings: Ratings, rubrics: Sequence[str], level: Level, settings: Settings) -> Table:
    """Return every rubric's board on every category, difficulty and condition.

    Intervals are those of the two-way sandwich: hundreds of small boards, each resampled, would take minutes.

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
        found = _ranked(part, enough, level, settings) if enough else {}
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
