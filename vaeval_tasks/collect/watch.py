"""What an operator watches while a study runs: coverage, live leases, checks, speed and variance of raters."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.server_clock import MINUTE
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.store.schema import AssignmentState, CheckOutcome, PairKind, StudyKind

__all__ = [
    "ALARM",
    "AnswerCounts",
    "CheckRate",
    "LiveLease",
    "Pace",
    "check_rates",
    "coverage",
    "live_leases",
    "newest_comments",
    "paces",
]

ALARM = 0.9
"""A pass rate below this raises an alarm."""

_HOUR = 60 * MINUTE
_tasks, _assignments = store.tasks, store.assignments


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCounts:
    """How many answers each pair of configurations has (CMOS), or each configuration (MOS, on the diagonal)."""

    configs: tuple[str, ...]
    done: tuple[tuple[int, ...], ...]
    """Symmetric, of shape (configs, configs)."""
    wanted: int
    total: int

    @property
    def most(self) -> int:
        """The largest count."""
        return max((n for row in self.done for n in row), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLease:
    """One task that a rater holds now."""

    rater_id: str
    task_id: str
    stage: int
    minutes_held: float
    minutes_left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRate:
    """The outcomes of one check in one hour."""

    name: str
    hour: int
    """The start of the hour, ms."""
    passed: int
    failed: int
    unknown: int

    @property
    def rate(self) -> float:
        """The share that passed; a checker that did not answer counts as not passed, so that an outage shows."""
        return self.passed / (self.passed + self.failed + self.unknown)

    @property
    def alarm(self) -> bool:
        """Whether somebody should look."""
        return self.rate < ALARM


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How one rater works: speed, spread and sides. It is shown, never used to drop anybody by itself."""

    rater_id: str
    done: int
    median_seconds: float
    """From taking to submitting a task, s."""
    spread: float
    """The standard deviation of the steps clicked."""
    middle_share: float
    """The share of answers at the middle step."""
    left_share: float
    """The share of answers left of the middle, among those off the middle."""


def _task_join() -> sa.ColumnElement[bool]:
    return sa.and_(_tasks.c.study == _assignments.c.study, _tasks.c.task_id == _assignments.c.task_id)


def coverage(connection: Connection, settings: Settings) -> AnswerCounts:
    """Return the coverage of main tasks."""
    main = (_tasks.c.study == settings.study, _tasks.c.kind == PairKind.main)
    query = (
        sa.select(_tasks.c.a, _tasks.c.b, sa.func.count().label("n"))
        .join_from(_assignments, _tasks, _task_join())
        .where(*main, _assignments.c.state == AssignmentState.done)
        .group_by(_tasks.c.a, _tasks.c.b)
    )
    names = {
        name
        for column in (_tasks.c.a, _tasks.c.b)
        for name in connection.execute(sa.select(column).where(*main).distinct()).scalars()
        if name is not None
    }
    configs = tuple(sorted(names))
    place = {name: n for n, name in enumerate(configs)}
    counts = np.zeros((len(configs), len(configs)), dtype=int)
    for row in connection.execute(query):
        i, j = place[row.a], place[row.b if row.b is not None else row.a]
        counts[i, j] += row.n
        if i != j:
            counts[j, i] += row.n
    wanted = connection.execute(sa.select(sa.func.coalesce(sa.func.sum(_tasks.c.slots), 0)).where(*main)).scalar_one()
    total = connection.execute(
        sa.select(sa.func.count()).where(
            _assignments.c.study == settings.study,
            _assignments.c.kind == PairKind.main,
            _assignments.c.state == AssignmentState.done,
        )
    ).scalar_one()
    return AnswerCounts(
        configs=configs, done=tuple(tuple(int(n) for n in row) for row in counts), wanted=int(wanted), total=int(total)
    )


def live_leases(connection: Connection, settings: Settings, *, now: int) -> list[LiveLease]:
    """Return the tasks held now, the one that ends first at the top."""
    query = (
        sa.select(_assignments)
        .where(_assignments.c.study == settings.study, _assignments.c.state == AssignmentState.leased)
        .order_by(_assignments.c.lease_until)
    )
    return [
        LiveLease(
            rater_id=row.rater_id,
            task_id=row.task_id,
            stage=row.stage,
            minutes_held=(now - row.started) / MINUTE,
            minutes_left=(row.lease_until - now) / MINUTE,
        )
        for row in connection.execute(query)
    ]


def check_rates(connection: Connection, settings: Settings, *, now: int, hours: int = 24) -> list[CheckRate]:
    """Return the outcomes of the checks of the last hours, newest first."""
    table = store.checks
    query = sa.select(table.c.name, table.c.made, table.c.outcome).where(
        table.c.study == settings.study, table.c.made > now - hours * _HOUR
    )
    counts: dict[tuple[int, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(CheckOutcome, 0))
    for row in connection.execute(query):
        counts[row.made // _HOUR * _HOUR, row.name][row.outcome] += 1
    return [
        CheckRate(
            name=name,
            hour=hour,
            passed=n[CheckOutcome.passed],
            failed=n[CheckOutcome.failed],
            unknown=n[CheckOutcome.unknown],
        )
        for (hour, name), n in sorted(counts.items(), reverse=True)
    ]


def paces(connection: Connection, settings: Settings) -> list[Pace]:
    """Return how each rater works, the quickest first; training does not count."""
    where = (
        _assignments.c.study == settings.study,
        _assignments.c.state == AssignmentState.done,
        _assignments.c.kind != PairKind.train,
    )
    seconds: dict[str, list[float]] = defaultdict(list)
    spans = sa.select(_assignments.c.rater_id, _assignments.c.started, _assignments.c.finished).where(*where)
    for row in connection.execute(spans):
        seconds[row.rater_id].append((row.finished - row.started) / 1000)
    steps: dict[str, list[int]] = defaultdict(list)
    clicks = (
        sa.select(_assignments.c.rater_id, store.ratings.c.position)
        .join_from(store.ratings, _assignments, store.ratings.c.assignment_id == _assignments.c.assignment_id)
        .where(*where)
    )
    for click in connection.execute(clicks):
        steps[click.rater_id].append(click.position)
    middle = 3 if settings.study is StudyKind.cmos else 2
    found = [_pace(rater_id, times, np.array(steps[rater_id]), middle) for rater_id, times in seconds.items()]
    return sorted(found, key=lambda p: (p.median_seconds, p.rater_id))


def _pace(rater_id: str, times: list[float], clicked: np.ndarray, middle: int) -> Pace:
    off = clicked[clicked != middle]
    return Pace(
        rater_id=rater_id,
        done=len(times),
        median_seconds=float(np.median(times)),
        spread=float(clicked.std()),
        middle_share=float(np.mean(clicked == middle)),
        left_share=float(np.mean(off < middle)) if len(off) else 0.5,
    )


def newest_comments(connection: Connection, settings: Settings, *, limit: int = 20) -> list[str]:
    """Return the latest free texts, newest first."""
    query = (
        sa.select(store.comments.c.text)
        .join_from(store.comments, _assignments, store.comments.c.assignment_id == _assignments.c.assignment_id)
        .where(_assignments.c.study == settings.study)
        .order_by(store.comments.c.assignment_id.desc())
        .limit(limit)
    )
    return list(connection.execute(query).scalars())
