"""Where a rater is on the way through a study, and the steps that end it."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

from vaeval_tasks.collect.people.identity import Known, mark
from vaeval_tasks.collect.rules.alloc import Lease, claim, history, release, work_left
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database
from vaeval_tasks.store.schema import AssignmentState, PairKind

__all__ = ["Step", "next_task", "step", "withdraw"]


class Step(StrEnum):
    """The steps of a rater; each value is the path of its page."""

    consent = "/consent"
    about_you = "/about-you"
    sound_check = "/sound-check"
    task = "/task"
    done = "/done"
    withdrawn = "/withdrawn"


def step(known: Known) -> Step:
    """Return the step a rater is at."""
    if known.withdrawn is not None:
        return Step.withdrawn
    if known.finished is not None:
        return Step.done
    for time, at in (
        (known.consented, Step.consent),
        (known.demographics, Step.about_you),
        (known.sound, Step.sound_check),
    ):
        if time is None:
            return at
    return Step.task


def next_task(database: Database, settings: Settings, rater_id: str, *, now: int) -> Lease | None:
    """Return the rater's task. Where none is left, note that the rater has finished, and return None.

    A rater who was never given anything but training has not finished: the study is full.
    """
    lease = claim(database, settings, rater_id, now=now)
    if lease is None:
        with database.write() as connection:
            if history(connection, settings, rater_id).count() > 0:
                mark(connection, settings.study, rater_id, "finished", now=now)
    return lease


def admits(database: Database, settings: Settings) -> bool:
    """Whether a newcomer would be given a task."""
    with database.read() as connection:
        return work_left(connection, settings)


def withdraw(database: Database, settings: Settings, rater_id: str, *, now: int) -> None:
    """Take a rater out of the study: their slots open again, what they answered stays, marked as withdrawn."""
    table = store.assignments
    mine = (table.c.rater_id == rater_id, table.c.study == settings.study)
    with database.write() as connection:
        held = connection.execute(sa.select(table.c.assignment_id).where(*mine)).scalars().all()
        for assignment_id in held:
            release(connection, assignment_id, AssignmentState.withdrawn)
        mark(connection, settings.study, rater_id, "withdrawn", now=now)


def tasks_done(database: Database, settings: Settings, rater_id: str) -> int:
    """Return how many tasks a rater has submitted, training not counted."""
    table = store.assignments
    where = (
        table.c.rater_id == rater_id,
        table.c.study == settings.study,
        table.c.state == AssignmentState.done,
        table.c.kind != PairKind.train,
    )
    with database.read() as connection:
        return int(connection.execute(sa.select(sa.func.count()).where(*where)).scalar_one())
