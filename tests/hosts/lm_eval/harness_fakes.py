"""Small stand-ins for a speech system and for scorers, quick and deterministic, also under torchrun."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import ServiceError
from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.models.protocol import Conversation, Reply
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

WORDS = "the quick brown fox jumps over the lazy dog number"


def tone(hz: float, seconds: float = 0.2, rate: int = 16_000) -> Clip:
    t = np.arange(int(seconds * rate)) / rate
    return Clip((0.3 * np.sin(2 * np.pi * hz * t)).astype(np.float32), rate)


@dataclass
class ToneModel:
    """Answers with a tone; what it says depends only on what it was played."""

    sees: bool = True
    calls: Path | None = None
    fail: dict[str, ResponseStatus] = field(default_factory=dict)
    """Status by the call's number, counted from 1, as text."""
    asked: list[Conversation] = field(default_factory=list)
    stop_after: int | None = None

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append(conversation)
        if self.calls is not None:
            with self.calls.open("a") as file:
                file.write(f"{os.environ.get('RANK', '0')}\n")
        if status := self.fail.get(str(len(self.asked))):
            return Reply(status=status, error="made to fail")
        number = zlib.crc32(conversation.turns[-1].audio[-1].name.encode()) % 1000
        return Reply(status=ResponseStatus.ok, text=f"{WORDS} {number}", audio=tone(200 + number))

    async def close(self) -> None:
        return None


class ToneLM(SpeechLM):
    def __init__(self, *, model: ToneModel | None = None, voice: str = "sine", **common: Any) -> None:
        calls = os.environ.get("TONE_CALLS")
        self.tone = model or ToneModel(calls=Path(calls) if calls else None)
        super().__init__(config=ModelConfig(model="tone", provider="test", voice=voice), **common)

    def open(self) -> ToneModel:
        return self.tone


@dataclass
class FakeJudge:
    signature: str = "judge fake"
    items: list[JudgeItem] = field(default_factory=list)
    unreachable: bool = False
    silent_on: str = "-"

    def judge(self, items: Any) -> list[Scored]:
        if self.unreachable:
            raise ServiceError("the judge at http://127.0.0.1:9 cannot be reached")
        self.items += items
        return [self._one(i) for i in items]

    def _one(self, item: JudgeItem) -> Scored:
        if item.task.startswith(self.silent_on):
            return Scored(value=None, detail="no rule")
        return Scored(value=float(zlib.crc32(item.answer.encode()) % 2), detail="fake")


@dataclass
class FakeSpeech:
    signature: str = "mos fake"
    clips: int = 0

    def score(self, clips: Any) -> list[Scored]:
        self.clips += len(clips)
        return [Scored(value=3.0 + len(c.samples) % 2) for c in clips]


@dataclass
class FakeEars:
    signature: str = "ears fake"

    def transcribe(self, clips: Any) -> list[str]:
        return [WORDS for _ in clips]


@dataclass
class FakeSpeaker:
    signature: str = "speaker fake"

    def embed(self, clips: Any) -> list[Any]:
        return [np.array([0.6, 0.8], np.float32) if len(c.samples) else None for c in clips]


@dataclass
class FakeEmotion:
    signature: str = "emotion fake"

    def probabilities(self, clips: Any) -> list[Any]:
        return [{"happy": 0.81, "neutral": 0.185, "sad": 0.005} for _ in clips]


def scorers(**changes: Any) -> Scorers:
    parts: dict[str, Any] = {
        "judge": FakeJudge(),
        "speech": FakeSpeech(),
        "recogniser": FakeEars(),
        "speaker": FakeSpeaker(),
        "emotion": FakeEmotion(),
    }
    return Scorers(**(parts | changes))


def load_scorers(profile: str, **options: Any) -> Scorers:
    return scorers()
