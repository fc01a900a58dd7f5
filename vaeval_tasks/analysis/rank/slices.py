"""Does the ranking hold on some of the prompts (each group fitted on its own), and by the other engines?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.load.source import prompt_level
from vaeval_tasks.analysis.rank.board import BoardRow, rank, rankable
from vaeval_tasks.analysis.rank.board_tables import rank_text
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.stats import Ci, Engine, RankSettings, fit_all, spearman

__all__ = [
    "MIN_RATINGS",
    "SLICE_METHOD",
    "EngineAgreement",
    "PromptSlice",
    "engine_agreement",
    "engine_table",
    "slice_boards",
    "slice_table",
]

MIN_RATINGS = 30
"""A slice with fewer ratings of a rubric gets no ranking."""
SLICE_METHOD = "Elo by category, difficulty and recording condition, each slice fitted on its own; sandwich intervals"
_COLUMNS = (
    "rubric", "field", "slice", "slice_ratings", "rank", "entity", "elo", "low", "high", "n_ratings", "n_raters",
    "n_prompts", "reason",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSlice:
    """The board of one rubric on one group of prompts."""

    rubric: str
    field: str
    """What groups the prompts: ``category``, ``difficulty`` or ``condition``."""
    value: str
    n_ratings: int
    rows: tuple[BoardRow, ...] = ()
    """Best first; none where the group cannot be ranked."""
    reason: str = ""
    """Why there are no rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAgreement:
    """How far two engines rank the entities alike on one rubric."""

    rubric: str
    level: Level
    n_entities: int
    rho: Mapping[tuple[Engine, Engine], float | None]
    """Spearman correlation of their ratings."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """The rows of one rubric, or why there are none."""

    rows: tuple[BoardRow, ...] = ()
    reason: str = ""


def _ranked(ratings: Ratings, rubrics: Sequence[str], level: Level, settings: RankSettings) -> dict[str, _Ranked]:
    """Rank each rubric that can be ranked."""
    able = rankable(ratings, level, rubrics, engine=settings.engine, ridge=settings.ridge)
    out = {one.rubric: _Ranked(reason=one.note) for one in able.unranked}
    for group in able.groups:
        rows = rank(ratings, level=level, rubrics=group, settings=settings).rows
        out |= {rubric: _Ranked(rows=tuple(row for row in rows if row.rubric == rubric)) for rubric in group}
    return out


def slice_boards(
    ratings: Ratings, rubrics: Sequence[str], level: Level, settings: RankSettings
) -> tuple[PromptSlice, ...]:
    """Return every rubric's board on every category, difficulty and condition, sorted by rubric.

    Intervals are those of the sandwich: hundreds of small boards, each resampled, would take minutes.

    Args:
        ratings: with what is known of their prompts.
        rubrics: which rubrics.
        level: what is ranked.
        settings: as of the whole board, but for the intervals.
    """
    settings = replace(settings, ci=Ci.sandwich)
    out = []
    for field, value, inside in _slices(ratings):
        part = ratings.subset(inside)
        counts = {rubric: int(np.sum(part.data.rubric == part.data.rubric_code(rubric))) for rubric in rubrics}
        enough = [rubric for rubric, n in counts.items() if n >= MIN_RATINGS]
        found = _ranked(part, enough, level, settings)
        for rubric, n in counts.items():
            got = found.get(rubric, _Ranked(reason=f"{n} ratings, fewer than {MIN_RATINGS}"))
            out.append(
                PromptSlice(rubric=rubric, field=field, value=value, n_ratings=n, rows=got.rows, reason=got.reason)
            )
    return tuple(sorted(out, key=lambda one: rubrics.index(one.rubric)))


def _rows(one: PromptSlice) -> list[dict[str, Any]]:
    about = {"rubric": one.rubric, "field": one.field, "slice": one.value, "slice_ratings": one.n_ratings}
    shown = ("entity", "elo", "low", "high", "n_ratings", "n_raters", "n_prompts")
    ranked = [
        {"rank": rank_text(row), **{name: getattr(row, name) for name in shown}, "reason": ""} for row in one.rows
    ]
    return [about | row for row in ranked or [{"reason": one.reason}]]


def slice_table(found: Sequence[PromptSlice]) -> Table:
    """Return the boards of all groups of prompts, one below the other."""
    return Table(
        name="board_slices",
        title=SLICE_METHOD,
        columns=_COLUMNS,
        rows=tuple(row for one in found for row in _rows(one)),
        digits={"elo": 1, "low": 1, "high": 1},
    )


def engine_agreement(ratings: Ratings, rubrics: Sequence[str], levels: Sequence[Level]) -> tuple[EngineAgreement, ...]:
    """Return the Spearman correlation of each two engines' ratings of the entities, per level and rubric."""
    out = []
    for level in levels:
        data = restrict(ratings.at(level), rubrics)
        fits = {engine: fit_all(data, engine=engine) for engine in Engine}
        for i, rubric in enumerate(data.rubrics):
            rho = {(a, b): spearman(fits[a][i].ratings, fits[b][i].ratings) for a, b in combinations(Engine, 2)}
            out.append(EngineAgreement(rubric=rubric, level=level, n_entities=len(data.entities), rho=rho))
    return tuple(out)


def engine_table(found: Sequence[EngineAgreement]) -> Table:
    """Return the agreement of the engines as a table, a column for each two."""
    rows = [
        {
            "rubric": one.rubric,
            "by": one.level.value,
            "n_entities": one.n_entities,
            **{f"{a.value} ~ {b.value}": rho for (a, b), rho in one.rho.items()},
        }
        for one in found
    ]
    return Table(
        name="engines",
        title="Spearman correlation of the ranking engines",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={},
    )
