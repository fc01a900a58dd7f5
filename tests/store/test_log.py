"""Logs: appended durably, an unfinished last line passed over, a damaged one named and moved aside."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError
from vaeval_tasks.store import log as logs
from vaeval_tasks.store.log import append_jsonl, append_lines, damaged_path, read_jsonl, repair_log
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt, Response, ResponseStatus

RESPONSE = Response(response_id="c/p1", prompt_id="p1", config_id="c", status=ResponseStatus.empty)


def ids(path: Path) -> list[str]:
    return [r.response_id for r in read_jsonl(path, Response)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "responses.jsonl"
    append_jsonl(path, *(replace(RESPONSE, response_id=f"c/p{n}", prompt_id=f"p{n}") for n in (1, 2, 3)))
    return path


@pytest.mark.parametrize("tail", [b'{"response_id": "half', b"\0\0\0\0", b"\xff\xfe", b"null"])
def test_an_unfinished_last_line_is_passed_over_and_never_becomes_a_middle_one(log: Path, tail: bytes) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole + tail)
    assert ids(log) == ["c/p1", "c/p2", "c/p3"]
    append_jsonl(log, replace(RESPONSE, response_id="c/p4"))
    assert ids(log) == ["c/p1", "c/p2", "c/p3", "c/p4"]
    assert log.read_bytes().startswith(whole)
    assert damaged_path(log).read_bytes() == tail + b"\n"


def test_a_whole_last_line_without_its_line_feed_is_kept(log: Path) -> None:
    log.write_bytes(log.read_bytes().rstrip(b"\n"))
    assert ids(log) == ["c/p1", "c/p2", "c/p3"]
    append_jsonl(log, replace(RESPONSE, response_id="c/p4"))
    assert ids(log) == ["c/p1", "c/p2", "c/p3", "c/p4"]
    assert not damaged_path(log).exists()


def test_a_long_unfinished_line_is_moved_whole(log: Path) -> None:
    tail = b'{"text": "' + b"x" * 300_000
    log.write_bytes(log.read_bytes() + tail)
    append_jsonl(log, replace(RESPONSE, response_id="c/p4"))
    assert ids(log)[-1] == "c/p4"
    assert damaged_path(log).read_bytes() == tail + b"\n"


DAMAGES = {
    "not JSON": (b'{"response_id": "c/p2", "prompt_id"', "not JSON"),
    "NUL bytes": (b"\0" * 40, "NUL bytes"),
    "not UTF-8": (b'{"response_id": "c/p2", "text": "\xff"}', "not UTF-8"),
    "a list": (b"[1]", "not a JSON object"),
    "a field of another type": (b'{"response_id": "c/p2", "prompt_id": 3, "config_id": "c", "status": "ok"}', "got 3"),
    "an unknown field": (b'{"response_id": "c/p2", "nonsense": 3}', "unknown field 'nonsense'"),
    "a missing field": (b'{"response_id": "c/p2"}', "the field is missing"),
    "too deep": (b"[" * 100_000, "not JSON"),
    "a number too long": (b'{"response_id": ' + b"9" * 5000 + b"}", "not JSON"),
}


@pytest.mark.parametrize(("raw", "why"), DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_damaged_line_anywhere_is_named_with_the_way_out(log: Path, raw: bytes, why: str, at: int) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    lines[at] = raw + b"\n"
    log.write_bytes(b"".join(lines))
    with pytest.raises(InputError) as caught:
        ids(log)
    said = str(caught.value)
    assert said.startswith(f"{log}: line {at + 1} is damaged (")
    assert why in said
    assert f"vaeval check {log.parent} --repair" in said
    assert "\n" not in said
    (damage,) = repair_log(log, Response)
    assert (damage.number, damage.raw) == (at + 1, raw + b"\n")
    assert ids(log) == [f"c/p{n + 1}" for n in range(3) if n != at]
    assert damaged_path(log).read_bytes() == raw + b"\n"
    assert repair_log(log, Response) == []


def test_an_error_while_writing_leaves_no_part_of_a_line(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes half of a line and then is full."""
    before, write = log.read_bytes(), os.write
    calls = []

    def full(handle: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data[: len(data) // 2])

    monkeypatch.setattr(logs.os, "write", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        append_jsonl(log, RESPONSE)
    assert caught.value.filename == str(log)
    assert len(calls) == 2
    assert log.read_bytes() == before


def test_what_is_appended_is_flushed_with_the_folder_of_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    fsync = os.fsync

    def seen(handle: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", seen)
    path = tmp_path / "new.jsonl"
    append_lines(path, ["{}\n"])
    assert flushed == [str(path), str(tmp_path)]
    append_lines(path, ["{}\n"])
    assert flushed[2:] == [str(path)]


def test_a_text_that_utf8_cannot_hold_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    append_jsonl(path, replace(RESPONSE, text="half a pair: \ud83d, ä"))
    (read,) = read_jsonl(path, Response)
    assert read.text == "half a pair: \ud83d, ä"


APPENDER = """
import sys
from pathlib import Path
from vaeval_tasks.store.log import append_lines
for n in range(150):
    append_lines(Path(sys.argv[1]), [f'{{"who": "{sys.argv[2]}", "n": {n}, "pad": "{"x" * 3000}"}}\\n'])
"""


def test_several_processes_append_to_one_log_while_it_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "exchanges.jsonl"
    path.write_bytes(b"damaged\n")
    workers = [subprocess.Popen([sys.executable, "-c", APPENDER, str(path), str(w)]) for w in range(3)]
    moved = []
    while any(w.poll() is None for w in workers):
        moved += repair_log(path, None)
        with path.open("ab") as file:  # damage for the next repair to replace the file under the writers
            if path.stat().st_size and path.read_bytes().endswith(b"\n"):
                break
            file.write(b"")
    for worker in workers:
        assert worker.wait() == 0
    moved += repair_log(path, None)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((r["who"], r["n"]) for r in rows) == sorted((str(w), n) for w in range(3) for n in range(150))
    assert [d.raw for d in moved] == [b"damaged\n"]


def vaeval(*args: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        code = main(list(args))
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_check_repairs_and_says_what_is_lost(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir(log.parent)
    run.write("prompts", [Prompt(prompt_id=f"p{n}", category="c", difficulty="L1") for n in (1, 2, 3)], made_by="test")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + lines[1][:60] + b"\n" + lines[2])
    (log.parent / "exchanges-1.jsonl").write_bytes(b'{"response_id": "c/p1"}\nnonsense\n')
    (log.parent / "judgements.jsonl").write_bytes(b'{"pair_id": "q1"}\n')
    code, out, _ = vaeval("check", str(run.root), capsys=capsys)
    assert code == 1
    for name, number in (("responses.jsonl", 2), ("exchanges-1.jsonl", 2), ("judgements.jsonl", 1)):
        assert f"{name}: line {number} is damaged" in out
    assert out.count("--repair") == 3
    code, out, _ = vaeval("check", str(run.root), "--repair", capsys=capsys)
    assert code == 0, out
    assert "responses.jsonl: line 2 moved to responses.jsonl.damaged (not JSON); lost: c/p2" in out
    assert "judgements.jsonl: line 1 moved to judgements.jsonl.damaged" in out
    assert "all is well" in out
    assert [r.response_id for r in run.responses()] == ["c/p1", "c/p3"]


def test_what_the_table_still_has_is_not_lost(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir(log.parent)
    run.write("responses", run.responses(), made_by="vaeval generate")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + lines[1][:60] + b"\n" + lines[2])
    code, out, _ = vaeval("check", str(run.root), "--repair", capsys=capsys)
    assert code == 0, out
    assert "c/p2 (another line or the table has it: not lost)" in out
    assert len(run.responses()) == 3
