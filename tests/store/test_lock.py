"""One writer of a kind at a time: told who holds the run, shared by the ranks of a job, free after any death."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vaeval_tasks.errors import RunBusyError
from vaeval_tasks.store import lock as locks
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir

HOLDER = """
import os, sys
from pathlib import Path
from vaeval_tasks.errors import RunBusyError
from vaeval_tasks.store.lock import Writer, writing
try:
    with writing(Path(sys.argv[1]), Writer(sys.argv[2]), job=sys.argv[3] if len(sys.argv) > 3 else None) as job:
        print(job, flush=True)
        sys.stdin.read()
except RunBusyError as error:
    print("busy:", error, flush=True)
"""


class Other:
    """Another process that takes a lock and holds it until it is told to end."""

    def __init__(self, root: Path, kind: str = "generate", *job: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(root), kind, *job],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline().strip()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(60) == 0


def lock_file(root: Path, kind: str = "generate") -> Path:
    return root / locks.FOLDER / f"{kind}.json"


def test_a_second_writer_is_told_who_holds_the_run(tmp_path: Path) -> None:
    other = Other(tmp_path)
    with pytest.raises(RunBusyError) as caught, writing(tmp_path, Writer.generate):
        pass
    said = str(caught.value)
    assert "\n" not in said
    for part in (str(tmp_path), "another generate", f"process {other.process.pid} on {platform.node()}", "since 20"):
        assert part in said
    assert f"kill {other.process.pid}" in said
    with writing(tmp_path, Writer.score):  # another kind
        pass
    other.end()
    with writing(tmp_path, Writer.generate):
        holder = json.loads(lock_file(tmp_path).read_text())
        assert (holder["pid"], holder["kind"]) == (os.getpid(), "generate")
    assert lock_file(tmp_path).read_text() == ""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_dead_holders_lock_is_taken_over(tmp_path: Path, end: int) -> None:
    other = Other(tmp_path)
    other.process.send_signal(end)
    other.process.wait()
    assert json.loads(lock_file(tmp_path).read_text())["pid"] == other.process.pid, "it gave nothing back"
    with writing(tmp_path, Writer.generate):
        pass


def test_a_verb_within_a_verb_has_the_lock_and_a_second_thread_has_not(tmp_path: Path) -> None:
    told: list[str] = []

    def second() -> None:
        try:
            with writing(tmp_path, Writer.score):
                told.append("in")
        except RunBusyError as error:
            told.append(str(error))

    with writing(tmp_path, Writer.score) as job:
        with writing(tmp_path, Writer.score) as again:
            assert again == job
        thread = threading.Thread(target=second)
        # the same job as this process, whose ranks share; a thread is no rank
        thread.start()
        thread.join()
        assert "another thread of this process is writing here (score)" in told[0]
        assert Other(tmp_path, "score").said.startswith("busy:")
    assert not Other(tmp_path, "score").said.startswith("busy:")


def test_the_ranks_of_one_job_share_and_another_job_is_refused(tmp_path: Path) -> None:
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "TORCHELASTIC_RUN_ID": "none"}
    first = Other(tmp_path, **job, RANK="0")
    second = Other(tmp_path, **job, RANK="1")
    assert first.said == second.said
    assert Other(tmp_path, **(job | {"MASTER_PORT": "29512"})).said.startswith("busy:")
    assert Other(tmp_path).said.startswith("busy:")
    first.end()
    assert Other(tmp_path).said.startswith("busy:"), "the second rank still writes"
    third = Other(tmp_path, **job)
    assert third.said == first.said
    second.end()
    third.process.kill()
    third.process.wait()
    alone = Other(tmp_path)
    assert not alone.said.startswith("busy:")
    alone.end()


def test_a_child_that_is_told_the_job_keeps_the_lock_after_its_parents_death(tmp_path: Path) -> None:
    parent = Other(tmp_path)
    child = Other(tmp_path, "generate", parent.said)
    assert child.said == parent.said
    parent.process.kill()
    parent.process.wait()
    assert Other(tmp_path).said.startswith("busy:"), "the child still saves"
    child.end()
    Other(tmp_path).end()


def test_a_fork_does_not_keep_the_lock(tmp_path: Path) -> None:
    reading, writing_end = os.pipe()
    with writing(tmp_path, Writer.pair):
        child = os.fork()
        if child == 0:
            os.close(writing_end)
            os.read(reading, 1)
            os._exit(0)
    os.close(reading)
    try:
        other = Other(tmp_path, "pair")
        assert not other.said.startswith("busy:")
        other.end()
    finally:
        os.close(writing_end)
        os.waitpid(child, 0)


def leave(root: Path, **changes: object) -> Path:
    """A lock file as a holder leaves it that gave nothing back."""
    path = lock_file(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    holder = {
        "kind": "generate",
        "job": "x",
        "host": platform.node(),
        "pid": os.getpid(),
        "started": locks._started(os.getpid()),
        "since": "2026-01-01T00:00:00+00:00",
    }
    path.write_text(json.dumps(holder | changes))
    return path


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', "\0\0\0"])
def test_a_lock_file_that_cannot_be_read_blocks_nobody(tmp_path: Path, text: str) -> None:
    leave(tmp_path).write_text(text)
    with writing(tmp_path, Writer.generate):
        pass


def test_on_a_network_file_system_a_holder_of_another_host_is_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = leave(tmp_path, host="elsewhere", pid=7)
    monkeypatch.setattr(locks, "network_file_system", lambda _: "nfs4")
    said = r"process 7 on elsewhere, since 2026-01-01.*delete "
    with pytest.raises(RunBusyError, match=said) as caught, writing(tmp_path, Writer.generate):
        pass
    assert str(path) in str(caught.value)
    path.unlink()
    with writing(tmp_path, Writer.generate):
        pass
    leave(tmp_path, host="elsewhere")
    monkeypatch.setattr(locks, "network_file_system", lambda _: "")
    with writing(tmp_path, Writer.generate):  # a copy of a folder on a local disk: the kernel knows
        pass


def test_without_locks_what_the_file_says_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locks, "flock", lambda *_, **__: None)
    leave(tmp_path)
    with pytest.raises(RunBusyError, match=f"process {os.getpid()} on"), writing(tmp_path, Writer.generate):
        pass
    leave(tmp_path, started="another process had this number")
    with writing(tmp_path, Writer.generate):
        assert "gives no locks" in caplog.text
    leave(tmp_path, host="elsewhere")
    with pytest.raises(RunBusyError, match="on elsewhere"), writing(tmp_path, Writer.generate):
        pass


NOTES = """
import sys
from pathlib import Path
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Rater
run = RunDir(Path(sys.argv[1]))
for n in range(40):
    run.note(**{f"{sys.argv[2]}-{n}": n})
    run.note_within("data", **{f"{sys.argv[2]}-{n}": n})
run.write(sys.argv[2], [Rater(rater_id="r")], made_by="test")
"""


def test_notes_of_several_processes_are_all_kept(tmp_path: Path) -> None:
    names = ("raters", "judges")
    workers = [subprocess.Popen([sys.executable, "-c", NOTES, str(tmp_path), name]) for name in names]
    assert [w.wait() for w in workers] == [0, 0]
    manifest = RunDir(tmp_path).manifest()
    wanted = {f"{name}-{n}": n for name in names for n in range(40)}
    assert manifest["about"].pop("data") == wanted
    assert manifest["about"] == wanted
    assert set(manifest["tables"]) == set(names)
