"""Give tasks to raters: one at a time, as leases that end; no slot is given twice.

Every change is one transaction. Two rules of the database back the program's own: no two assignments hold the
same slot, and no rater holds a task twice or two leases. What loses such a race tries again.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.rules.policy import Heard, History, Offer, ranked
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.server_clock import MINUTE
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database
from vaeval_tasks.store.schema import AssignmentState, PairKind

__all__ = ["Lease", "claim", "expire", "history", "release", "work_left"]

CANDIDATES = 60
"""How many tasks are compared for a rater."""

_TRIES = 60
_RETRY = ("40001", "40P01")  # PostgreSQL: serialization failure, deadlock detected

_tasks, _assignments = store.tasks, store.assignments


class _Raced(Exception):
    """Other claims hold every task that suits at this moment; they will commit or let go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A task that a rater holds."""

    assignment_id: int
    token: str
    task_id: str
    new: bool
    """Whether it was given out now; False when the rater came back to it."""


def claim(database: Database, settings: Settings, rater_id: str, *, now: int) -> Lease | None:
    """Return the rater's live lease, or give out the task that suits best; None when none is left for them."""
    for attempt in range(_TRIES):
        try:
            with database.write() as connection:
                expire(connection, now)
                lease = _live(connection, settings, rater_id)
                return lease if lease is not None else _give(connection, settings, rater_id, now)
        except (sa.exc.IntegrityError, _Raced):
            pass  # another process was quicker: look again
        except sa.exc.OperationalError as error:
            if getattr(error.orig, "sqlstate", None) not in _RETRY:
                raise
        time.sleep(random.uniform(0, 0.01 * min(attempt + 1, 10)))  # noqa: S311 (jitter)
    raise RuntimeError(f"no task could be claimed in {_TRIES} tries although some seemed free")


def expire(connection: Connection, now: int) -> int:
    """End the leases that are over and free their slots; return how many. Drafts stay."""
    over = (_assignments.c.state == AssignmentState.leased, _assignments.c.lease_until <= now)
    ended = connection.execute(
        sa.update(_assignments)
        .where(*over)
        .values(state=AssignmentState.expired)
        .returning(_assignments.c.study, _assignments.c.task_id)
    ).all()
    for row in ended:
        _free(connection, row.study, row.task_id)
    return len(ended)


def release(connection: Connection, assignment_id: int, state: AssignmentState) -> None:
    """End one assignment that holds a slot as ``expired`` or ``withdrawn`` and free the slot."""
    holds = (
        _assignments.c.assignment_id == assignment_id,
        _assignments.c.state.in_([AssignmentState.leased, AssignmentState.done]),
    )
    row = connection.execute(
        sa.update(_assignments)
        .where(*holds)
        .values(state=state)
        .returning(_assignments.c.study, _assignments.c.task_id)
    ).first()
    if row is not None:
        _free(connection, row.study, row.task_id)


def history(connection: Connection, settings: Settings, rater_id: str) -> History:
    """Return what the rater holds or has done in the study, oldest first."""
    query = (
        sa.select(
            *(_tasks.c[name] for name in ("task_id", "prompt_id", "a", "b", "kind")),
            _assignments.c.left_is_a,
        )
        .join_from(
            _assignments,
            _tasks,
            sa.and_(_tasks.c.study == _assignments.c.study, _tasks.c.task_id == _assignments.c.task_id),
        )
        .where(
            _assignments.c.rater_id == rater_id,
            _assignments.c.study == settings.study,
            _assignments.c.state.in_([AssignmentState.leased, AssignmentState.done]),
        )
        .order_by(_assignments.c.assignment_id)
    )
    rows = connection.execute(query).mappings()
    return History(tuple(Heard(**{**row, "kind": PairKind(row["kind"])}) for row in rows))


def work_left(connection: Connection, settings: Settings) -> bool:
    """Whether a newcomer could be given a task now: nobody is admitted without one."""
    free = (_tasks.c.study == settings.study, _tasks.c.kind == PairKind.main, _tasks.c.taken < _tasks.c.slots)
    return bool(connection.execute(sa.select(sa.exists().where(*free))).scalar_one())


def _free(connection: Connection, study: str, task_id: str) -> None:
    where = (_tasks.c.study == study, _tasks.c.task_id == task_id)
    connection.execute(sa.update(_tasks).where(*where).values(taken=_tasks.c.taken - 1))


def _live(connection: Connection, settings: Settings, rater_id: str) -> Lease | None:
    row = connection.execute(
        sa.select(_assignments.c.assignment_id, _assignments.c.token, _assignments.c.task_id).where(
            _assignments.c.rater_id == rater_id,
            _assignments.c.study == settings.study,
            _assignments.c.state == AssignmentState.leased,
        )
    ).first()
    return None if row is None else Lease(**row._mapping, new=False)


def _give(connection: Connection, settings: Settings, rater_id: str, now: int) -> Lease | None:
    """Choose the kind that is due and give out its best task."""
    past = history(connection, settings, rater_id)
    if (training := _open_task(connection, settings, rater_id, [PairKind.train])) is not None:
        return _insert(connection, settings, rater_id, training, now)
    if settings.tasks_per_rater is not None and past.count() >= settings.tasks_per_rater:
        return None
    if past.since_check() >= settings.check_every - 1:
        check = _open_task(connection, settings, rater_id, [PairKind.trap, PairKind.gold])
        if check is not None:
            return _insert(connection, settings, rater_id, check, now)
    repeat = _repeat(connection, settings, rater_id, past)
    if repeat is not None:
        return _insert(connection, settings, rater_id, repeat[0], now, left_is_a=repeat[1])
    for level in _levels(connection, settings):
        offers = _offers(connection, settings, rater_id, level)
        for offer in ranked(offers, past):
            row = _lock(connection, settings, offer.task_id, level)
            if row is not None:
                return _insert(connection, settings, rater_id, row, now)
        if offers:
            raise _Raced
    return None


def _unseen(settings: Settings, rater_id: str) -> sa.ColumnElement[bool]:
    """Leave out what the rater holds, has done, or gave back; an expired lease may be offered again."""
    mine = sa.select(_assignments.c.task_id).where(
        _assignments.c.rater_id == rater_id,
        _assignments.c.study == settings.study,
        _assignments.c.state != AssignmentState.expired,
    )
    return _tasks.c.task_id.not_in(mine)


def _open_task(
    connection: Connection, settings: Settings, rater_id: str, kinds: Sequence[PairKind]
) -> sa.Row[Any] | None:
    """Return a task that every rater may be given (training, traps, gold), least used first, training in order."""
    order = (_tasks.c.shuffle,) if PairKind.train in kinds else (_tasks.c.taken, _tasks.c.shuffle)
    query = (
        sa.select(_tasks)
        .where(_tasks.c.study == settings.study, _tasks.c.kind.in_(kinds), _unseen(settings, rater_id))
        .order_by(*order)
        .limit(1)
    )
    # the row is locked (PostgreSQL) so that two raters do not both take the next slot number
    return connection.execute(query.with_for_update()).first()


def _repeat(
    connection: Connection, settings: Settings, rater_id: str, past: History
) -> tuple[sa.Row[Any], bool] | None:
    """Return a free repeat of a pair this rater did long enough ago, and the side: the other one."""
    due = past.repeatable(settings.repeat_gap)
    if not due:
        return None
    query = (
        sa.select(_tasks)
        .where(
            _tasks.c.study == settings.study,
            _tasks.c.kind == PairKind.repeat,
            _tasks.c.taken < _tasks.c.slots,
            _tasks.c.prompt_id.in_(sorted({prompt_id for prompt_id, _, _ in due})),
            _unseen(settings, rater_id),
        )
        .order_by(_tasks.c.shuffle)
        .with_for_update(skip_locked=True)
    )
    for row in connection.execute(query):
        first = due.get((row.prompt_id, row.a, row.b))
        if first is not None:
            return row, not first.left_is_a
    return None


def _levels(connection: Connection, settings: Settings) -> list[int]:
    """Return how often main tasks with a free slot are taken, least first: pass 1 ends before pass 2 begins."""
    free = (_tasks.c.study == settings.study, _tasks.c.kind == PairKind.main, _tasks.c.taken < _tasks.c.slots)
    return list(
        connection.execute(sa.select(_tasks.c.taken).where(*free).distinct().order_by(_tasks.c.taken)).scalars()
    )


def _offers(connection: Connection, settings: Settings, rater_id: str, level: int) -> list[Offer]:
    columns = ("task_id", "prompt_id", "a", "b", "left_is_a")
    query = (
        sa.select(*(_tasks.c[name] for name in columns))
        .where(
            _tasks.c.study == settings.study,
            _tasks.c.kind == PairKind.main,
            _tasks.c.taken == level,
            _tasks.c.taken < _tasks.c.slots,
            _unseen(settings, rater_id),
        )
        .order_by(_tasks.c.shuffle)
        .limit(CANDIDATES)
    )
    rows = connection.execute(query).mappings()
    # the next slot shows the mirror image of the one before
    return [Offer(**{**row, "left_is_a": row["left_is_a"] ^ bool(level % 2)}) for row in rows]


def _lock(connection: Connection, settings: Settings, task_id: str, level: int) -> sa.Row[Any] | None:
    """Lock one task (PostgreSQL) if nobody else has it locked and it is still as free as it was."""
    where = (_tasks.c.study == settings.study, _tasks.c.task_id == task_id, _tasks.c.taken == level)
    return connection.execute(sa.select(_tasks).where(*where).with_for_update(skip_locked=True)).first()


def _insert(
    connection: Connection,
    settings: Settings,
    rater_id: str,
    task: sa.Row[Any],
    now: int,
    *,
    left_is_a: bool | None = None,
) -> Lease:
    where = (_assignments.c.study == settings.study, _assignments.c.task_id == task.task_id)
    holds = _assignments.c.state.in_([AssignmentState.leased, AssignmentState.done])
    used = set(connection.execute(sa.select(_assignments.c.slot).where(*where, holds)).scalars())
    slot = next(n for n in range(len(used) + 1) if n not in used)
    left = task.left_is_a ^ bool(slot % 2) if left_is_a is None else left_is_a
    values = {
        "token": secrets.token_urlsafe(32),
        "study": settings.study,
        "task_id": task.task_id,
        "kind": task.kind,
        "rater_id": rater_id,
        "slot": slot,
        "left_is_a": left if task.b is not None else True,
        "state": AssignmentState.leased,
        "lease_until": now + settings.lease * MINUTE,
        "started": now,
    }
    added = sa.insert(_assignments).values(values).returning(_assignments.c.assignment_id)
    assignment_id = connection.execute(added).scalar_one()
    connection.execute(
        sa.update(_tasks)
        .where(_tasks.c.study == settings.study, _tasks.c.task_id == task.task_id)
        .values(taken=_tasks.c.taken + 1)
    )
    _link_clips(connection, assignment_id, task, left=values["left_is_a"])
    return Lease(assignment_id=assignment_id, token=str(values["token"]), task_id=task.task_id, new=True)


def _link_clips(connection: Connection, assignment_id: int, task: sa.Row[Any], *, left: bool) -> None:
    """Give the assignment's clips addresses of their own, which say nothing about what they are."""
    clips = store.clips
    sides = [task.a] if task.b is None else [task.a, task.b] if left else [task.b, task.a]
    parts = dict(zip(("prompt", "left", "right"), ["", *sides], strict=False))
    found = connection.execute(
        sa.select(clips.c.config_id, clips.c.clip_id).where(
            clips.c.prompt_id == task.prompt_id, clips.c.config_id.in_(list(parts.values()))
        )
    ).all()
    ids = {row.config_id: row.clip_id for row in found}
    rows = [
        {
            "link": secrets.token_urlsafe(16),
            "assignment_id": assignment_id,
            "part": part,
            "clip_id": ids[config_id],
        }
        for part, config_id in parts.items()
    ]
    connection.execute(sa.insert(store.clip_links), rows)
