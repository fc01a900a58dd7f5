"""A judge's ratings beside people's: agreement by rubric, position bias, and two boards side by side.

The two are never pooled: each is fitted on its own, and a judge is compared with people as a metric would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, load_ratings, restrict
from vaeval_tasks.analysis.load.source import Duplicates, Source
from vaeval_tasks.analysis.predict.pairs import Accuracy, Choices, accuracies, accuracy_ceiling, choices
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import Comparisons, Draws, Interval, RankSettings, Standings, ranking, side_effect, spearman

__all__ = [
    "AGREEMENT_NOTE",
    "AGREEMENT_TITLE",
    "BOARDS_NOTE",
    "BOARDS_TITLE",
    "Bias",
    "JudgeBesidePeople",
    "JudgeView",
    "JudgedElo",
    "elos_beside",
    "judge_tables",
    "judge_views",
    "load_judged",
]

AGREEMENT_TITLE = "A judge model beside people: agreement and position bias"
AGREEMENT_NOTE = (
    "accuracy: how often the judge, over both orders, picks what a rater picked, ties aside; lean to the "
    "first: CMOS points that being heard first adds; flips: share of pairs whose verdict follows the order"
)
BOARDS_TITLE = "Elo by a judge model beside people's; each fitted on its own"
BOARDS_NOTE = "a judge is one rater: its intervals draw prompts; people's draw both as far as there are two"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bias:
    """How much a judge leans to the response that it hears first."""

    first_margin: float | None
    """Mean score towards the first, CMOS points, over pairs judged in both orders; 0 without bias."""
    flips: float | None
    """Share of those pairs on which the verdict changes sides with the order."""
    n_pairs: int
    """Pairs judged in both orders."""
    beta: float | None
    """Log odds in favour of the first, from the ordinal model."""
    se: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeView:
    """One judge against people on one rubric."""

    judge: str
    rubric: str
    bias: Bias
    accuracy: Accuracy
    """How often the judge's mean over both orders picks what a rater picked, ties aside."""
    accuracy_ceiling: float | None
    n_ratings: int
    spearman: float | None
    """Of the two boards' Elo."""
    board: Standings | None
    people: Standings | None
    reason: str = ""
    """Why there is no board, of the judge or of people."""


def load_judged(source: Source) -> Ratings:
    """Return the judges' ratings of a run, both orders; the raters are the judges.

    Raises:
        InputError: the run has none.
    """
    return load_ratings(replace(source, duplicates=Duplicates.keep, rater_kind=""), table="judge_ratings")


def _pair_key(prompt: NDArray[Any], a: NDArray[Any], b: NDArray[Any], n: int) -> NDArray[np.int64]:
    return np.asarray((prompt * n + a) * n + b, dtype=np.int64)


def _bias(data: Comparisons, rubric: str) -> Bias:
    one = data.only(rubric)
    key, pair = np.unique(_pair_key(one.prompt, one.a, one.b, len(one.entities)), return_inverse=True)
    n = len(key)
    first, second = one.side > 0, one.side < 0
    counts = [np.bincount(pair[side], minlength=n) for side in (first, second)]
    both = (counts[0] > 0) & (counts[1] > 0)
    effect = side_effect(data, rubric)
    bias = Bias(
        first_margin=None, flips=None, n_pairs=int(both.sum()), beta=effect.beta, se=effect.se, reason=effect.reason
    )
    if not both.any():
        return bias
    means = [
        np.bincount(pair[side], one.score[side], n)[both] / count[both]
        for side, count in zip((first, second), counts, strict=True)
    ]
    # scores are signed for a: with a first a lean adds to them, with b first it is taken off
    margin = float(np.mean(means[0] - means[1]) / 2)
    return replace(bias, first_margin=margin, flips=float(np.mean(means[0] * means[1] < 0)))


def _gaps(people: Ratings, chosen: Choices, judged: Ratings, rubric: str) -> Floats:
    """Return the judge's mean score per choice of people, NaN where it did not judge the pair."""
    one = judged.data.only(rubric)
    total: dict[tuple[str, str, str], list[float]] = {}
    for p, a, b, score in zip(one.prompt, one.a, one.b, one.score, strict=True):
        total.setdefault((judged.prompts[p], one.entities[a], one.entities[b]), []).append(float(score))
    mean = {key: sum(values) / len(values) for key, values in total.items()}
    names = people.data.entities
    return np.array(
        [
            mean.get((people.prompts[p], names[a], names[b]), np.nan)
            for p, a, b in zip(chosen.prompt, chosen.a, chosen.b, strict=True)
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Board:
    """The standings by one kind of rater, or why there are none."""

    standings: Standings | None = None
    reason: str = ""


def _board(ratings: Ratings, rubric: str, level: Level, draws: Draws) -> _Board:
    if rubric not in ratings.data.rubrics:
        return _Board(reason="people were not asked this")
    settings = RankSettings(resamples=draws.replicates, seed=draws.seed)
    try:
        found = ranking(restrict(ratings.at(level), [rubric]), settings)
    except EstimationError as error:
        return _Board(reason=str(error))
    return _Board(standings=found.rubrics[0].standings)


def _rho(first: Standings | None, second: Standings | None) -> float | None:
    if first is None or second is None:
        return None
    shown = [e for e in first.fit.entities if e in second.fit.entities]
    x = [first.ratings[first.fit.entities.index(e)] for e in shown]
    y = [second.ratings[second.fit.entities.index(e)] for e in shown]
    return spearman(x, y) if shown else None


def _view(judge: str, rubric: str, people: Ratings, judged: Ratings, level: Level, draws: Draws) -> JudgeView:
    board = _board(judged, rubric, level, draws)
    ours = _board(people, rubric, level, draws)
    accuracy = Accuracy(value=None, low=None, high=None, n=0, unscored=0, reason=ours.reason)
    ceiling = None
    if rubric in people.data.rubrics:
        chosen = choices(people.data, rubric)
        accuracy = accuracies(chosen, [_gaps(people, chosen, judged, rubric)], draws)[0]
        ceiling = accuracy_ceiling(chosen)
    return JudgeView(
        judge=judge,
        rubric=rubric,
        bias=_bias(judged.data, rubric),
        accuracy=accuracy,
        accuracy_ceiling=ceiling,
        n_ratings=int(judged.data.only(rubric).weight.sum()),
        spearman=_rho(board.standings, ours.standings),
        board=board.standings,
        people=ours.standings,
        reason="; ".join(reason for reason in (board.reason, ours.reason) if reason),
    )


def judge_views(
    people: Ratings, judged: Ratings, rubrics: Sequence[str], level: Level, draws: Draws
) -> list[JudgeView]:
    """Set each judge beside people, rubric by rubric.

    The judge's intervals come from drawing prompts (it is one rater); people's from raters and prompts as a rule: the
    clusters are those that each board's data have.

    Args:
        people: their ratings.
        judged: the judges' ratings, see :func:`load_judged`.
        rubrics: those wanted; a judge that was not asked one is left out there.
        level: of the boards.
        draws: the bootstrap plan.
    """
    out = []
    for code, judge in enumerate(judged.raters):
        mine = judged.subset(judged.data.rater == code)
        present = {mine.data.rubrics[i] for i in np.unique(mine.data.rubric)}
        out += [_view(judge, r, people, mine, level, draws) for r in rubrics if r in present]
    return out


def _agreement_row(view: JudgeView) -> dict[str, Any]:
    return {
        "judge": view.judge,
        "rubric": view.rubric,
        "accuracy": view.accuracy.value,
        "accuracy_low": view.accuracy.low,
        "accuracy_high": view.accuracy.high,
        "accuracy_ceiling": view.accuracy_ceiling,
        "n_choices": view.accuracy.n,
        "spearman": view.spearman,
        "first_margin": view.bias.first_margin,
        "flips": view.bias.flips,
        "beta": view.bias.beta,
        "beta_se": view.bias.se,
        "n_pairs": view.bias.n_pairs,
        "n_ratings": view.n_ratings,
        "reason": "; ".join(dict.fromkeys(r for r in (view.accuracy.reason, view.bias.reason, view.reason) if r)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedElo:
    """An entity's Elo by one kind of rater."""

    elo: float
    interval: Interval
    n_ratings: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBesidePeople:
    """One entity on one rubric: its Elo by a judge and by people, None where one of them has no board of it."""

    judge: str
    rubric: str
    entity: str
    by_judge: JudgedElo | None
    by_people: JudgedElo | None


def _place(board: Standings | None, entity: str) -> JudgedElo | None:
    if board is None or entity not in board.fit.entities:
        return None
    at = board.fit.entities.index(entity)
    n = board.coverage[at].n_ratings
    return JudgedElo(elo=float(board.ratings[at]), interval=board.intervals[at], n_ratings=n)


def elos_beside(view: JudgeView) -> list[JudgeBesidePeople]:
    """Return every entity's Elo by a judge and by people, in the order of people."""
    shown = [e for side in (view.board, view.people) if side is not None for e in side.fit.entities]
    rows = [
        JudgeBesidePeople(
            judge=view.judge,
            rubric=view.rubric,
            entity=entity,
            by_judge=_place(view.board, entity),
            by_people=_place(view.people, entity),
        )
        for entity in dict.fromkeys(shown)
    ]
    return sorted(rows, key=lambda row: -(row.by_people.elo if row.by_people else 0.0))


def _elo_row(row: JudgeBesidePeople) -> dict[str, Any]:
    out: dict[str, Any] = {"judge": row.judge, "rubric": row.rubric, "entity": row.entity}
    for name, placed in (("judge", row.by_judge), ("people", row.by_people)):
        out[f"{name}_elo"] = placed.elo if placed else None
        out[f"{name}_low"] = placed.interval.low if placed else None
        out[f"{name}_high"] = placed.interval.high if placed else None
        out[f"{name}_n"] = placed.n_ratings if placed else None
    return out


def judge_tables(views: Sequence[JudgeView]) -> list[Table]:
    """Return the agreement and bias of every judge and rubric, and both boards."""
    agreement = [_agreement_row(view) for view in views]
    boards = [_elo_row(row) for view in views for row in elos_beside(view)]
    if not agreement:
        return []
    return [
        Table(
            name="judge",
            title=AGREEMENT_TITLE,
            columns=tuple(agreement[0]),
            rows=tuple(agreement),
            digits=dict.fromkeys(("spearman", "first_margin", "flips", "beta", "beta_se"), 2),
            notes=(AGREEMENT_NOTE,),
        ),
        Table(
            name="judge_board",
            title=BOARDS_TITLE,
            columns=tuple(boards[0]),
            rows=tuple(boards),
            digits=dict.fromkeys([f"{s}_{n}" for s in ("judge", "people") for n in ("elo", "low", "high")], 0)
            | {"judge_n": 0, "people_n": 0},
            notes=(BOARDS_NOTE,),
        ),
    ]
