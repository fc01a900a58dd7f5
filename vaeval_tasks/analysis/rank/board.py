"""The board: every entity's rating per rubric, with its interval and the ranks it may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from vaeval_tasks import __version__
from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import (
    Clusters,
    Comparisons,
    Covariance,
    Draws,
    Engine,
    Fit,
    Interval,
    Progress,
    Resamples,
    SideEffect,
    Standings,
    bootstrap,
    difference,
    fit_all,
    sandwich,
    side_effect,
    standings,
)

__all__ = ["Board", "Ci", "Difference", "Row", "Settings", "board_json", "method", "rank"]


class Ci(StrEnum):
    """How intervals are made. Coverage was measured; see the README."""

    bootstrap = "bootstrap"
    """Raters and prompts drawn with replacement (as published; wider than nominal)."""
    sandwich = "sandwich"
    """Two-way clustered covariance (nominal)."""
    iid = "iid"
    """Every session on its own (too narrow where raters or prompts differ)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a board is made."""

    engine: Engine = Engine.ordinal
    ci: Ci = Ci.bootstrap
    resamples: int = 1000
    seed: int = 0
    ridge: float = 0.0
    coverage: float = 0.95
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
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
class Board:
    """Rows sorted by rubric and rating, the fits behind them, and what could not be computed."""

    level: Level
    settings: Settings
    rows: tuple[Row, ...]
    fits: tuple[Fit, ...]
    differences: tuple[Difference, ...]
    side: tuple[SideEffect, ...]
    notes: tuple[str, ...]


def _no_intervals(ratings: Ratings, data: Comparisons, ci: Ci) -> str:
    """Return why there can be no interval, empty if there can."""
    if ci is Ci.iid:
        return ""
    if not ratings.has_raters or not ratings.has_prompts:
        return "no intervals: the file names no raters or prompts; --ci iid takes ratings as independent"
    if data.n_raters < 2:
        return "no intervals: there is one rater, so nothing tells how raters differ"
    if data.n_prompts < 2:
        return "no intervals: there is one prompt, so nothing tells how prompts differ"
    return ""


def _covariance(ratings: Ratings, data: Comparisons, fit: Fit, ci: Ci) -> Covariance:
    if ci is Ci.sandwich:
        return sandwich(data, fit)
    if ratings.has_raters:
        return sandwich(data, fit, clusters=Clusters.none)
    # a table of counts: without sessions the model's own covariance is all there is
    one = data.only(fit.rubric)
    degrees = max(fit.n_ratings - 1, 1)
    return Covariance(fit=fit, data=one, clusters=Clusters.none, matrix=fit.covariance, degrees=degrees)


def _whole(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _rows(ratings: Ratings, found: Standings, with_intervals: bool) -> list[Row]:
    rows = []
    for i, entity in enumerate(found.fit.entities):
        interval = found.intervals[i] if with_intervals else None
        rows.append(
            Row(
                rubric=found.fit.rubric,
                entity=entity,
                elo=float(found.ratings[i]),
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                rank_low=found.rank_low[i] if interval else None,
                rank_high=found.rank_high[i] if interval else None,
                n_ratings=_whole(found.coverage[i].n_ratings),
                n_raters=found.coverage[i].n_raters if ratings.has_raters else None,
                n_prompts=found.coverage[i].n_prompts if ratings.has_prompts else None,
            )
        )
    return sorted(rows, key=lambda row: (-row.elo, row.entity))


def _differences(source: Resamples | Covariance, fit: Fit, pairs: Sequence[tuple[str, str]]) -> list[Difference]:
    shown = dict(zip(fit.entities, fit.ratings.tolist(), strict=True))
    out = []
    for a, b in pairs:
        interval: Interval = difference(source, fit.rubric, a, b)
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


def rank(
    ratings: Ratings,
    *,
    level: Level,
    rubrics: Sequence[str],
    settings: Settings,
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
    data = restrict(ratings.at(level), rubrics)
    for name in {x for pair in pairs for x in pair}:
        data.entity_code(name)
    if len(data.entities) < 2:
        raise EstimationError(
            f"there is one {level.value} only ({data.entities[0]!r}), so there is nothing to rank; try --by config"
        )
    fits = fit_all(data, engine=settings.engine, ridge=settings.ridge)
    reason = _no_intervals(ratings, data, settings.ci)
    resamples: Resamples | None = None
    if settings.ci is Ci.bootstrap and not reason:
        plan = Draws(replicates=settings.resamples, seed=settings.seed)
        resamples = bootstrap(
            data, plan, engine=settings.engine, fits=fits, threads=settings.threads, progress=progress
        )
    rows: list[Row] = []
    differences: list[Difference] = []
    notes = [reason] if reason else []
    for fit in fits:
        source = resamples or _covariance(ratings, data, fit, Ci.iid if reason else settings.ci)
        found = standings(source, fit.rubric, level=settings.coverage)
        rows += _rows(ratings, found, with_intervals=not reason)
        differences += _differences(source, fit, pairs) if not reason else []
        notes += _replicate_notes(found, fit, settings.resamples)
    return Board(
        level=level,
        settings=settings,
        rows=tuple(rows),
        fits=fits,
        differences=tuple(differences),
        side=tuple(_side(ratings, data, rubric) for rubric in rubrics) if side else (),
        notes=tuple(notes),
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


def _replicate_notes(found: Standings, fit: Fit, replicates: int) -> list[str]:
    out = []
    if found.ridged:
        out.append(f"{fit.rubric}: {found.ridged} of {replicates} replicates had no finite fit; a small ridge stood in")
    if found.absent:
        out.append(f"{fit.rubric}: {found.absent} of {replicates} replicates lacked an entity and were left out")
    reasons = {i.reason for i in found.intervals if i.reason}
    return out + [f"{fit.rubric}: {reason}" for reason in sorted(reasons)]


def board_json(board: Board) -> dict[str, Any]:
    """Return the board as the object that ``vaeval rank --json`` prints."""
    fits = board.fits
    one = len(fits) == 1
    likelihood = {f.rubric: f.log_likelihood for f in fits}
    thresholds = {f.rubric: list(f.thresholds) for f in fits}
    return {
        "rows": [
            {name: getattr(row, name) for name in Row.__dataclass_fields__}  # the ten published keys, in order
            for row in board.rows
        ],
        "fit": {
            "method": method(board.settings),
            "version": __version__,
            "engine": board.settings.engine.value,
            "ci": board.settings.ci.value,
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


def method(settings: Settings) -> str:
    """Return in words how a board was made."""
    engines = {
        Engine.ordinal: "ordinal Bradley-Terry, cumulative logit, symmetric thresholds",
        Engine.bradley_terry: "Bradley-Terry on partial margins",
        Engine.massey: "Massey least squares on the scores",
    }
    ways = {
        Ci.bootstrap: f"rater-and-prompt product bootstrap, {settings.resamples} resamples, percentiles",
        Ci.sandwich: "two-way clustered sandwich (raters, prompts)",
        Ci.iid: "sandwich on sessions taken as independent",
    }
    return f"{engines[settings.engine]}; {ways[settings.ci]}"
