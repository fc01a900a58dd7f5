"""Answers: kept as drafts, locked section by section, submitted whole in one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.refusals import Refused, parse_json
from vaeval_tasks.collect.rules.alloc import release
from vaeval_tasks.collect.rules.questions import asked, gates_of, question_ids, score, sections, steps
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.server_clock import MINUTE
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.store.schema import AssignmentState

__all__ = ["COMMENT_LIMIT", "Click", "find", "give_back", "heartbeat", "live", "lock_section", "save_draft", "submit"]

COMMENT_LIMIT = 5000
"""Characters of free text."""

_MS_LIMIT = 2**31 - 1

_assignments = store.assignments


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """One click: the step from the left (0 the leftmost) and the ms since the section opened."""

    position: int
    ms: int


def find(connection: Connection, settings: Settings, token: str, rater_id: str) -> sa.Row[Any]:
    """Return the assignment with its task's gates, locked for this transaction.

    Raises:
        Refused: 404, there is none, or it is another rater's.
    """
    tasks = store.tasks
    query = (
        sa.select(_assignments, tasks.c.gates, tasks.c.prompt_id)
        .join_from(
            _assignments,
            tasks,
            sa.and_(tasks.c.study == _assignments.c.study, tasks.c.task_id == _assignments.c.task_id),
        )
        .where(
            _assignments.c.token == token,
            _assignments.c.rater_id == rater_id,
            _assignments.c.study == settings.study,
        )
        .with_for_update(of=_assignments)
    )
    row = connection.execute(query).first()
    if row is None:
        raise Refused(404, "no_task", "There is no such task.")
    return row


def live(connection: Connection, settings: Settings, token: str, rater_id: str, *, now: int) -> sa.Row[Any]:
    """Return the assignment if it can still be answered.

    Raises:
        Refused: 404 unknown; 409 already submitted; 410 the lease is over.
    """
    row = find(connection, settings, token, rater_id)
    if row.state == AssignmentState.done:
        raise Refused(409, "done", "This task has been submitted already.")
    if row.state != AssignmentState.leased or row.lease_until <= now:
        raise Refused(410, "lease_over", "Your time for this task is over; it has gone to somebody else.")
    return row


def heartbeat(connection: Connection, settings: Settings, row: sa.Row[Any], *, now: int) -> int:
    """Extend the lease, at most to its cap; return when it ends (ms)."""
    until = min(now + settings.lease * MINUTE, row.started + settings.lease_cap * MINUTE)
    until = max(until, row.lease_until)
    where = _assignments.c.assignment_id == row.assignment_id
    connection.execute(sa.update(_assignments).where(where).values(lease_until=until))
    return int(until)


def give_back(connection: Connection, row: sa.Row[Any], reason: str, *, now: int) -> None:
    """Release a task that the rater cannot do (a technical problem); it is not offered to them again."""
    _note(connection, row.assignment_id, "problem", {"reason": reason[:500]}, now)
    release(connection, row.assignment_id, AssignmentState.withdrawn)


def save_draft(connection: Connection, settings: Settings, row: sa.Row[Any], key: str, value: object, now: int) -> None:
    """Keep one answer before submission.

    Raises:
        Refused: 422 not a question of this task or not a step; 409 its section is not open.
    """
    parts = sections(gates_of(row.gates), settings.overall)
    answer = _answer(settings, value, key)
    place = next((n for n, part in enumerate(parts, 1) if key in part.keys), None)
    if place is None:
        raise Refused(422, "bad_answers", "This question is not asked here.", unknown=[key])
    if place != row.stage:
        raise Refused(409, "locked", "This section is not open.")
    _keep(connection, row.assignment_id, {key: answer}, now)


def lock_section(
    connection: Connection, settings: Settings, row: sa.Row[Any], number: int, body: object, *, now: int
) -> int:
    """Take the answers of section ``number`` (from 1), lock it and open the next; return the open section's number.

    The last section is locked by :func:`submit`. Locking again with the same answers changes nothing.

    Raises:
        Refused: 422 incomplete or wrong; 409 out of order, or locked with other answers.
    """
    parts = sections(gates_of(row.gates), settings.overall)
    if not 1 <= number < len(parts):
        raise Refused(422, "bad_section", f"sections 1 to {len(parts) - 1} can be locked")
    answers = _answers(settings, body, parts[number - 1].keys)
    if number > row.stage:
        raise Refused(409, "out_of_order", "Please answer the sections in order.")
    if number < row.stage:
        _same_as_locked(connection, row.assignment_id, answers)
        return int(row.stage)
    _keep(connection, row.assignment_id, answers, now)
    where = _assignments.c.assignment_id == row.assignment_id
    connection.execute(sa.update(_assignments).where(where).values(stage=number + 1))
    return number + 1


def submit(
    database: Database, settings: Settings, token: str, rater_id: str, key: str, raw: bytes, *, now: int
) -> dict[str, Any]:
    """Store all answers of a task, its comment, its new state and the reply in one transaction.

    Args:
        database: the collection.
        settings: the study's.
        token: the task's.
        rater_id: of the session.
        key: the request's ``Idempotency-Key``.
        raw: the body: JSON ``{"answers": {rubric: {"position", "ms"}}, "comment": text}``.
        now: the server's time, ms.

    Returns:
        The reply; the same one again for a repeat of the same request.

    Raises:
        Refused: see :class:`Refused` for the codes. A late answer is kept as an event.
    """
    if not 8 <= len(key) <= 128:
        raise Refused(422, "no_key", "the header Idempotency-Key must have 8 to 128 characters")
    body = parse_json(raw)
    if not isinstance(body, dict):
        raise Refused(422, "bad_json", "the body must be a JSON object")
    late = None
    with database.write() as connection:
        row = find(connection, settings, token, rater_id)
        if row.state == AssignmentState.done:
            return _replay(connection, row.assignment_id, key, raw)
        if row.state == AssignmentState.withdrawn:
            raise Refused(410, "lease_over", "You gave this task back.")
        if _too_late(connection, settings, row, now):
            late = Refused(410, "lease_over", "Thank you. Somebody else has answered this task; it is not needed.")
            _note(connection, row.assignment_id, "late_submit", {"body": raw.decode("utf-8", "replace")}, now)
        else:
            reply = _store(connection, settings, row, body, now)
            values = {
                "idempotency_key": key,
                "body_sha256": sha256_bytes(raw),
                "response": json.dumps(reply),
                "received": now,
            }
            connection.execute(sa.insert(store.submissions).values(assignment_id=row.assignment_id, **values))
    if late is not None:
        raise late
    return reply


def _replay(connection: Connection, assignment_id: int, key: str, raw: bytes) -> dict[str, Any]:
    table = store.submissions
    first = connection.execute(sa.select(table).where(table.c.assignment_id == assignment_id)).one()
    if first.idempotency_key != key:
        raise Refused(409, "done", "This task has been submitted already.")
    if first.body_sha256 != sha256_bytes(raw):
        raise Refused(409, "other_body", "This task has been submitted already, with other answers.")
    reply: dict[str, Any] = json.loads(first.response)
    return reply


def _too_late(connection: Connection, settings: Settings, row: sa.Row[Any], now: int) -> bool:
    """Whether an answer is refused as late; where late answers count, take the slot again if it is free."""
    if row.state == AssignmentState.leased and row.lease_until > now:
        return False
    if not settings.accept_late:
        return True
    if row.state == AssignmentState.leased:
        return False
    holds = (
        _assignments.c.study == row.study,
        _assignments.c.task_id == row.task_id,
        _assignments.c.state.in_([AssignmentState.leased, AssignmentState.done]),
        sa.or_(_assignments.c.slot == row.slot, _assignments.c.rater_id == row.rater_id),
    )
    if connection.execute(sa.select(_assignments.c.assignment_id).where(*holds)).first() is not None:
        return True
    tasks = store.tasks
    where = (tasks.c.study == row.study, tasks.c.task_id == row.task_id)
    connection.execute(sa.update(tasks).where(*where).values(taken=tasks.c.taken + 1))
    return False


def _store(
    connection: Connection, settings: Settings, row: sa.Row[Any], body: Mapping[str, Any], now: int
) -> dict[str, Any]:
    gates = gates_of(row.gates)
    parts, order = sections(gates, settings.overall), asked(gates, settings.overall)
    answers = _answers(settings, body.get("answers"), order)
    comment = body.get("comment", "")
    if not isinstance(comment, str) or len(comment) > COMMENT_LIMIT:
        raise Refused(422, "bad_comment", f"the comment must be text of at most {COMMENT_LIMIT} characters")
    if row.stage < len(parts):
        raise Refused(409, "out_of_order", "Please listen to the recordings and answer the sections in order.")
    locked = _same_as_locked(connection, row.assignment_id, {k: answers[k] for part in parts[:-1] for k in part.keys})
    ids = question_ids(connection, settings.study)
    ratings = [
        {
            "assignment_id": row.assignment_id,
            "rubric": key,
            "question_id": ids[key],
            "score": score(settings.study, answers[key].position, left_is_a=row.left_is_a),
            "position": answers[key].position,
            "asked": place,
            "ms": locked.get(key, answers[key]).ms,
        }
        for place, key in enumerate(order)
    ]
    connection.execute(sa.insert(store.ratings), ratings)
    if comment.strip():
        # NUL and lone surrogates cannot be stored as text in every database
        text = comment.replace("\x00", "�").encode("utf-8", "replace").decode()
        connection.execute(sa.insert(store.comments).values(assignment_id=row.assignment_id, text=text))
    where = _assignments.c.assignment_id == row.assignment_id
    connection.execute(sa.update(_assignments).where(where).values(state=AssignmentState.done, finished=now))
    return {"stored": len(ratings), "next": "/task"}


def _keep(connection: Connection, assignment_id: int, answers: Mapping[str, Click], now: int) -> None:
    table = store.drafts
    mine = table.c.assignment_id == assignment_id
    connection.execute(sa.delete(table).where(mine, table.c.rubric.in_(list(answers))))
    rows = [
        {"assignment_id": assignment_id, "rubric": key, "position": a.position, "ms": a.ms, "saved": now}
        for key, a in answers.items()
    ]
    connection.execute(sa.insert(table), rows)


def _same_as_locked(connection: Connection, assignment_id: int, answers: Mapping[str, Click]) -> dict[str, Click]:
    """Return the kept answers to the questions of ``answers``, and refuse it if one differs."""
    table = store.drafts
    kept = connection.execute(
        sa.select(table.c.rubric, table.c.position, table.c.ms).where(table.c.assignment_id == assignment_id)
    ).all()
    locked = {row.rubric: Click(position=row.position, ms=row.ms) for row in kept if row.rubric in answers}
    changed = sorted(key for key, a in answers.items() if key not in locked or locked[key].position != a.position)
    if changed:
        raise Refused(409, "locked", "A section that was completed cannot be changed.", changed=changed)
    return locked


def _answers(settings: Settings, body: object, keys: tuple[str, ...]) -> dict[str, Click]:
    if not isinstance(body, Mapping):
        raise Refused(422, "bad_answers", "answers must be an object")
    missing, unknown = sorted(set(keys) - set(body)), sorted(set(body) - set(keys))
    if missing or unknown:
        raise Refused(
            422, "bad_answers", "Please answer every question of the section.", missing=missing, unknown=unknown
        )
    return {key: _answer(settings, body[key], key) for key in keys}


def _answer(settings: Settings, value: object, key: str) -> Click:
    position, ms = (value.get("position"), value.get("ms")) if isinstance(value, Mapping) else (None, None)
    top = len(steps(settings.study)) - 1
    if type(position) is not int or not 0 <= position <= top:
        raise Refused(422, "bad_answers", f"a position must be a whole number from 0 to {top}", wrong=[key])
    if type(ms) is not int or not 0 <= ms <= _MS_LIMIT:
        raise Refused(422, "bad_answers", "ms must be a whole number of milliseconds", wrong=[key])
    return Click(position=position, ms=ms)


def _note(connection: Connection, assignment_id: int, kind: str, payload: dict[str, Any], now: int) -> None:
    """Add an event of the server's own, with a negative number so that it never meets one of the page's."""
    table = store.events
    lowest = connection.execute(
        sa.select(sa.func.min(table.c.seq)).where(table.c.assignment_id == assignment_id)
    ).scalar()
    values = {
        "seq": min(lowest or 0, 0) - 1,
        "client_time": now,
        "server_time": now,
        "kind": kind,
        "payload": json.dumps(payload),
    }
    connection.execute(sa.insert(table).values(assignment_id=assignment_id, **values))
