"""Answers that exist already: from a run folder, or from a folder of WAVs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.audio import write_wav
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.hosts.lm_eval.replay import ReplayLM
from vaeval_tasks.store.run import RunDir

TASK = "speaking_safety"


@pytest.fixture(autouse=True)
def _scorers(fake_scorers: Callable[..., Any]) -> None:
    fake_scorers()


def row(results: Any) -> dict[str, float]:
    return {k: v for k, v in results["results"][TASK].items() if k.startswith("vae_") and "stderr" not in k}


def test_a_run_folder_gives_its_own_scores_again(tmp_path: Path, evaluate: Any, fakes: Any) -> None:
    first = evaluate(fakes.ToneLM(run_dir=str(tmp_path / "first")), [TASK])
    again = evaluate(ReplayLM(responses=str(tmp_path / "first"), run_dir=str(tmp_path / "again")), [TASK])
    assert row(again) == row(first)
    assert {r.config_id for r in RunDir(tmp_path / "again").responses()} == {"first/default/default"}


def test_a_folder_of_wavs(tmp_path: Path, evaluate: Any, fakes: Any) -> None:
    source = tmp_path / "wavs"
    write_wav(source / "Speaking_Safety_0.wav", fakes.tone(300))
    (source / "Speaking_Safety_0.txt").write_text(fakes.WORDS + "\n")
    found = row(evaluate(ReplayLM(responses=str(source), run_dir=str(tmp_path / "run")), [TASK]))
    assert found["vae_missing,none"] == 1
    assert found["vae_consistency,none"] == pytest.approx(50)
    missing = next(r for r in RunDir(tmp_path / "run").responses() if not r.path)
    assert (missing.status, missing.error) == ("empty", f"no Speaking_Safety_1.wav in {source}")
    # a file that comes later is taken, below a folder of the task's name too
    write_wav(source / TASK / "Speaking_Safety_1.wav", fakes.tone(310))
    (source / "Speaking_Safety_0.wav").rename(source / TASK / "Speaking_Safety_0.wav")
    found = row(evaluate(ReplayLM(responses=str(source), run_dir=str(tmp_path / "run")), [TASK]))
    assert found["vae_missing,none"] == 0


def test_sound_without_text_is_judged_by_its_transcript(
    tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Any
) -> None:
    scorers = fake_scorers()
    for number in range(2):
        write_wav(tmp_path / "wavs" / f"Speaking_Safety_{number}.wav", fakes.tone(300))
    evaluate(ReplayLM(responses=str(tmp_path / "wavs"), run_dir=str(tmp_path / "run")), [TASK])
    assert [i.answer for i in scorers.judge.items] == [fakes.WORDS] * 2


def test_sources_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder; give responses=FOLDER"):
        ReplayLM(responses=str(tmp_path / "none"))
    run = RunDir(tmp_path)
    from vaeval_tasks.store.schema import Response, ResponseStatus

    one = Response(response_id="a", prompt_id="p", config_id="x/y/z", status=ResponseStatus.ok)
    run.append_response(one)
    run.append_response(replace(one, response_id="b", config_id="x/y/w"))
    with pytest.raises(InputError, match="holds several configurations; give config_id= one of x/y/w, x/y/z"):
        ReplayLM(responses=str(tmp_path))
    with pytest.raises(UnknownNameError, match="Did you mean 'x/y/z'"):
        ReplayLM(responses=str(tmp_path), config_id="x/y/zz")
