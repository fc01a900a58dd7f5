"""Several processes share a plan."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from vaeval_tasks.asking.pending import make_plan
from vaeval_tasks.asking.processes import _interrupts_held
from vaeval_tasks.cli.generate import generate as command
from vaeval_tasks.models.configs import published
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.testing.server import KEY

MARIN = "gpt-realtime-2.1/minimal/marin"
CEDAR = "gpt-realtime-2.1/minimal/cedar"
TIFFANY = "nova-2-sonic/default/tiffany"


def start(run: RunDir, *options: str) -> subprocess.Popen[str]:
    """Start a run of three processes in a process group of its own, as a terminal does."""
    words = ["generate", str(run.root), "--config", MARIN, "--processes", "3", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "vaeval_tasks.cli", *words], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def members(group: int) -> list[int]:
    """Return the processes of a group that are neither ended nor waiting to be reaped."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, in_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(in_group) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found


def askers(group: int) -> list[int]:
    """Return the processes of a group that ask."""
    lines = {pid: Path(f"/proc/{pid}/cmdline") for pid in members(group)}
    return [pid for pid, path in lines.items() if path.exists() and b"spawn_main" in path.read_bytes()]


def test_a_plan_is_split(make_run, tmp_path):
    configs = [published()[name] for name in (MARIN, CEDAR, TIFFANY)]
    plan = make_plan(make_run(tmp_path, 7), configs, limits={"openai_realtime": 5, "nova_sonic": 2})
    parts = plan.split(3)
    assert [part.rank for part in parts] == [0, 1, 2]
    assert [part.sessions for part in parts] == [
        {"openai_realtime": 2, "nova_sonic": 1},
        {"openai_realtime": 2, "nova_sonic": 1},
        {"openai_realtime": 1},
    ]
    ids = [unit.response_id for part in parts for unit in part.units]
    assert sorted(ids) == sorted(unit.response_id for unit in plan.units), "each once"
    assert {unit.config.provider for unit in parts[2].units} == {"openai_realtime"}
    second = make_plan(make_run(tmp_path, 7), configs, rank=1, world=2)
    assert [part.rank for part in second.split(3)] == [3, 4, 5]


def test_three_processes_give_the_table_of_one(run_pair, serve):
    fake = serve("openai_realtime", delay=0.05)
    tables = []
    for run, processes in zip(run_pair, ("1", "3"), strict=True):
        before = len(fake.sessions)
        result = CliRunner().invoke(command, [str(run.root), "--config", MARIN, "--processes", processes])
        assert result.exit_code == 0, result.output
        assert "11 ok" in result.output
        assert len(fake.sessions) - before == 11
        tables.append([(r.response_id, r.status, r.text, r.path, r.sha256) for r in run.read("responses")])
        assert all(response.events_path for response in run.read("responses"))
    assert tables[0] == tables[1]
    assert len(list(run_pair[1].root.glob("responses*.jsonl"))) == 3


@pytest.fixture
def run_pair(tmp_path, make_run) -> list[RunDir]:
    """Two runs with the same eleven prompts."""
    return [make_run(tmp_path / name, 11) for name in ("one", "three")]


@pytest.mark.parametrize("others", [0, 3], ids=["alone", "beside other threads, which may get the signal"])
def test_an_interrupt_while_processes_start_is_not_lost(others):
    begun, end = [], threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(others)]
    for thread in threads:
        thread.start()
    with pytest.raises(KeyboardInterrupt), _interrupts_held():
        os.kill(os.getpid(), signal.SIGINT)
        begun.append("the process is registered")
    end.set()
    assert begun


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_nobody_asking(tmp_path, make_run, serve, how):
    """An interrupt reaches every process of the group; a kill only the parent, and the others must notice."""
    fake = serve("openai_realtime", delay=0.1)
    run = make_run(tmp_path / "run", 120, 0.15)
    process = start(run, "--sessions", "3")
    wait_for(lambda: len(run.responses()) >= 3, "no responses came")
    if how is signal.SIGINT:
        os.killpg(process.pid, how)
    else:
        process.kill()
    _, err = process.communicate(timeout=60)
    wait_for(lambda: not askers(process.pid), "a process went on asking")
    assert "Traceback" not in err
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "run the same command again" in err
    there = {r.prompt_id for r in run.responses()}
    assert 3 <= len(there) < 120
    assert len(fake.sessions) <= len(there) + 3, "no more were begun than there were sessions"
    again = start(run, "--sessions", "40")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert len(run.read("responses")) == 120
    assert len(fake.sessions) <= 120 + 3, "what was there is not asked for again"


def test_a_process_that_ends_early_is_named(tmp_path, make_run, serve):
    serve("openai_realtime", delay=0.1)
    run = make_run(tmp_path / "run", 120, 0.15)
    process = start(run, "--sessions", "3")
    wait_for(lambda: len(run.responses()) >= 1, "no responses came")
    os.kill(askers(process.pid)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    (line,) = [line for line in err.splitlines() if line.startswith("Error:")]
    assert "ended early (exit code -9); run the same command again" in line
    assert "Traceback" not in err
    assert not askers(process.pid)


def test_refusals_and_a_full_disk_reach_the_user(tmp_path, make_run, serve, monkeypatch):
    fake = serve("openai_realtime")
    run = make_run(tmp_path / "run", 4)
    options = [str(run.root), "--config", MARIN, "--processes", "2"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    result = CliRunner().invoke(command, options)
    assert "the key was refused" in str(result.exception)
    assert "4 responses are still to come" in str(result.exception)
    assert fake.sessions == []
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (run.root / "responses-1.jsonl").symlink_to("/dev/full")
    result = CliRunner().invoke(command, options)
    assert "No space left on device" in str(result.exception)
