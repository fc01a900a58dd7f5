"""Eight processes at once, and processes that are killed: nothing is given twice, nothing acknowledged is lost."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from vaeval_tasks.collect.serve import open_study
from vaeval_tasks.collect.server_clock import now_ms
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.store.schema import StudyKind

WORKER = Path(__file__).with_name("worker.py")
KILLS = int(os.environ.get("VAEVAL_KILLS", "20"))
PAIRS = int(os.environ.get("VAEVAL_PAIRS", "60"))
"""The suite runs a part; the study's own numbers are VAEVAL_KILLS=200 VAEVAL_PAIRS=200."""


def load_worker() -> Any:
    spec = importlib.util.spec_from_file_location("collect_worker", WORKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


worker = load_worker()


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_eight_processes_drain_all_pairs_of_two_slots(any_db: str, run_of: Any) -> None:
    """5 configurations give 10 pairs on each prompt; with two slots each exactly twice as many are done, none twice."""
    run = run_of(prompts=PAIRS // 10, configs=5, seconds=0.05)
    opened = open_study(run, StudyKind.cmos, {"dwell": 0.0}, db=any_db)
    process = start("drain", any_db, *(f"rater-{n}" for n in range(8)))
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    said = json.loads(output)
    assert said["codes"] == [0] * 8
    assert sum(said["done"]) == 2 * PAIRS
    a = store.assignments
    with opened.context.database.read() as connection:
        states = connection.execute(sa.select(a.c.state, sa.func.count()).group_by(a.c.state)).all()
        assert states == [("done", 2 * PAIRS)]
        per_slot = sa.select(a.c.task_id, a.c.slot).group_by(a.c.task_id, a.c.slot).having(sa.func.count() > 1)
        assert connection.execute(per_slot).all() == []
        raters = sa.select(a.c.task_id, sa.func.count(a.c.rater_id.distinct())).group_by(a.c.task_id)
        assert {n for _, n in connection.execute(raters)} == {2}
    assert worker.violations(opened.context.database) == []


def test_killed_processes_lose_no_acknowledged_rating(tmp_path: Path, run_of: Any) -> None:
    run = run_of(prompts=60, configs=5, seconds=0.05)
    db = str(tmp_path / "killed.sqlite")
    opened = open_study(run, StudyKind.cmos, {"dwell": 0.0}, db=db)
    process = start("kill", db, "7", str(KILLS))
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    acknowledged = set(json.loads(output)["acknowledged"])
    assert len(acknowledged) > KILLS / 4  # the killing came in the middle of work
    a, r = store.assignments, store.ratings
    with opened.context.database.read() as connection:
        query = sa.select(a.c.token).join_from(r, a, r.c.assignment_id == a.c.assignment_id).distinct()
        stored = set(connection.execute(query).scalars())
    assert acknowledged <= stored
    assert worker.violations(opened.context.database) == []


def crashed(opened: Any, db: str, when: str) -> tuple[dict[str, str], int]:
    process = start("crash", db, f"victim-{when}", when)
    output, errors = process.communicate()
    assert process.returncode == 9, errors
    said = json.loads(output)
    a, r = store.assignments, store.ratings
    with opened.context.database.read() as connection:
        query = sa.select(sa.func.count()).join_from(r, a, r.c.assignment_id == a.c.assignment_id)
        return said, connection.execute(query.where(a.c.token == said["token"])).scalar_one()


def test_a_crash_around_the_commit_leaves_all_or_nothing(any_db: str, run_of: Any) -> None:
    opened = open_study(run_of(prompts=1, configs=3, seconds=0.05), StudyKind.cmos, {"dwell": 0.0}, db=any_db)
    database, settings = opened.context.database, opened.context.settings
    said, rows = crashed(opened, any_db, "before")
    assert rows == 0
    key, body = f"key-{said['token']}", said["body"].encode()
    reply = worker.submissions.submit(database, settings, said["token"], said["rater"], key, body, now=now_ms())
    assert reply == {"stored": 12, "next": "/task"}  # the lease was still live
    said, rows = crashed(opened, any_db, "after")
    assert rows == 12
    key, body = f"key-{said['token']}", said["body"].encode()
    again = worker.submissions.submit(database, settings, said["token"], said["rater"], key, body, now=now_ms())
    assert again == reply
    assert worker.violations(database) == []
