"""Every place that takes a file of ours meets the same broken files: one line, exit 1, file and row or field."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.errors import VaevalError
from vaeval_tasks.hosts.evaluate.preference import pasted
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt, Response, ResponseStatus


@dataclass(frozen=True)
class Door:
    """A header and a good row of a file, and what takes it (its arguments, the file's path last)."""

    header: str
    row: str
    arguments: tuple[str, ...]


COMPARED = "prompt,a,b,rater,score", "p,x,y,r,1"
DOORS = {
    "rank": Door(*COMPARED, ("rank",)),
    "agree": Door(*COMPARED, ("agree",)),
    "cluster": Door(*COMPARED, ("cluster",)),
    "mos": Door("prompt,config,rater,score", "p,x,r,1", ("mos",)),
    "themes": Door("prompt,config,rater,text", "p,x,r,good", ("themes",)),
    "report": Door(
        "rubric,model,cmos_elo,cmos_elo_lo,cmos_elo_hi",
        "overall,x,1,0,2",
        ("report", "--out", "{folder}/x.html", "--published"),
    ),
    "manifest": Door("script_id,category,difficulty", "s1,help,L1", ("prompts", "check", "--asr", "none")),
    "reviews": Door(
        "script_id,take,verdict",
        "s1,s1.wav,accept",
        ("prompts", "check", "--asr", "none", "{folder}/scripts.yaml", "--reviews"),
    ),
    "gold": Door("prompt_id,a,b,expect", "p1,x,y,overall:2:3", ("pair", "{folder}/run", "--gold")),
    "pasted": Door("a,b,score", "x,y,1", ()),
}


def _last(text: str) -> str:
    return text.rpartition(",")[0]


# name: the file's bytes from the header and a good row, and what the message says beside the file's name
BROKEN: dict[str, tuple[Callable[[str, str], bytes], tuple[str, ...]]] = {
    "an extra cell": (lambda h, r: f"{h}\n{r}\n{r},9\n".encode(), ("row 2", "cells, the header has")),
    "a missing cell": (lambda h, r: f"{h}\n{r}\n{_last(r)}\n".encode(), ("row 2", "cells, the header has")),
    "a byte order mark, then a missing cell": (
        lambda h, r: f"\ufeff{h}\r\n{_last(r)}\r\n".encode(),
        ("row 1", "cells, the header has"),
    ),
    "a doubled column": (lambda h, r: f"{h},{h.split(',')[0]}\n{r},1\n".encode(), ("field", "two columns")),
    "a blank column": (lambda h, r: f"{h},\n{r},\n".encode(), ("column", "has no name")),
    "a column of another name": (
        lambda h, r: f"zz{h}\n{r}\n".encode(),
        ("field", "zz"),
    ),
    "latin-1": (lambda h, r: f"{h}\n{r}\n{r}é\n".encode("latin-1"), ("row 2", "0xe9 is not utf-8")),
    "a NUL byte": (lambda h, r: f"{h}\n{r}\n{r}\0\n".encode(), ("row 2", "NUL")),
    "an unclosed quote": (lambda h, r: f'{h}\n{r}\n{_last(r)},"{r}\n{r}\n'.encode(), ("row 2", "quote")),
    "text behind a quote": (lambda h, r: f'{h}\n{r}\n{_last(r)},"a"b\n'.encode(), ("row 2", "not CSV")),
    "an empty file": (lambda h, r: b"", ("is empty",)),
    "blank lines": (lambda h, r: b"\n\n \n", ("is empty",)),
    "a header alone": (lambda h, r: f"{h}\n".encode(), ("there are no rows",)),
}
FILES: dict[str, tuple[str, Callable[[bytes], bytes] | None, str]] = {
    "no file": ("none.csv", None, "no such file"),
    "not gzip": ("t.csv.gz", lambda good: good, "cannot be read as gzip"),
    "half a gzip file": ("t.csv.gz", lambda good: gzip.compress(good)[:-9], "cannot be read as gzip"),
    "another ending": ("t.doc", lambda good: good, "use .csv, .tsv, .jsonl, .ndjson, .json, .yaml, .yml, .parquet"),
}


ANALYSES = ("rank", "agree", "cluster", "mos", "themes")


@pytest.fixture
def folder(tmp_path: Path, tone: Clip) -> Path:
    """What the doors need beside the file: a manifest with a take, and a run of two configurations."""
    (tmp_path / "scripts.yaml").write_text("- {script_id: s1, category: help, difficulty: L1}\n")
    (tmp_path / "s1.wav").write_bytes(b"")
    run = RunDir(tmp_path / "run")
    run.root.mkdir()
    run.write("prompts", [Prompt(prompt_id="p1", category="c", difficulty="L1")], made_by="test")
    for name in ("x", "y"):
        path = run.response_audio / f"{name}.wav"
        write_wav(path, tone)
        run.append_response(
            Response(
                response_id=name,
                prompt_id="p1",
                config_id=name,
                status=ResponseStatus.ok,
                path=path.relative_to(run.root).as_posix(),
                sampling_rate=tone.rate,
                seconds=1.0,
            )
        )
    return tmp_path


def told(door: str, path: Path, folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """Let a door take a file and return the one line it refuses it with."""
    arguments = [argument.replace("{folder}", str(folder)) for argument in DOORS[door].arguments]
    with pytest.raises(SystemExit) as left:
        main([*arguments, str(path), *more])
    said = capsys.readouterr()
    assert (left.value.code, said.out) == (1, "")
    assert len(said.err.splitlines()) == 1, said.err
    assert said.err.startswith(f"Error: {path}")
    return said.err


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("door", DOORS)
def test_a_broken_file_is_refused_alike_at_every_door(
    door: str, broken: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, parts = BROKEN[broken]
    raw = make(DOORS[door].header, DOORS[door].row)
    if door == "pasted":
        if broken == "latin-1":
            pytest.skip("pasted text has no encoding")
        with pytest.raises(VaevalError) as caught:
            pasted(raw.decode(), DOORS[door].header.split(","))
        line = str(caught.value)
        assert line.startswith("pasted table")
        assert "\n" not in line
    else:
        (folder / "t.csv").write_bytes(raw)
        # these doors find the encoding where none is named
        named = ["--encoding", "utf-8"] if broken == "latin-1" and door in ANALYSES else []
        line = told(door, folder / "t.csv", folder, capsys, *named)
    for part in parts:
        assert part in line


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("door", [name for name in DOORS if name != "pasted"])
def test_a_file_of_no_use_is_refused_alike_at_every_door(
    door: str, kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, make, part = FILES[kind]
    if make is not None:
        (folder / name).write_bytes(make(f"{DOORS[door].header}\n{DOORS[door].row}\n".encode()))
    assert part in told(door, folder / name, folder, capsys)


def test_ratings_may_come_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"p{i},{a},{b},r{i % 3},{i * i % 5 - 2}" for i in range(6) for a, b in ("xy", "yz", "zx")]
    raw = "\n".join([COMPARED[0], *rows]).encode()
    (tmp_path / "t.csv").write_bytes(raw)
    main(["rank", str(tmp_path / "t.csv"), "--ci", "sandwich"])
    of_file = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    main(["rank", "-", "--ci", "sandwich"])
    assert capsys.readouterr().out == of_file
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw + b"\np,x,y,r\n")))
    with pytest.raises(SystemExit):
        main(["rank", "-"])
    assert capsys.readouterr().err == "Error: standard input, row 19: has 4 cells, the header has 5\n"


@pytest.mark.parametrize("door", ["report", "manifest", "reviews", "gold"])
def test_a_folder_is_no_file(door: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.csv").mkdir()
    assert "is a folder, not a file" in told(door, folder / "t.csv", folder, capsys)


@pytest.mark.parametrize("door", ["rank", "agree", "cluster", "mos", "themes"])
def test_a_folder_that_is_no_run(door: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.csv").mkdir()
    assert "the run has no" in told(door, folder / "t.csv", folder, capsys)
