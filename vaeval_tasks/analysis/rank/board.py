"""The board: every entity's rating per rubric, with its interval and the ranks it may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vaeval_tasks import __version__
from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import (
    Ci,
    ClusterChoice,
    Comparisons,
    Engine,
    Fit,
    Progress,
    RankedRubric,
    RankSettings,
    SideEffect,
    fit_all,
    method,
    ranking,
    side_effect,
)

__all__ = [
    "Board", "BoardRow", "Difference", "Rankable", "Unranked", "board_json", "rank", "rank_able", "rankable",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """One entity in one rubric."""

    rubric: str
    entity: str
    elo: float
    """Elo points; CMOS points of the Massey engine."""
    low: float | None
    high: float | None
    rank_low: int | None
    """The best rank its interval allows."""
    rank_high: int | None
    """The worst rank its interval allows."""
    n_ratings: float
    n_raters: int | None
    """None where the file does not name raters."""
    n_prompts: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of two entities in one rubric, in the unit of the board."""

    rubric: str
    a: str
    b: str
    value: float
    low: float | None
    high: float | None
    separated: bool | None
    """Whether the interval excludes 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unranked:
    """A rubric that a board leaves out."""

    rubric: str
    reason: str
    """Why its ratings have no finite ranking."""
    note: str
    """The same as a line that stands alone: it names the rubric."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Board(ShownResult):
    """Rows sorted by rubric and rating, the fits behind them, and what could not be computed."""

    level: Level
    settings: RankSettings
    rows: tuple[BoardRow, ...]
    fits: tuple[Fit, ...]
    clusters: tuple[ClusterChoice, ...]
    """What the intervals of each fit are clustered by, and why; without clusters there are no intervals."""
    differences: tuple[Difference, ...]
    side: tuple[SideEffect, ...]
    notes: tuple[str, ...]
    """For a reader; what a program wants to know is in the other fields."""
    unranked: tuple[Unranked, ...] = ()

    @property
    def best_first(self) -> tuple[str, ...]:
        """The entities by the first rubric."""
        return tuple(row.entity for row in self.rows if row.rubric == self.rows[0].rubric)

    @property
    def method(self) -> str:
        """In words how it was made."""
        return method(self.settings, [choice.clusters for choice in self.clusters])

    def tables(self) -> list[Table]:
        """Return the tables that ``vaeval rank`` prints."""
        from vaeval_tasks.analysis.rank.board_tables import board_tables  # here: they are made from boards

        return board_tables(self)

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``vaeval rank --json`` prints."""
        return board_json(self)


def _whole(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _rows(ranked: RankedRubric) -> list[BoardRow]:
    found = ranked.standings
    rows = [
        BoardRow(
            rubric=found.fit.rubric,
            entity=entity,
            elo=found.ratings[i],
            low=found.intervals[i].low,
            high=found.intervals[i].high,
            rank_low=found.rank_low[i],
            rank_high=found.rank_high[i],
            n_ratings=_whole(found.coverage[i].n_ratings),
            n_raters=found.coverage[i].n_raters,
            n_prompts=found.coverage[i].n_prompts,
        )
        for i, entity in enumerate(found.fit.entities)
    ]
    return sorted(rows, key=lambda row: (-row.elo, row.entity))


def _differences(ranked: RankedRubric, pairs: Sequence[tuple[str, str]]) -> list[Difference]:
    fit = ranked.standings.fit
    shown = dict(zip(fit.entities, fit.ratings.tolist(), strict=True))
    out = []
    for a, b in pairs if ranked.source is not None else ():
        interval = ranked.difference(a, b)
        out.append(
            Difference(
                rubric=fit.rubric,
                a=a,
                b=b,
                value=shown[a] - shown[b],
                low=interval.low,
                high=interval.high,
                separated=interval.excludes(0) if interval.low is not None else None,
            )
        )
    return out


def _ranked_data(ratings: Ratings, level: Level, rubrics: Sequence[str]) -> Comparisons:
    """Return what is ranked.

    Raises:
        EstimationError: there is one entity only.
    """
    data = restrict(ratings.at(level), rubrics)
    if len(data.entities) < 2:
        raise EstimationError(
            f"there is one {level.value} only ({data.entities[0]!r}), so there is nothing to rank; try --by config"
        )
    return data


def rank(
    ratings: Ratings,
    *,
    level: Level,
    rubrics: Sequence[str],
    settings: RankSettings,
    pairs: Sequence[tuple[str, str]] = (),
    side: bool = False,
    progress: Progress | None = None,
) -> Board:
    """Rank the entities in each rubric.

    Args:
        ratings: the loaded ratings.
        level: what is ranked.
        rubrics: which rubrics, in this order.
        settings: engine, intervals, seed.
        pairs: entities whose difference is wanted.
        side: whether to look for an advantage of the side shown first.
        progress: told how many bootstrap replicates are done.

    Raises:
        EstimationError: there is one entity only, a rubric's entities are not all connected, or one is undefeated; see
            ``stats.fit``.
        UnknownNameError: a pair names an entity that there is not.
    """
    data = _ranked_data(ratings, level, rubrics)
    for name in {x for pair in pairs for x in pair}:
        data.entity_code(name)
    found = ranking(data, settings, progress=progress)
    return Board(
        level=level,
        settings=settings,
        rows=tuple(row for one in found.rubrics for row in _rows(one)),
        fits=found.fits,
        clusters=tuple(one.choice for one in found.rubrics),
        differences=tuple(d for one in found.rubrics for d in _differences(one, pairs)),
        side=tuple(_side(ratings, data, rubric) for rubric in rubrics) if side else (),
        notes=(*ratings.notes, *found.notes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rankable:
    """Which rubrics can be ranked, and with which others."""

    groups: tuple[tuple[str, ...], ...]
    """To be ranked together (one group, as a rule), so that they share entities and draws."""
    unranked: tuple[Unranked, ...]


def rankable(
    ratings: Ratings, level: Level, rubrics: Sequence[str], *, engine: Engine = Engine.ordinal, ridge: float = 0.0
) -> Rankable:
    """Fit all rubrics, and where that fails each alone, to tell which of them have a finite ranking.

    Args:
        ratings: the loaded ratings.
        level: what is ranked.
        rubrics: which rubrics; none may be given.
        engine: which model.
        ridge: as of the board.
    """

    def why_not(some: Sequence[str]) -> EstimationError | None:
        try:
            fit_all(_ranked_data(ratings, level, some), engine=engine, ridge=ridge)
        except EstimationError as error:
            return error
        return None

    if not rubrics or not why_not(rubrics):
        return Rankable(groups=(tuple(rubrics),) if rubrics else (), unranked=())
    errors = {rubric: why_not([rubric]) for rubric in rubrics}
    able = tuple(rubric for rubric, error in errors.items() if not error)
    # a rubric that lacks an entity of another can be ranked alone but not beside it
    groups = (able,) if able and not why_not(able) else tuple((rubric,) for rubric in able)
    left = tuple(
        Unranked(rubric=rubric, reason=error.reason, note=str(error)) for rubric, error in errors.items() if error
    )
    return Rankable(groups=groups, unranked=left)


def rank_able(
    ratings: Ratings,
    *,
    level: Level,
    rubrics: Sequence[str],
    settings: RankSettings,
    progress: Progress | None = None,
) -> Board:
    """Rank the rubrics that have a finite estimate; see :func:`rank`. The others are in ``unranked``, with a note each.

    Raises:
        EstimationError: no rubric has one.
    """
    able = rankable(ratings, level, rubrics, engine=settings.engine, ridge=settings.ridge)
    if not able.groups:
        raise EstimationError(able.unranked[0].note)
    boards = [rank(ratings, level=level, rubrics=group, settings=settings, progress=progress) for group in able.groups]
    return Board(
        level=level,
        settings=settings,
        rows=tuple(row for board in boards for row in board.rows),
        fits=tuple(fit for board in boards for fit in board.fits),
        clusters=tuple(choice for board in boards for choice in board.clusters),
        differences=(),
        side=(),
        notes=(
            *dict.fromkeys(note for board in boards for note in board.notes),
            *(one.note for one in able.unranked),
        ),
        unranked=able.unranked,
    )


def _side(ratings: Ratings, data: Comparisons, rubric: str) -> SideEffect:
    if ratings.side_note:
        return SideEffect(
            rubric=rubric,
            beta=None,
            se=None,
            likelihood_ratio=None,
            p_value=None,
            n_ratings=0,
            reason=ratings.side_note,
        )
    return side_effect(data, rubric)


def board_json(board: Board) -> dict[str, Any]:
    """Return the board as the object that ``vaeval rank --json`` prints."""
    fits = board.fits
    one = len(fits) == 1
    likelihood = {f.rubric: f.log_likelihood for f in fits}
    chosen = zip(fits, board.clusters, strict=True)
    clusters = {f.rubric: choice.clusters.value if choice.clusters else None for f, choice in chosen}
    thresholds = {f.rubric: list(f.thresholds) for f in fits}
    return {
        "rows": [
            {name: getattr(row, name) for name in BoardRow.__dataclass_fields__}  # the ten published keys, in order
            for row in board.rows
        ],
        "fit": {
            "method": board.method,
            "version": __version__,
            "engine": board.settings.engine.value,
            "ci": board.settings.ci.value,
            "clusters": clusters[fits[0].rubric] if one else clusters,
            "coverage": board.settings.coverage,
            "resamples": board.settings.resamples if board.settings.ci is Ci.bootstrap else None,
            "seed": board.settings.seed,
            "ridge": board.settings.ridge,
            "by": board.level.value,
            "unit": fits[0].unit.value,
            "anchor": "the mean of the shown entities is 1000"
            if board.settings.engine is not Engine.massey
            else "the mean of the shown entities is 0",
            "log_likelihood": likelihood[fits[0].rubric] if one else likelihood,
            "thresholds": thresholds[fits[0].rubric] if one else thresholds,
            "n_ratings": {f.rubric: _whole(f.n_ratings) for f in fits},
        },
        "differences": [
            {name: getattr(d, name) for name in Difference.__dataclass_fields__} for d in board.differences
        ],
        "side": [{name: getattr(s, name) for name in SideEffect.__dataclass_fields__} for s in board.side],
        "notes": list(board.notes),
    }
