"""What was collected, as plain records: each assignment with its answers, in one reading of the database."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.store.schema import AssignmentState, CheckOutcome, PairKind, StudyKind

__all__ = ["Answered", "CheckFact", "Work", "read_checks", "read_work"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer to one question."""

    rubric: str
    score: int
    """After corrections: the last revision counts."""
    position: int
    """The step that was clicked, 0 the leftmost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One assignment. Times are ms since 1970 by the server's clock, None where it did not come to that."""

    assignment_id: int
    study: StudyKind
    task_id: str
    prompt_id: str
    a: str
    b: str | None
    """None in a MOS study."""
    kind: PairKind
    rater_id: str
    slot: int
    left_is_a: bool
    state: AssignmentState
    started: int
    listened: int | None
    finished: int | None
    answers: tuple[Answered, ...] = ()
    """In the order asked; empty unless the task was submitted."""
    comment: str = ""

    @property
    def answering_s(self) -> float | None:
        """Seconds from the opening of the questions to the submit."""
        if self.listened is None or self.finished is None:
            return None
        return (self.finished - self.listened) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFact:
    """The newest outcome of one check of one rater."""

    rater_id: str
    study: StudyKind
    name: str
    outcome: CheckOutcome
    detail: str


def read_work(connection: Connection) -> list[Work]:
    """Return all assignments of both studies, in the order they were given out."""
    tasks, given = store.tasks, store.assignments
    join = sa.and_(tasks.c.study == given.c.study, tasks.c.task_id == given.c.task_id)
    query = (
        sa.select(
            *(
                given.c[name]
                for name in ("assignment_id", "study", "task_id", "rater_id", "slot", "left_is_a", "state")
            ),
            *(given.c[name] for name in ("started", "listened", "finished")),
            *(tasks.c[name] for name in ("prompt_id", "a", "b", "kind")),
        )
        .join_from(given, tasks, join)
        .order_by(given.c.assignment_id)
    )
    answers = _answers(connection)
    comments = {r.assignment_id: r.text for r in connection.execute(sa.select(store.comments))}
    out = []
    for row in connection.execute(query).mappings():
        values = dict(row)
        values |= {
            "study": StudyKind(row["study"]),
            "kind": PairKind(row["kind"]),
            "state": AssignmentState(row["state"]),
        }
        number = row["assignment_id"]
        out.append(Work(**values, answers=tuple(answers[number]), comment=comments.get(number, "")))
    return out


def _answers(connection: Connection) -> dict[int, list[Answered]]:
    revisions = store.rating_revisions
    corrected = {
        (r.assignment_id, r.rubric): r.score
        for r in connection.execute(sa.select(revisions).order_by(revisions.c.revision_id))
    }
    table = store.ratings
    out: dict[int, list[Answered]] = defaultdict(list)
    for r in connection.execute(sa.select(table).order_by(table.c.assignment_id, table.c.asked)):
        score = corrected.get((r.assignment_id, r.rubric), r.score)
        out[r.assignment_id].append(Answered(rubric=r.rubric, score=score, position=r.position))
    return out


def read_checks(connection: Connection) -> list[CheckFact]:
    """Return the newest outcome of every check of every rater, by rater, study and name."""
    table = store.checks
    newest = {
        (r.rater_id, r.study, r.name): CheckFact(
            rater_id=r.rater_id,
            study=StudyKind(r.study),
            name=r.name,
            outcome=CheckOutcome(r.outcome),
            detail=r.detail,
        )
        for r in connection.execute(sa.select(table).order_by(table.c.check_id))
    }
    return [newest[key] for key in sorted(newest)]
