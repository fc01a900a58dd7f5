"""``vaeval check`` finds every kind of damage and stays silent on a whole run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.files import sha256_file
from vaeval_tasks.store.check import check
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt, Response, ResponseStatus, Score


@pytest.fixture
def run(tmp_path: Path, tone: Clip) -> RunDir:
    run = RunDir(tmp_path)
    write_wav(run.response_audio / "r1.wav", tone)
    run.write("prompts", [Prompt(prompt_id="p1", category="advice", difficulty="L1")], made_by="test")
    response = Response(
        response_id="r1",
        prompt_id="p1",
        config_id="c",
        status=ResponseStatus.ok,
        path="audio/responses/r1.wav",
        sha256=sha256_file(run.response_audio / "r1.wav"),
    )
    run.write("responses", [response], made_by="test")
    run.write("scores", [Score(response_id="r1", metric="m", value=1.0, signature="s")], made_by="test")
    return run


def test_a_whole_run(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(run) == []
    assert main(["check", str(run.root)]) == 0
    assert "prompts, responses, scores: all is well" in capsys.readouterr().out


def test_every_damage_is_told(run: RunDir, tone: Clip, capsys: pytest.CaptureFixture[str]) -> None:
    response = run.read("responses")[0]
    write_wav(run.response_audio / "r1.wav", Clip(tone.samples / 2, tone.rate))
    lost = replace(response, response_id="r2", prompt_id="p9", path="audio/responses/r2.wav")
    run.write("responses", [response, lost], made_by="test")
    run.write("scores", [Score(response_id="r7", metric="m", value=1.0, signature="s")], made_by="test")
    prompt = run.read("prompts")[0]
    run.write("prompts", [prompt, prompt], made_by="test")
    run.path("pairs").write_bytes(b"nonsense")
    with pytest.raises(SystemExit) as caught:
        main(["check", str(run.root)])
    assert caught.value.code == 1
    told = capsys.readouterr().out
    for part in (
        "its hash differs",
        "r2.wav is missing",
        "1 values of prompt_id are not in prompts (p9)",
        "1 values of response_id are not in responses (r7)",
        "prompt_id 'p1' occurs twice",
        "pairs.parquet: cannot be read as parquet",
    ):
        assert part in told


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", str(tmp_path)])
    assert caught.value.code == 1
    assert "holds no table" in capsys.readouterr().err
