"""The board on some of the prompts: every category, difficulty and recording condition, each fitted on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.boards import rank_text
from vaeval_tasks.analysis.entities import Level
from vaeval_tasks.analysis.leaderboard import Ci, Row, Settings, rank
from vaeval_tasks.analysis.ratings import Ratings, restrict
from vaeval_tasks.analysis.source import prompt_level
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import fit

__all__ = ["MIN_RATINGS", "slice_table"]

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


def _why_not(ratings: Ratings, rubric: str, level: Level) -> str:
    """Return why a rubric cannot be ranked, empty if it can."""
    data = ratings.at(level)
    n = int(np.sum(data.rubric == data.rubric_code(rubric)))
    if n < MIN_RATINGS:
        return f"{n} ratings, fewer than {MIN_RATINGS}"
    try:
        fit(restrict(data, [rubric]), rubric)
    except EstimationError as error:
        return str(error)
    return ""


def _row(row: Row) -> dict[str, Any]:
    shown = ("entity", "elo", "low", "high", "n_ratings", "n_raters", "n_prompts")
    return {"rank": rank_text(row), **{name: getattr(row, name) for name in shown}, "reason": ""}


def _slice(
    ratings: Ratings, rubrics: Sequence[str], level: Level, settings: Settings
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each rubric on one slice; what cannot be ranked has one row with the reason."""
    reasons = {rubric: _why_not(ratings, rubric, level) for rubric in rubrics}
    ranked = [rubric for rubric, why in reasons.items() if not why]
    out = {rubric: [{"reason": why}] for rubric, why in reasons.items() if why}
    if ranked:
        board = rank(ratings, level=level, rubrics=ranked, settings=settings)
        for rubric in ranked:
            out[rubric] = [_row(row) for row in board.rows if row.rubric == rubric]
    return out


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
    rows: list[dict[str, Any]] = []
    for field, value, inside in _slices(ratings):
        part = ratings.subset(inside)
        found = _slice(part, rubrics, level, settings)
        for rubric in rubrics:
            n = int(np.sum(part.data.rubric == part.data.rubric_code(rubric)))
            about = {"rubric": rubric, "field": field, "slice": value, "slice_ratings": n}
            rows += [about | row for row in found[rubric]]
    return Table(
        name="board_slices",
        title="Elo by category, difficulty and recording condition, each slice fitted on its own; sandwich intervals",
        columns=_COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: rubrics.index(row["rubric"]))),
        digits={"elo": 1, "low": 1, "high": 1},
    )
