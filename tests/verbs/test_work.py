"""The functions that do work in a run folder: asking, within a running loop too, and scoring."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.fixtures import authority, environment, make_speech, serve

import vaeval_tasks as vaeval
from vaeval_tasks import progress
from vaeval_tasks.audio import write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.errors import ServiceError, UnknownNameError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.metrics import profiles
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.models.configs import published
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Prompt, Response, ResponseStatus

__all__ = ["authority", "environment", "make_speech", "serve"]

MARIN = "gpt-realtime-2.1/minimal/marin"


@pytest.fixture
def runs(tmp_path: Path, make_speech: Any) -> list[RunDir]:
    """Two runs of the same three prompts."""
    made = []
    for name in ("python", "verb"):
        run = RunDir(tmp_path / name)
        prompts = []
        for number in range(3):
            path = Path("audio") / f"p{number}.wav"
            write_wav(run.root / path, make_speech(0.25, seed=number))
            digest = sha256_file(run.root / path)
            prompts.append(
                Prompt(
                    prompt_id=f"p{number}", category="c", difficulty="L1", path=str(path), sha256=digest, seconds=0.25
                )
            )
        run.write("prompts", prompts, made_by="test")
        made.append(run)
    return made


def answered(run: RunDir) -> list[Any]:
    return [(r.response_id, r.status, r.text, r.sha256) for r in run.read("responses")]


def test_generate_within_a_running_loop_is_the_verb(
    runs: list[RunDir], serve: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    serve("openai_realtime")

    async def cell() -> Any:  # as a notebook runs it
        return vaeval.generate(runs[0], configs=[published()[MARIN]], sessions={"openai_realtime": 2})

    found = asyncio.run(cell())
    assert capsys.readouterr() == ("", "")
    assert (found.statuses, found.left, found.stopped) == ({"ok": 3}, 0, {})
    assert main(["generate", str(runs[1].root), "--config", MARIN]) == 0
    assert "3 ok" in capsys.readouterr().out
    assert answered(runs[0]) == answered(runs[1])
    again = vaeval.generate(str(runs[0].root))
    assert (again.statuses, again.to_json()["rows"]) == ({}, [])
    forecast = vaeval.generate(runs[0], configs="gpt-realtime-2.1/minimal/*", sessions=4, limit=2, dry_run=True)
    assert [(s.requests, s.done, s.sessions) for s in forecast.shares] == [(2, 2, 4)]
    assert "openai_realtime" in repr(forecast)


def test_a_configuration_that_cannot_go_on_is_told(
    runs: list[RunDir], serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve("openai_realtime")
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    found = vaeval.generate(runs[0], configs=MARIN)
    assert list(found.stopped) == [MARIN]
    assert found.left == 3
    assert "stopped" in repr(found)
    with pytest.raises(ServiceError, match="3 responses are still to come"):
        found.raise_for_stopped()
    with pytest.raises(UnknownNameError, match="Did you mean"):
        vaeval.generate(runs[0], configs=MARIN + "n")


class _Judge:
    signature = "judge|test"

    def judge(self, items: Any) -> list[Scored]:
        return [Scored(value=1.0) for _ in items]


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDir:
    """A run with two answers to documents, and a judge in the place of the profile's."""
    run = RunDir(tmp_path / "answers")
    for task in ("speaking_safety", "speaking_assistant"):
        run.append("items", Item(item_id="i", task=task))
        response = Response(
            response_id=task, prompt_id="i", task=task, config_id="m/d/d", status=ResponseStatus.ok, text="words"
        )
        run.append("responses", response)
    scorers = Scorers(judge=_Judge(), speech=None, recogniser=None, speaker=None, emotion=None)
    monkeypatch.setattr(profiles, "load_scorers", lambda *_, **__: scorers)
    return run


def test_score_is_the_verb(answers: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    found = vaeval.score(answers.root, profile="offline")
    assert capsys.readouterr() == ("", "")
    assert main(["score", str(answers.root), "--profile", "offline", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    ours = json.loads(json.dumps(found.to_json()))
    assert {**ours, "made": ""} == {**printed, "made": ""}
    frame = found.to_pandas()
    assert set(frame["task"]) > {"speaking_safety", "speaking", "overall"}
    assert "speaking_safety" in repr(found)
    with pytest.raises(UnknownNameError, match="Did you mean 'speech'"):
        vaeval.score(answers, scorer={"speach": "x"})


class _Terminal:
    """Standard error that says it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("shown", [True, False])
def test_a_bar_is_shown_on_a_terminal_unless_it_is_not_wanted(
    shown: bool, answers: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    rows = [{"prompt": f"p{i}", "a": "x", "b": "y", "rater": i % 3, "score": i % 2} for i in range(6)]
    vaeval.score(answers, profile="offline", progress=shown)
    assert bool(terminal.text) == shown
    terminal.text = ""
    vaeval.agree([*rows, {**rows[0], "prompt": "q", "score": -1}], splits=20, progress=shown)
    assert bool(terminal.text) == shown


def test_silence_reaches_every_bar_below(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.progress_shown(False), progress.progress_shown(True):
        assert list(progress.tracked("abc", "letters", "letter", total=3)) == ["a", "b", "c"]
    assert terminal.text == ""
