"""Scored run folders, made by the package's own scoring with scorers that read a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, wav_bytes, write_wav
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.scoring.results import score_run
from vaeval_tasks.scoring.suite import ROLEPLAY_TASK
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus

RATE = 8_000
TASK = "speaking_safety"
Answers = Mapping[str, Sequence[Mapping[str, Any]]]
"""By task, what each item's answer scores: content (1, 0 or None), mos, wer, audible, latency."""


class PlannedJudge:
    """Says what the answer's text says."""

    def __init__(self, signature: str) -> None:
        self.signature = signature

    def judge(self, items: Any) -> list[Scored]:
        said = [item.answer.split()[0] for item in items]
        return [Scored(value={"right": 1.0, "wrong": 0.0}.get(word), detail=f"judged {word}") for word in said]


class PlannedSpeech:
    """Reads the score off the loudness of the clip, which is made from it."""

    def __init__(self, signature: str) -> None:
        self.signature = signature

    def score(self, clips: Sequence[Clip]) -> list[Scored]:
        return [Scored(value=round(float(clip.peak) * 10, 2)) for clip in clips]


class PlannedRecogniser:
    """Hears everything, or for long clips half of it."""

    def __init__(self, signature: str) -> None:
        self.signature = signature

    def transcribe(self, clips: Sequence[Clip]) -> list[str]:
        return ["right or wrong" for _ in clips]


class PlannedSpeaker:
    """Takes louder clips for other voices."""

    signature = "speaker 1"

    def embed(self, clips: Sequence[Clip]) -> list[Any]:
        return [np.array([np.cos(clip.peak), np.sin(clip.peak)]) for clip in clips]


def scorers(**changes: str) -> Scorers:
    """Scorers whose signatures can be changed."""
    names = {"judge": "judge 1", "speech": "speech 1", "recogniser": "recogniser 1"} | changes
    return Scorers(
        judge=PlannedJudge(names["judge"]),
        speech=PlannedSpeech(names["speech"]),
        recogniser=PlannedRecogniser(names["recogniser"]),
        speaker=PlannedSpeaker(),
        emotion=None,
    )


def tone(mos: float) -> Clip:
    return Clip(
        (mos / 10 * np.sin(np.arange(800) * 0.3) / np.max(np.sin(np.arange(800) * 0.3))).astype(np.float32), RATE
    )


@pytest.fixture
def scored_run(tmp_path: Path) -> Callable[..., RunDir]:
    """Make a scored run folder: ``scored_run("old", {"speaking_safety": [{"content": 1, "mos": 4}, …]})``."""

    def make(
        name: str,
        answers: Answers,
        *,
        config: str = "",
        signed: Mapping[str, str] | None = None,
        revision: str = "abc",
        items: Mapping[str, Any] | None = None,
        first: int = 0,
        score: bool = True,
    ) -> RunDir:
        run = RunDir(tmp_path / name)
        config_id = config or f"{name}/default/default"
        documents, responses = [], []
        for task, given in answers.items():
            run.note_within("data", **{task: revision})
            for number, answer in enumerate(given, first):
                key = f"i{number:04d}"
                about: dict[str, Any] = {"question": f"Question {number}?", "references": ("right",)} | dict(
                    items or {}
                )
                about |= answer.get("item", {})
                if task == ROLEPLAY_TASK:
                    about["role_audio"] = str(tmp_path / "role.wav") if answer.get("role", True) else ""
                documents.append(Item(item_id=key, task=task, **about))
                responses.append(_response(run, config_id, task, key, answer))
        write_wav(tmp_path / "role.wav", tone(1.0))
        run.append("items", *documents)
        run.append("responses", *responses)
        if score:
            score_run(run, latest(run.responses()), scorers(**(signed or {})))
        return run

    return make


def _response(run: RunDir, config_id: str, task: str, key: str, answer: Mapping[str, Any]) -> Response:
    verdict = {1: "right", 0: "wrong", None: "unclear"}[answer.get("content", 1)]
    path = ""
    if answer.get("audible", True):
        path = f"audio/responses/{config_id.replace('/', '_')}-{task}-{key}.wav"
        (run.root / path).parent.mkdir(parents=True, exist_ok=True)
        (run.root / path).write_bytes(wav_bytes(tone(answer.get("mos", 4.0))))
    changes = {name: answer[name] for name in ("status", "created", "response_id") if name in answer}
    given: dict[str, Any] = {
        "response_id": f"{config_id}-{task}-{key}",
        "prompt_id": key,
        "config_id": config_id,
        "status": ResponseStatus.ok,
        "text": f"{verdict} or wrong",
        "path": path,
        "task": task,
        "first_audio_s": answer.get("latency"),
        "total_s": answer.get("total"),
        "speech_pace": answer.get("pace", ""),
    }
    return Response(**(given | changes))


def drawn(seed: int, n: int, right: float = 0.7, mos: float = 4.0, **fixed: Any) -> list[dict[str, Any]]:
    """Answers at random: so many right, such a mean MOS."""
    rng = np.random.default_rng(seed)
    return [
        {
            "content": int(rng.random() < right),
            "mos": round(float(np.clip(rng.normal(mos, 0.4), 1, 5)), 1),
            "latency": round(float(rng.gamma(4, 0.2)), 3),
            **fixed,
        }
        for _ in range(n)
    ]
