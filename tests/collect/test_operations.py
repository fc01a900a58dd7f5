"""What an operator sees and does: the admin numbers, backups, the command line, simulated raters."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from vaeval_tasks.cli import cli
from vaeval_tasks.collect import serve as serve_module
from vaeval_tasks.collect import watch
from vaeval_tasks.collect.server_clock import now_ms
from vaeval_tasks.collect.store import backup as backup_module
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.backup import backup
from vaeval_tasks.collect.store.database import open_database
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.simulate import driver
from vaeval_tasks.simulate.rater_preference import Preference, planted, read_truth
from vaeval_tasks.store.schema import StudyKind


def test_the_operator_sees_coverage_leases_and_pace(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=2, configs=3), dwell=0.0) as study:
        one, two = study.rater(), study.rater()
        for _ in range(2):
            one.do(one.task(), position=1)
        two.task()
        settings = study.opened.context.settings
        with study.db.read() as connection:
            coverage = watch.coverage(connection, settings)
            leases = watch.live_leases(connection, settings, now=now_ms())
            (pace,) = watch.paces(connection, settings)
        done = np.array(coverage.done)
        assert (done == done.T).all()
        assert done.sum() == 2 * 2  # two answers, each in both triangles
        assert (coverage.total, coverage.wanted, coverage.most) == (2, 12, done.max())
        assert len(coverage.configs) == 3
        (lease,) = leases
        assert 29 < lease.minutes_left <= 30
        assert (pace.done, pace.spread, pace.middle_share, pace.left_share) == (2, 0.0, 0.0, 1.0)
        assert 0 < pace.median_seconds < 60
        html = study.admin().get("/admin").text
        assert lease.rater_id in html
        assert html.count('class="self"') == 3


def test_a_mos_study_has_its_coverage_on_the_diagonal(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=2, configs=2), StudyKind.mos, dwell=0.0) as study:
        rater = study.rater()
        rater.do(rater.task(), position=4)
        with study.db.read() as connection:
            coverage = watch.coverage(connection, study.opened.context.settings)
        assert sorted(np.diag(coverage.done)) == [0, 1]
        assert np.sum(coverage.done) == 1
        assert study.admin().get("/admin").status_code == 200


def test_an_empty_study_can_be_watched(study: Any) -> None:
    assert "No task is held." in study.admin().get("/admin").text


def test_a_backup_is_whole_while_others_write_and_can_be_restored(study: Any, tmp_path: Path) -> None:
    rater = study.rater()
    rater.do(rater.task(), comment="kept")
    with study.db.write() as connection:  # a writer in the middle of its transaction
        connection.execute(sa.insert(store.webhooks).values(event_id="uncommitted", received=1))
        copies = backup(study.db, tmp_path / "copies", now=1_700_000_000_000)
    assert [path.name for path in copies] == [
        "ratings-20231114T221320Z.sqlite",
        "ratings-private-20231114T221320Z.sqlite",
    ]
    for path in copies:
        wanted, name = path.with_name(path.name + ".sha256").read_text().split()
        assert (wanted, name) == (hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
        assert path.stat().st_mode & 0o777 == 0o600
    ratings = study.rows(sa.select(store.ratings))
    restored = tmp_path / "restored" / "ratings.sqlite"
    restored.parent.mkdir()
    copies[0].rename(restored)
    copies[1].rename(restored.with_name("ratings-private.sqlite"))
    database = open_database(restored)
    with database.read() as connection:
        assert connection.execute(sa.select(store.ratings)).all() == ratings
        assert connection.execute(sa.select(store.webhooks)).all() == []
    database.close()


def test_old_backups_go(study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_module, "KEEP", 2)
    for n in range(4):
        backup(study.db, tmp_path, now=1_700_000_000_000 + n * 3_600_000)
    assert len(list(tmp_path.glob("ratings-2*.sqlite"))) == 2
    assert len(list(tmp_path.glob("ratings-private-2*.sqlite"))) == 2
    assert len(list(tmp_path.glob("*.sha256"))) == 4


def test_a_damaged_database_gives_no_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(tmp_path / "a.sqlite")
    real = sqlite3.connect

    class Damaged(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> Any:
            if "integrity_check" in sql:
                return super().execute("SELECT 'row 7 missing from index'")
            return super().execute(sql, *args)

    monkeypatch.setattr(backup_module.sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Damaged))
    with pytest.raises(InputError, match="row 7 missing"):
        backup(database, tmp_path / "copies", now=0)
    assert list((tmp_path / "copies").iterdir()) == []


def test_backups_are_made_while_the_server_runs_and_a_failed_one_does_not_end_them(
    study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    folder = study.run.root / "backups"
    folder.write_text("in the way")
    monkeypatch.setattr(serve_module, "BACKUP_SECONDS", 0.05)
    thread = threading.Thread(target=serve_module._keep_copies, args=(study.opened.context, stop))
    thread.start()
    time.sleep(0.3)
    assert thread.is_alive()
    folder.unlink()
    deadline = time.monotonic() + 20
    while not list(folder.glob("ratings-2*.sqlite")) and time.monotonic() < deadline:
        time.sleep(0.05)
    stop.set()
    thread.join()
    assert list(folder.glob("ratings-2*.sqlite"))


def test_without_the_extra_the_verbs_say_how_to_get_it() -> None:
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'fastapi' else real(name, *a)\n"
        "from vaeval_tasks.cli import main; main(['serve', 'x'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = "Error: the rating app needs the package fastapi. Install it with: pip install 'vaeval[study]'"
    assert done.stderr.strip() == said


def test_postgresql_is_backed_up_by_its_own_tools(postgres: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pg_dump"):
        backup(open_database(postgres), tmp_path, now=0)


def test_planted_strengths_are_even_and_depend_on_the_seed() -> None:
    names = [f"c{n}" for n in range(5)]
    truth = planted(names, seed=1)
    assert sorted(truth.values()) == [700, 850, 1000, 1150, 1300]
    assert truth == planted(names[::-1], seed=1)
    assert truth != planted(names, seed=2)
    assert planted(["only"], seed=0) == {"only": 1300.0}


def test_the_truth_is_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    for text, message in (("{", "cannot be read"), ('{"a": "x"}', "Elo points"), ('{"a": 1}', "'b': the strength")):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_truth(path, {"a", "b"})
    path.write_text('{"a": 1, "b": 2.5}')
    assert read_truth(path, {"a", "b"}) == {"a": 1.0, "b": 2.5}


def test_a_simulated_rater_prefers_the_stronger_and_sees_sides_alike() -> None:
    import random

    preference = Preference(strengths={"strong": 1200.0, "weak": 800.0, "same": 800.0})
    rng = random.Random(0)

    def mean(left: str, right: str | None) -> float:
        return float(np.mean([preference.task(left, right, rng)() for _ in range(3000)]))

    assert mean("strong", "weak") == pytest.approx(6 - mean("weak", "strong"), abs=0.15)
    assert mean("strong", "weak") < 2
    assert mean("same", "weak") == pytest.approx(3, abs=0.15)
    # 200 points are ln(10)/2 = 1.15 logits from the middle: fair to good, and poor
    assert mean("strong", None) > 2.6
    assert mean("weak", None) < 1.5


@contextmanager
def serving(run: Any, *options: str) -> Iterator[tuple[str, str]]:
    """``vaeval serve`` as a user starts it; yields the address and what it printed."""
    command = [sys.executable, "-m", "vaeval_tasks.cli", "serve", str(run.root), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line)
            if "Uvicorn running" in line:
                break
        url = re.search(r"(http://127\.0\.0\.1:\d+)", "".join(lines))
        assert url is not None, lines
        yield url[1], "".join(lines)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def free_port() -> str:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def test_a_simulated_study_from_the_command_line(run_of: Any) -> None:
    """serve, drive, and what the database then holds: every slot filled, everything marked as simulated."""
    run = run_of(prompts=4, configs=3, seconds=0.1)
    options = ("--port", free_port(), "--simulated", "--completion-code", "C0DE", "--admin-password", "pw")
    with serving(run, *options) as (url, printed):
        assert "12 tasks" in printed
        assert "password pw" in printed
        command = [sys.executable, "-m", "vaeval_tasks.cli", "drive", url, "--run", str(run.root), "--raters", "3"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        said = re.fullmatch(r"3 simulated raters, 24 tasks, (\d) completion codes\n", done.stdout)
        assert said is not None, done.stdout + done.stderr
        assert int(said[1]) >= 2
    truth = json.loads((run.root / "simulated-truth.json").read_text())
    assert set(truth) == {p.a for p in run.read("pairs")} | {p.b for p in run.read("pairs")}
    with closing(sqlite3.connect(run.root / "ratings.sqlite")) as connection:
        assert connection.execute("SELECT DISTINCT kind FROM raters").fetchall() == [("simulated",)]
        assert connection.execute("SELECT state, count(*) FROM assignments GROUP BY state").fetchall() == [("done", 24)]


def test_the_driver_says_what_is_wrong(run_of: Any, serve: Any) -> None:
    with pytest.raises(ServiceError, match=r"http://127\.0\.0\.1:9: ConnectError"):
        driver.drive("http://127.0.0.1:9", Preference(strengths={}), {}, raters=1, seed=0)
    with (
        serve(run_of(prompts=1, configs=2), dwell=0.0) as study,
        pytest.raises(ServiceError, match=r"403.*people only"),
    ):
        driver.drive(study.url, Preference(strengths={}), {}, raters=1, seed=0)
    run = run_of("other", prompts=1, configs=2)
    with serve(run, dwell=0.0, simulated=True) as study, pytest.raises(InputError, match="sounds like no response"):
        driver.drive(study.url, Preference(strengths={}), {}, raters=1, seed=0)


def test_the_verbs_of_the_command_line(run_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(prompts=1, configs=2)
    call = CliRunner().invoke
    made = call(cli, ["links", str(run.root), "--count", "3", "--url", "https://study.example.org/"])
    links = made.output.split()
    assert len(set(links)) == 3
    assert all(re.fullmatch(r"https://study\.example\.org/join/[\w-]{16}", link) for link in links)
    copied = call(cli, ["backup", str(run.root)])
    assert [Path(line).is_file() for line in copied.output.split()] == [True, True]
    with closing(sqlite3.connect(run.root / "ratings.sqlite")) as connection:
        rater_id = connection.execute("SELECT rater_id FROM raters").fetchone()[0]
    deleted = call(cli, ["rater", "delete", str(run.root), rater_id])
    assert deleted.output == f"{rater_id}: personal data deleted, ratings kept\n"
    again = call(cli, ["rater", "delete", str(run.root), rater_id])
    assert isinstance(again.exception, InputError)
    refused = call(cli, ["serve", str(run.root), "--db", "mysql://x/y"])
    assert isinstance(refused.exception, InputError)
    nowhere = call(cli, ["serve", str(run.root / "none")])
    assert "no such run folder" in str(nowhere.exception)


def test_a_run_with_nothing_to_rate_is_told_what_to_do(tmp_path: Path) -> None:
    early = CliRunner().invoke(cli, ["links", str(tmp_path)])
    assert "nothing to rate yet; run vaeval generate and vaeval pair first" in str(early.exception)
    assert not list(tmp_path.iterdir()), "no database was made"
    served = CliRunner().invoke(cli, ["serve", str(tmp_path)])
    assert "prompts.parquet: no such file; make it with: vaeval prompts import" in str(served.exception)


def test_a_link_of_the_command_line_opens_the_study(run_of: Any, serve: Any) -> None:
    run = run_of(prompts=1, configs=2)
    made = CliRunner().invoke(cli, ["links", str(run.root), "--url", "http://nowhere"])
    with serve(run) as study:
        answer = httpx.get(made.output.strip().replace("http://nowhere", study.url), follow_redirects=True)
        assert answer.url.path == "/consent"
