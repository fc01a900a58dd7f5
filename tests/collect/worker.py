"""Processes that rate without a browser, for tests that run many or kill them.

``worker.py drain DB NAME…`` forks a process a name, each of which takes tasks as one rater until none is left, and
prints how many each did.
``worker.py kill DB SEED COUNT`` forks raters and kills each with SIGKILL at a random moment; prints a JSON report.
``worker.py crash DB NAME before|after`` dies before the commit of a submit, or after it but before the reply.

They fork, since importing what they need takes a second of each.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from vaeval_tasks.collect.people import identity
from vaeval_tasks.collect.rules import alloc, listening, submissions
from vaeval_tasks.collect.rules.questions import asked, gates_of, sections
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.server_clock import now_ms
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database, open_database
from vaeval_tasks.collect.store.importer import stored_settings
from vaeval_tasks.store.schema import StudyKind


def opened(db: str) -> tuple[Database, Settings]:
    database = open_database(db)
    with database.read() as connection:
        settings = stored_settings(connection, StudyKind.cmos)
    assert settings is not None
    return database, settings


def rater(database: Database, name: str) -> str:
    return identity.new_rater(database, "simulated", name, now=now_ms(), retention_days=1, kind="simulated")


def work(database: Database, settings: Settings, rater_id: str) -> tuple[str, bytes] | None:
    """Claim a task and answer all but the last section; return its token and the body to submit."""
    lease = alloc.claim(database, settings, rater_id, now=now_ms())
    if lease is None:
        return None
    with database.write() as connection:
        row = submissions.live(connection, settings, lease.token, rater_id, now=now_ms())
        gates = gates_of(row.gates)
        given: dict[str, Any] = {key: {"position": 2, "ms": 1} for key in asked(gates, settings.overall)}
        if row.stage == 0:
            listening.record_events(connection, row, [{"seq": 1, "kind": "play", "at": 0}], now=now_ms())
            row = submissions.find(connection, settings, lease.token, rater_id)
            lengths = listening.durations(connection, lease.assignment_id)
            claim = {part: [[0.0, seconds]] for part, seconds in lengths.items()}
            listening.listened(connection, settings, row, claim, now=now_ms())
        for number, part in enumerate(sections(gates, settings.overall)[:-1], 1):
            row = submissions.find(connection, settings, lease.token, rater_id)
            submissions.lock_section(
                connection, settings, row, number, {key: given[key] for key in part.keys}, now=now_ms()
            )
    return lease.token, json.dumps({"answers": given, "comment": ""}).encode()


def drain_all(db: str, names: list[str]) -> None:
    """Drain in as many processes as names; print what each did and how it ended."""
    children, pipes = [], []
    for name in names:
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            code = 1
            try:
                os.write(writer, f"{drain(db, name)}\n".encode())
                code = 0
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writer)
        children.append(child)
        pipes.append(reader)
    done = []
    for reader in pipes:
        with os.fdopen(reader) as pipe:
            done += [int(line) for line in pipe]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps({"done": done, "codes": codes}))


def drain(db: str, name: str) -> int:
    """Claim and submit through the program; what lies between, which is not raced for, is written in one go."""
    database, settings = opened(db)
    rater_id = rater(database, name)
    done = 0
    while (lease := alloc.claim(database, settings, rater_id, now=now_ms())) is not None:
        with database.write() as connection:
            gates = gates_of(submissions.find(connection, settings, lease.token, rater_id).gates)
            given = {key: {"position": 2, "ms": 1} for key in asked(gates, settings.overall)}
            rows = [{"assignment_id": lease.assignment_id, "rubric": k, "saved": 0, **v} for k, v in given.items()]
            connection.execute(sa.insert(store.drafts), rows)
            mine = store.assignments.c.assignment_id == lease.assignment_id
            connection.execute(sa.update(store.assignments).where(mine).values(stage=4))
        body = json.dumps({"answers": given, "comment": ""}).encode()
        submissions.submit(database, settings, lease.token, rater_id, f"key-{lease.token}", body, now=now_ms())
        done += 1
    return done


def kill(db: str, seed: int, count: int) -> None:
    rng = random.Random(seed)
    acknowledged: list[str] = []
    for n in range(count):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            database, settings = opened(db)
            rater_id = rater(database, f"victim-{n % 7}")  # some come back to the task they died in
            os.write(writer, b"ready\n")
            while (task := work(database, settings, rater_id)) is not None:
                submissions.submit(database, settings, task[0], rater_id, f"key-{task[0]}", task[1], now=now_ms())
                os.write(writer, f"{task[0]}\n".encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            pipe.readline()  # it has begun to work
            time.sleep(rng.uniform(0, 0.3))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            acknowledged += pipe.read().splitlines()
    print(json.dumps({"acknowledged": acknowledged}))


def crash(db: str, name: str, when: str) -> None:
    database, settings = opened(db)
    rater_id = rater(database, name)
    task = work(database, settings, rater_id)
    assert task is not None
    print(json.dumps({"rater": rater_id, "token": task[0], "body": task[1].decode()}), flush=True)
    if when == "before":
        event.listen(database.public, "commit", lambda _connection: os._exit(9))
    submissions.submit(database, settings, task[0], rater_id, f"key-{task[0]}", task[1], now=now_ms())
    os._exit(9)


def violations(database: Database) -> list[str]:
    """What must never be: read by the tests after the killing."""
    found = []
    with database.read() as connection:
        a, r, t = store.assignments, store.ratings, store.tasks
        per_assignment = sa.select(r.c.assignment_id, sa.func.count().label("n")).group_by(r.c.assignment_id)
        counts = {row.assignment_id: row.n for row in connection.execute(per_assignment)}
        rows = connection.execute(
            sa.select(a.c.assignment_id, a.c.state, t.c.gates).join_from(
                a, t, sa.and_(a.c.study == t.c.study, a.c.task_id == t.c.task_id)
            )
        ).all()
        for row in rows:
            wanted = len(asked(gates_of(row.gates), "last")) if row.state == "done" else 0
            if counts.get(row.assignment_id, 0) != wanted:
                found.append(f"assignment {row.assignment_id} ({row.state}): {counts.get(row.assignment_id)} ratings")
        held = (
            sa.select(sa.func.count())
            .where(a.c.study == t.c.study, a.c.task_id == t.c.task_id, a.c.state.in_(["leased", "done"]))
            .scalar_subquery()
        )
        wrong = connection.execute(sa.select(t.c.task_id).where(t.c.taken != held)).scalars().all()
        found += [f"task {task_id}: the count of taken slots is wrong" for task_id in wrong]
        submitted = connection.execute(sa.select(sa.func.count()).select_from(store.submissions)).scalar_one()
        if submitted != len(counts):
            found.append(f"{submitted} submissions but {len(counts)} rated assignments")
        if database.sqlite and (verdict := connection.exec_driver_sql("PRAGMA integrity_check").scalar()) != "ok":
            found.append(str(verdict))
    return found


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "drain":
        drain_all(rest[0], rest[1:])
    elif mode == "kill":
        kill(rest[0], int(rest[1]), int(rest[2]))
    else:
        crash(rest[0], rest[1], rest[2])
