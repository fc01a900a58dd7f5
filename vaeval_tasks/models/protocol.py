"""What a speech-to-speech system is asked and what it answers.

Every adapter implements :class:`SpeechModel`. It answers one conversation that ends with a user turn;
dialogues are driven by the caller, who appends the model's own earlier answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from vaeval_tasks.audio import Clip
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["Conversation", "Reply", "Retry", "SpeechModel", "Turn", "TurnRole"]


class TurnRole(StrEnum):
    """Who speaks in a turn."""

    user = "user"
    assistant = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a conversation. An assistant turn carries the model's own words and, if it spoke, its WAV."""

    role: TurnRole
    audio: tuple[Path, ...] = ()
    """Clips in playing order: of a listening question the sound first, then the spoken question."""
    images: tuple[Path, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a model is asked: a system prompt and turns, the last one by the user."""

    turns: tuple[Turn, ...]
    system_prompt: str = ""
    """Overrides the configuration's prompt where it is not empty; ``<audio>`` marks the role's voice."""
    role_audio: Path | None = None
    """The voice to answer in (role-play), for models that take one."""
    seed: int = 0
    """Seeds local sampling, so that the same request gives the same answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Leave to ask again in a fresh session: nothing of the failed answer had been spoken."""

    after_s: float = 0.0
    """Seconds the provider wants to be left alone."""
    at_most: int = 3
    """How often this kind of failure may be tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered, in memory. A failure is a status with a reason, not an exception."""

    status: ResponseStatus
    text: str = ""
    """The model's own text of its answer."""
    audio: Clip | None = None
    """The final audio; None where the model gave none."""
    provisional: Clip | None = None
    """Audio the provider marked as not final; kept, never rated."""
    input_transcript: str = ""
    output_transcript: str = ""
    thoughts: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    first_audio_s: float | None = None
    """Seconds from the end of the user's speech as it was sent to the first audible sample; see ``Response``."""
    first_byte_s: float | None = None
    speech_pace: str = ""
    total_s: float | None = None
    request: dict[str, Any] = field(default_factory=dict)
    """The exact request, audio replaced by length and hash, without keys."""
    events: tuple[dict[str, Any], ...] = ()
    """Raw events in order, audio as ``bytes`` or as length and hash; only the latter is written to disk."""
    error: str = ""
    """Why there is no good answer, or what was odd about it."""
    retry: Retry | None = None
    """None where asking again is not allowed: the answer stands, good or bad."""


class SpeechModel(Protocol):
    """A system that listens and speaks."""

    @property
    def sees(self) -> bool:
        """Whether it takes images; a model that does not see gets no viewing score."""
        ...

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn of the conversation.

        Raises:
            InputError: this conversation can never be answered (an unreadable or empty clip).
            ServiceError: this configuration can never be answered (refused key, voice or model), or nobody is there.
            VaevalError: anything else the user must fix first (missing package, key or weights).
        """
        ...

    async def close(self) -> None:
        """Release servers, processes and connections."""
        ...
