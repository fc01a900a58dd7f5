"""What a machine refuses is one line, in real processes: a full disk, a closed or full output, too big a number."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from vaeval_tasks.cli import failures
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Rater, Rating, Response, ResponseStatus

VAEVAL = [sys.executable, "-m", "vaeval_tasks.cli"]
SMALL = ("--resamples", "20", "--ci", "sandwich")


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a few ratings of two configurations."""
    run = RunDir(tmp_path_factory.mktemp("rated"))
    rows = [
        Rating(prompt_id=f"p{p}", a="m/x", b="m/y", rater_id=f"r{r}", rubric="overall", score=(p + r) % 7 - 3)
        for p in range(4)
        for r in range(4)
    ]
    run.write("ratings", rows, made_by="test")
    run.write("raters", [Rater(rater_id=f"r{r}") for r in range(4)], made_by="test")
    return run.root


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The line that a verb ends with; nothing else may be said, least of all a traceback."""
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error:")]
    assert len(errors) == 1, done.stderr
    return errors[0]


def call(*args: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*VAEVAL, *map(str, args)], text=True, stderr=subprocess.PIPE, check=False, **options)  # type: ignore[call-overload]


def test_an_output_that_nobody_reads_ends_as_a_broken_pipe_does(rated: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    for args in (("rank", rated, *SMALL), ("--help",), ("configs", "list")):
        done = call(*args, stdout=writer)
        assert (done.returncode, done.stderr) == (141, ""), args
    os.close(writer)


def test_a_full_output_is_one_line(rated: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = call("rank", rated, *SMALL, stdout=full)
    assert done.returncode == 1
    assert one_line(done).startswith("Error: standard output: No space left on device; make room")


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own, without room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 512)


@pytest.mark.parametrize(
    "args",
    [
        ("simulate", "{disk}/run", "--prompts", "40", "--raters", "20"),
        ("rank", "{run}", *SMALL, "--out", "{disk}/board.json"),
        ("report", "{run}", "--resamples", "20", "--splits", "20", "--out", "{disk}/board.html"),
        ("tables", "{run}", "--resamples", "20", "--splits", "20", "--out", "{disk}/tables"),
    ],
    ids=lambda args: args[0],
)
def test_a_disk_without_room_is_one_line_in_every_verb_that_writes(
    rated: Path, full: Path, args: tuple[str, ...]
) -> None:
    fill(full)
    done = call(*(arg.format(disk=full, run=rated) for arg in args), stdout=subprocess.DEVNULL)
    assert done.returncode == 1
    said = one_line(done)
    assert str(full) in said
    assert "No space left on device; make room and run the same command again" in said
    assert [p.name for p in full.rglob("*") if p.is_file() and p.suffix != ".lock"] == ["filler"]


def test_what_was_finished_before_the_disk_was_full_is_kept(full: Path) -> None:
    """Notes and log lines go on until there is no room; what was acknowledged is there, the rest is not half there."""
    run = RunDir(full / "run")
    response = Response(response_id="r", prompt_id="p", config_id="c", status=ResponseStatus.empty, text="x" * 900)
    kept = 0
    with pytest.raises(OSError, match="No space left") as caught:
        for kept in range(1000):
            run.append_response(replace(response, response_id=f"r{kept:04}"))
            run.note(kept=kept)
    assert str(full) in str(caught.value.filename)
    assert run.manifest()["about"]["kept"] == kept - 1
    assert [r.response_id for r in run.responses()][:kept] == [f"r{n:04}" for n in range(kept)]
    assert len(run.responses()) in (kept, kept + 1)


@pytest.mark.parametrize(
    "args",
    [
        ("pair", "{run}", "--raters", "100000000"),
        ("pair", "{run}", "--repeats", "nan"),
        ("rank", "{run}", "--resamples", "1000000000000"),
        ("agree", "{run}", "--splits", "1000000000000"),
        ("simulate", "{run}/new", "--prompts", "1000000000"),
        ("serve", "{run}", "--port", "65536"),
        ("serve", "{run}", "--port", "-1"),
        ("links", "{run}", "--count", "1000000000"),
        ("generate", "{run}", "--processes", "1000000000"),
        ("score", "{run}", "--seed", "-1"),
    ],
    ids=lambda args: f"{args[0]} {args[2]}",
)
def test_a_number_beyond_reason_is_a_usage_error(rated: Path, args: tuple[str, ...]) -> None:
    done = call(*(arg.format(run=rated) for arg in args), stdout=subprocess.DEVNULL)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"Invalid value for '{args[2]}'" in done.stderr


def test_numbers_that_are_too_much_together_are_one_line(tmp_path: Path) -> None:
    done = call("simulate", tmp_path / "new", "--prompts", "100000", "--per-pair", "1000", "--raters", "5000")
    assert done.returncode == 1
    assert "comparisons are more than memory holds" in one_line(done)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[1, 2]", "must hold a JSON object, got list"),
        (b"3", "must hold a JSON object, got int"),
        (b"\xff\xfe{}", "is not UTF-8 text"),
        (b'{"tables": {"rat', "cannot be read as JSON"),
        (b"", "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        (b'{"schema_version": 99}', "was written by a newer vaeval"),
        (b'{"schema_version": "1"}', "field 'schema_version': expected a whole number"),
        (b'{"tables": []}', "field 'tables': expected an object"),
        (b'{"about": null}', "field 'about': expected an object"),
        (b'{"tables": {"ratings": 3}}', "field 'tables.ratings.rows': expected int, got 3"),
        (
            b'{"tables": {"ratings": {"rows": 1, "sha256": "", "made_by": "x", "inputs": []}}}',
            "field 'tables.ratings.inputs': expected dict",
        ),
    ],
    ids=range(12),
)
def test_a_damaged_or_newer_run_json_is_one_line_in_every_reader(
    tmp_path: Path, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from vaeval_tasks.cli import main

    run = RunDir(tmp_path)
    run.write("ratings", [Rating(prompt_id="p", a="a", b="b", rater_id="r", rubric="overall", score=1)], made_by="x")
    (tmp_path / "run.json").write_bytes(content)
    here, before = str(tmp_path), sorted(p.name for p in tmp_path.iterdir())
    for args in (
        ("rank", here),
        ("agree", here),
        ("mos", here),
        ("themes", here),
        ("cluster", here),
        ("tables", here),
        ("report", here),
        ("predictors", here),
        ("check", here),
        ("score", here),
        ("generate", here),
        ("pair", here),
        ("judge", here, "--model", "m", "--url", "http://127.0.0.1:1"),
        ("serve", here),
        ("links", here),
        ("export", here),
        ("backup", here),
        ("rater", "delete", here, "r"),
        ("prompts", "report", here),
    ):
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        err = capsys.readouterr().err
        assert ended.value.code == 1, args
        assert err.count("\n") == 1, (args, err)
        assert said in err, args
        assert "run.json" in err, args
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_errors_are_told_by_what_they_are() -> None:
    assert failures.told(OSError(errno.EROFS, "Read-only file system", "/a")) == "/a: Read-only file system"
    assert failures.told(OSError(errno.EIO, "Input/output error")) == "the system: Input/output error"
    assert failures.told(OSError("cannot load library 'libx.so'")) == "the system: cannot load library 'libx.so'"
    assert str(failures.told(MemoryError("Unable to\nallocate 8 TiB"))).endswith(
        "(Unable to allocate 8 TiB); ask for smaller numbers"
    )
    assert "not enough memory" in str(failures.told(OverflowError("int too large")))
    assert "disk image is malformed" in str(failures.told(sqlite3.DatabaseError("database disk image is malformed")))
    assert failures.told(ValueError("a defect")) is None
    assert failures.told(KeyError("a defect")) is None
