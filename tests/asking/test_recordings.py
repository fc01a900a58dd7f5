"""Recordings made elsewhere become the responses of a configuration: ``vaeval responses import``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from vaeval_tasks.audio import read_audio
from vaeval_tasks.cli import main
from vaeval_tasks.store.run import RunDir

Said = tuple[int, str, str]


@pytest.fixture
def run(make_run: Any, tmp_path: Path) -> RunDir:
    """A study of six prompts, p0000 to p0005."""
    made: RunDir = make_run(tmp_path / "run", 6)
    return made


@pytest.fixture
def bring(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call the verb; returns exit code, standard output and standard error."""

    def call(name: str = "ours/anna", folder: Path = tmp_path / "made") -> Said:
        try:
            code = main(["responses", "import", str(run.root), str(folder), "--config", name])
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def record(path: Path, seconds: float = 0.5, hertz: float = 300, loud: float = 0.3) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    t = np.arange(round(seconds * 24_000)) / 24_000
    tone = (loud * np.sin(2 * np.pi * hertz * t)).astype(np.float32)
    if path.suffix.lower() == ".opus":
        soundfile.write(path, tone, 24_000, format="OGG", subtype="OPUS")
    else:
        soundfile.write(path, tone, 24_000)
    return path


def test_every_kind_of_file_is_brought_in_and_what_is_missing_is_named(run: RunDir, bring: Any, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    for name in ("p0000.wav", "p0001.flac", "deep/er/p0002.mp3", "p0003.opus", "p0004.WAV", "notes.wav"):
        record(folder / name)
    (folder / "p0001.txt").write_text("\ufeffIt is four.\n", encoding="utf-8")
    code, out, err = bring()
    assert (code, out) == (0, f"{run.root}: ours/default/anna: 5 responses brought in, 0 were there\n")
    assert "1 prompts have no recording: p0005\n" in err
    assert f"1 sound files are named after no prompt: {folder / 'notes.wav'}\n" in err
    rows = {r.prompt_id: r for r in run.read("responses")}
    assert set(rows) == {"p0000", "p0001", "p0002", "p0003", "p0004"}
    for prompt, row in rows.items():
        assert (row.config_id, row.status.value, row.response_id) == (
            "ours/default/anna",
            "ok",
            f"ours/default/anna/{prompt}",
        )
        assert read_audio(run.root / row.path).seconds == pytest.approx(0.5, abs=0.06)
        assert row.first_audio_s is None, "nobody measured it"
    assert rows["p0001"].text == "It is four."
    assert RunDir(run.root).manifest()["tables"]["responses"]["made_by"] == "vaeval responses import"


def test_again_brings_only_what_has_come_since(run: RunDir, bring: Any, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    record(folder / "p0000.wav")
    bring()
    before = run.read("responses")
    record(folder / "p0003.wav")
    code, out, _ = bring()
    assert (code, "1 responses brought in, 1 were there" in out) == (0, True)
    assert [r for r in run.read("responses") if r.prompt_id == "p0000"] == before
    record(folder / "p0000.wav", hertz=500)
    code, _, err = bring()
    assert code == 1
    assert err.splitlines()[-1].startswith(f"Error: {folder / 'p0000.wav'}: has changed since it was brought in")
    assert [r for r in run.read("responses") if r.prompt_id == "p0000"] == before


def test_a_bad_recording_is_named_and_the_others_stay(run: RunDir, bring: Any, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    record(folder / "p0000.wav")
    (folder / "p0001.wav").write_bytes(b"RIFF\x24\x00\x00\x00WAVEgarbage that is no sound")
    (folder / "p0002.mp3").write_bytes(b"")
    record(folder / "p0003.wav")
    (folder / "p0003.txt").write_bytes("Zürich".encode("latin-1"))
    code, out, err = bring()
    assert (code, "1 responses brought in" in out) == (1, True)
    for name in ("p0001.wav", "p0002.mp3", "p0003.wav"):
        assert sum(line.startswith(f"{folder / name}: ") for line in err.splitlines()) == 1, err
    assert err.splitlines()[-1].startswith("Error: 3 recordings cannot be used, see above")
    assert "Traceback" not in err
    assert [r.prompt_id for r in run.read("responses")] == ["p0000"]
    shutil.copy(folder / "p0000.wav", folder / "p0001.wav")
    bring()
    assert [r.prompt_id for r in run.read("responses")] == ["p0000", "p0001"]


def test_silence_is_an_answer_without_use(run: RunDir, bring: Any, tmp_path: Path) -> None:
    record(tmp_path / "made" / "p0000.wav", loud=0)
    record(tmp_path / "made" / "p0001.wav", seconds=0)
    assert bring()[0] == 0
    assert {r.prompt_id: r.status.value for r in run.read("responses")} == {"p0000": "degenerate", "p0001": "empty"}


@pytest.mark.parametrize(
    ("files", "name", "why"),
    [
        ((), "ours", "no sound file is named after a prompt (.wav, .flac,"),
        (("x.wav",), "ours", "name them like p0000.wav"),
        (("p0000.wav", "b/p0000.mp3"), "ours", "is of the same prompt; keep one of them"),
        (("p0000.wav",), "a/b/c/d", "--config: expected model, model/voice or model/thinking/voice, got 'a/b/c/d'"),
        (("p0000.wav",), "a//c", "--config: expected model, model/voice or model/thinking/voice, got 'a//c'"),
    ],
)
def test_what_cannot_be_is_one_line(
    files: tuple[str, ...], name: str, why: str, run: RunDir, bring: Any, tmp_path: Path
) -> None:
    (tmp_path / "made").mkdir()
    for file in files:
        record(tmp_path / "made" / file)
    code, _, err = bring(name)
    assert code == 1
    assert [why in line for line in err.splitlines() if line.startswith("Error: ")] == [True], err
    assert not run.has("responses")
    assert not (run.root / "configs.yaml").exists()


def test_a_folder_or_run_that_is_not_there(run: RunDir, bring: Any, tmp_path: Path) -> None:
    code, _, err = bring(folder=tmp_path / "none")
    assert (code, err) == (1, f"Error: {tmp_path / 'none'}: no such folder\n")


def test_the_name_of_a_system_that_was_asked_is_its_own(run: RunDir, bring: Any, tmp_path: Path, serve: Any) -> None:
    serve("openai_realtime")
    main(["generate", str(run.root), "--config", "gpt-realtime-2.1/minimal/marin", "--limit", "1"])
    record(tmp_path / "made" / "p0001.wav")
    code, _, err = bring("gpt-realtime-2.1/minimal/marin")
    assert code == 1
    assert "'gpt-realtime-2.1/minimal/marin' is not what this run used before" in err


def test_generate_leaves_recordings_alone_and_pairs_hold_them(
    run: RunDir, bring: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        record(tmp_path / "made" / f"p{number:04}.wav")
        record(tmp_path / "theirs" / f"p{number:04}.flac", hertz=400)
    bring("ours")
    bring("theirs", tmp_path / "theirs")
    main(["generate", str(run.root)])
    assert "nothing was left to ask" in capsys.readouterr().out
    main(["pair", str(run.root), "--raters", "2", "--training", "0"])
    assert {(p.a, p.b) for p in run.read("pairs") if p.kind == "main"} == {
        ("ours/default/default", "theirs/default/default")
    }
    main(["check", str(run.root)])


def test_generate_says_where_recordings_come_from(run: RunDir, bring: Any, tmp_path: Path) -> None:
    record(tmp_path / "made" / "p0000.wav")
    bring("ours")
    with pytest.raises(SystemExit) as ended:
        main(["generate", str(run.root)])
    assert ended.value.code == 1


def test_a_killed_import_goes_on(run: RunDir, tmp_path: Path) -> None:
    """A kill loses nothing that was acknowledged, and the next call brings the rest."""
    for number in range(6):
        record(tmp_path / "made" / f"p{number:04}.wav", seconds=20)
    words = ["responses", "import", str(run.root), str(tmp_path / "made"), "--config", "ours"]
    process = subprocess.Popen([sys.executable, "-m", "vaeval_tasks.cli", *words], stderr=subprocess.PIPE)
    while process.poll() is None and not run.responses():
        pass
    process.kill()
    process.communicate()
    there = {r.prompt_id for r in run.responses()}
    main(words)
    assert there <= {r.prompt_id for r in run.read("responses")} == {f"p{n:04}" for n in range(6)}
