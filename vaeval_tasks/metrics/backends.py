"""What a scoring backend is: five small protocols, and the records that cross them.

A backend scores a batch and gives one :class:`Scored` for each input, in order. What cannot be scored
is a value of None with its reason, never an exception for one item and never a made-up number. Only a
problem of the whole batch (weights missing, judge unreachable) raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip

__all__ = [
    "ContentJudge",
    "EmotionRecogniser",
    "JudgeItem",
    "Recogniser",
    "Scored",
    "SpeakerEncoder",
    "SpeechQuality",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One value, or None with the reason; ``detail`` is what was read on the way."""

    value: float | None
    detail: str = ""
    again: bool = False
    """Whether a value may be had another time: the scorer was not there, not asked, or too busy. A value that is None
    for good is not asked for again unless the user says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeItem:
    """What a judge reads of one response."""

    task: str
    """A task name such as ``listening_general``."""
    question: str
    answer: str
    """The response's text (for ``speaking_multi_round`` the whole dialogue)."""
    references: tuple[str, ...] = ()
    system_prompt: str = ""
    user_emotion: str = ""
    assistant_emotions: str = ""
    """The emotions heard in the response audio, such as ``happy (0.81), neutral (0.12)``."""


class ContentJudge(Protocol):
    """Decides whether an answer is right or good: 1, 0, or None where it gives no verdict."""

    @property
    def signature(self) -> str:
        """Backend, model, weight checksum and settings: two scores compare only where this agrees."""
        ...

    def judge(self, items: Sequence[JudgeItem]) -> list[Scored]:
        """Return a verdict for each item.

        Raises:
            ServiceError: the judge could not be reached.
        """
        ...


class SpeechQuality(Protocol):
    """Predicts a mean opinion score, 1 to 5."""

    @property
    def signature(self) -> str:
        """Backend, model, weight checksum and settings: two scores compare only where this agrees."""
        ...

    def score(self, clips: Sequence[Clip]) -> list[Scored]:
        """Return a MOS for each clip; clips that are silent or too short have none."""
        ...


class Recogniser(Protocol):
    """Writes down what was said."""

    @property
    def signature(self) -> str:
        """Backend, model, weight checksum and settings: two scores compare only where this agrees."""
        ...

    def transcribe(self, clips: Sequence[Clip]) -> list[str]:
        """Return a transcript for each clip; a clip without speech gives an empty one."""
        ...


class SpeakerEncoder(Protocol):
    """Turns a voice into a vector."""

    @property
    def signature(self) -> str:
        """Backend, model, weight checksum and settings: two scores compare only where this agrees."""
        ...

    def embed(self, clips: Sequence[Clip]) -> list[NDArray[np.float32] | None]:
        """Return a unit vector for each clip, None where there is too little speech."""
        ...


class EmotionRecogniser(Protocol):
    """Hears emotions."""

    @property
    def signature(self) -> str:
        """Backend, model, weight checksum and settings: two scores compare only where this agrees."""
        ...

    def probabilities(self, clips: Sequence[Clip]) -> list[dict[str, float] | None]:
        """Return the probability of each emotion for each clip, None where nothing can be heard."""
        ...
