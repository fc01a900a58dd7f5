"""What is kept of an exchange with a provider: every event in order, with audio as length and hash, and no key."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.models.clock import Clock

__all__ = [
    "BadAudioError",
    "Message",
    "Recorder",
    "audio_stub",
    "decode_base64",
    "hide",
    "message",
]

_URL_SAFE = str.maketrans("-_", "+/")


class BadAudioError(Exception):
    """Audio in a message is not base64."""


def decode_base64(text: Any) -> bytes:
    """Decode base64 audio, in the usual or the URL-safe alphabet.

    Raises:
        BadAudioError: it is not base64 text.
    """
    try:
        plain = str(text or "")
        return base64.b64decode(plain.translate(_URL_SAFE) if "-" in plain or "_" in plain else plain, validate=True)
    except ValueError as error:
        raise BadAudioError(f"audio that is not base64 ({error}): {str(text)[:40]!r}") from None


def audio_stub(data: bytes) -> dict[str, Any]:
    """Return what stands for audio in a log."""
    return {"bytes": len(data), "sha256": sha256_bytes(data)}


def hide(message: dict[str, Any], *path: str) -> dict[str, Any]:
    """Return a copy of the message with the base64 audio at ``path`` replaced by its length and hash."""
    key, *rest = path
    inner = hide(message[key], *rest) if rest else audio_stub(decode_base64(message[key]))
    return {**message, key: inner}


@dataclass(frozen=True, slots=True)
class Message:
    """A JSON message that is ready to be sent as often as it is needed."""

    wire: bytes
    """UTF-8 JSON."""
    shown: dict[str, Any]
    """What is kept of it: its audio replaced."""


def message(content: dict[str, Any], shown: dict[str, Any] | None = None) -> Message:
    """Return content as a message; ``shown`` is what to keep of it where it holds audio."""
    return Message(json.dumps(content, ensure_ascii=False).encode(), content if shown is None else shown)


class Recorder:
    """The events of one attempt, and the two moments that latency is measured between."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.events: list[dict[str, Any]] = []
        self.asked_at: float | None = None
        self.heard_at: float | None = None
        self._start = clock.now()

    def sent(self, message: dict[str, Any]) -> None:
        """Keep a message to the provider, its audio already replaced."""
        self._keep("sent", message)

    def received(self, message: dict[str, Any]) -> None:
        """Keep a message from the provider; where it has audio, that is ``bytes`` already."""
        self._keep("received", message)

    def asked(self) -> None:
        """Mark the end of the request: the last of the user's speech is on its way."""
        self.asked_at = self.clock.now()

    def heard(self) -> None:
        """Mark final audio; only the first counts."""
        if self.heard_at is None:
            self.heard_at = self.clock.now()

    def unheard(self) -> None:
        """Take the mark back: what was heard turned out to be provisional."""
        self.heard_at = None

    @property
    def first_audio_s(self) -> float | None:
        """Seconds from the end of the request to the first final audio."""
        if self.asked_at is None or self.heard_at is None:
            return None
        return max(0.0, self.heard_at - self.asked_at)

    @property
    def total_s(self) -> float:
        """Seconds since the attempt began."""
        return self.clock.now() - self._start

    def _keep(self, direction: str, message: dict[str, Any]) -> None:
        self.events.append({"ns": int(self.total_s * 1e9), "direction": direction, "message": message})
