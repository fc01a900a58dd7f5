"""What you write to bring a system of your own: a class with one method. The README of this folder shows one.

``provider: package.module:Class`` in a configuration file names the class. Systems that need ``asyncio`` implement
:class:`~vaeval_tasks.models.protocol.SpeechModel` instead, with the same class attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.protocol import Retry, TurnRole
from vaeval_tasks.models.providers import Address, Tree
from vaeval_tasks.models.turn import TurnError
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = [
    "Address",
    "CannotAnswer",
    "EarlierTurn",
    "ServiceError",
    "SpeechSystem",
    "SpokenAnswer",
    "SpokenRequest",
    "TryLater",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTurn:
    """A turn of the dialogue so far."""

    role: TurnRole
    """``user`` or ``assistant``; a text, too."""
    audio: bytes = b""
    """PCM16 little-endian mono at the request's rate; empty where an answer had no sound."""
    text: str = ""
    """The words of an answer; of a user's turn what the system itself heard, where it said so."""
    images: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenRequest:
    """What a system is asked: the user's turn, and all that belongs to it."""

    audio: bytes
    """What the user says: 16-bit little-endian mono PCM."""
    rate: int
    """Hz of every sound in the request: the class's own ``rate``."""
    config: ModelConfig
    """The configuration: ``voice``, ``thinking``, ``params``, ``connection``."""
    system_prompt: str = ""
    images: tuple[Path, ...] = ()
    """Image files; only systems that say they see get any."""
    earlier: tuple[EarlierTurn, ...] = ()
    """The dialogue before this turn, with the system's own answers."""
    role_voice: bytes = b""
    """The voice to answer in (role-play), PCM like ``audio``; empty where there is none."""
    seed: int = 0
    """Seeds sampling: the same request and seed should give the same answer."""

    @property
    def samples(self) -> NDArray[np.float32]:
        """The user's turn as float32 of shape (n,), in [-1, 1]."""
        return Clip.from_pcm16(self.audio, self.rate).samples


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenAnswer:
    """What a system answers. Anything of a wrong type becomes the status ``error`` of this response, and the reason."""

    audio: bytes | bytearray | NDArray[Any] | None
    """16-bit little-endian mono PCM as bytes, or samples of shape (n,): int16, or float in [-1, 1]. None: no sound."""
    rate: int
    """Hz of ``audio``, 4,000 to 192,000."""
    text: str = ""
    """The answer's words, as the system itself has them; a judge reads these."""
    input_transcript: str = ""
    """What the system heard, where it knows."""
    thoughts: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    """Tokens, seconds, whatever the system counts; JSON."""
    first_audio_s: float | None = None
    """Seconds from the end of the request to the first sound; by default the time until the whole answer was there."""


class CannotAnswer(TurnError):
    """Raise it where this request has no answer: it is kept as a result and not asked again.

    Args:
        reason: why.
        status: ``refused`` where the system declined, ``timeout``, ``unsupported``, or ``error``.
    """

    def __init__(self, reason: str, *, status: ResponseStatus = ResponseStatus.error) -> None:
        super().__init__(status, reason)


class TryLater(TurnError):
    """Raise it where the same request may succeed later, such as at a rate limit. It is asked up to 3 times more.

    Args:
        reason: why.
        seconds: how long to leave the system alone; the wait doubles from 1 s where this is shorter.
    """

    def __init__(self, reason: str, *, seconds: float = 0.0) -> None:
        super().__init__(ResponseStatus.error, reason, Retry(after_s=seconds))


class SpeechSystem:
    """A system that listens and speaks, one request at a time. The class is called without arguments.

    The class attributes say how it is asked. ``answer`` is called in a thread; with ``sessions`` of more than 1, in
    several at once. One object serves all configurations of one ``params.model`` and ``connection``, so everything
    else (voice, other parameters) must be read from each request.
    """

    sees: ClassVar[bool] = False
    """Whether it takes images; requests with images get the status ``unsupported`` otherwise."""
    rate: ClassVar[int] = 16_000
    """Hz of the sound in requests."""
    sessions: ClassVar[int] = 1
    """How many requests may run at once, unless the configuration or ``--sessions`` says otherwise."""
    params: ClassVar[Tree | tuple[str, ...] | None] = None
    """The ``params`` it knows, so that a misspelt one is refused. None: any."""
    required: ClassVar[tuple[str, ...]] = ()
    """The ``params`` without which nothing can be asked."""
    connection: ClassVar[Tree | tuple[str, ...] | None] = None
    """The keys of ``connection`` it knows, beside ``sessions`` and ``timeouts``. None: any."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Environment variables that must hold a key; looked for before the first request."""
    addresses: ClassVar[Mapping[str, Address]] = {}
    """Keys of ``connection`` that hold an address: the variable and the default that stand in for each."""

    def open(self, model: str, connection: Mapping[str, Any]) -> None:
        """Load weights or connect; called once, before the first request. Its time does not count as the answer's.

        Args:
            model: ``params.model``, empty where there is none.
            connection: that of the configuration, with every address filled in.

        Raises:
            ServiceError: this configuration can never be answered (wrong model, key or address).
        """

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        """Answer the user's turn.

        Raises:
            CannotAnswer: this request has no answer.
            TryLater: the same request may succeed later.
            ServiceError: this configuration can never be answered (refused key, voice or model): it is stopped, and
                its other responses are still to come. With ``retry=True``: nobody is there.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release what ``open`` took; called once if it was opened."""
