"""What is kept of an exchange with a provider: every event in order, with audio as length and hash, and no key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.transport.encoded import decode_base64
from vaeval_tasks.services.http.secrets import scrub
from vaeval_tasks.store.schema import SpeechPace

__all__ = [
    "Message",
    "Recorder",
    "audio_stub",
    "hide",
    "message",
]


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
    """The events of one attempt, and the moments that latency is measured between.

    One definition for every provider. Latency begins where the user's speech ends as it was sent: when its last bytes
    were handed to the network or, where speech goes out at the pace it was spoken, when its last sample was due. It
    ends with the first byte of the final answer, and with its first audible sample (-60 dBFS) as who plays the answer
    from its first byte on would hear it: silence at the beginning counts.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.events: list[dict[str, Any]] = []
        self.asked_at: float | None = None
        self.speaking_until: float | None = None
        """When the speech ends that goes out at the pace it was spoken."""
        self.pace = ""
        """How the speech went out; see ``SpeechPace``."""
        self.first_byte_at: float | None = None
        self.audible_at: float | None = None
        self.ended_at: float | None = None
        self.keys: tuple[str, ...] = ()
        """What was sent and must not be kept."""
        self._start = clock.now()

    def sent(self, message: dict[str, Any]) -> None:
        """Keep a message to the provider, its audio already replaced."""
        self._keep("sent", message)

    def received(self, message: dict[str, Any]) -> None:
        """Keep a message from the provider; where it has audio, that is ``bytes`` already."""
        if self.keys and not message.keys().isdisjoint(("error", "unreadable")):  # services repeat a key they refuse
            message = json.loads(scrub(json.dumps(message, default=str), *self.keys))
        self._keep("received", message)

    def asked(self, pace: SpeechPace = SpeechPace.whole) -> None:
        """Mark the end of the user's speech as it was sent."""
        due = self.speaking_until if pace is SpeechPace.spoken else None
        self.asked_at, self.pace = self.clock.now() if due is None else due, pace

    def heard(self) -> None:
        """Mark the whole final answer, where it comes at once."""
        self.first_byte_at = self.audible_at = self.clock.now()

    def heard_at(self, first_byte_at: float | None, audible_at: float | None) -> None:
        """Set when the final answer began, and when it could be heard; None where it did not."""
        self.first_byte_at, self.audible_at = first_byte_at, audible_at

    def ended(self) -> None:
        """Mark the end of the answer, where the session goes on for something else."""
        self.ended_at = self.clock.now()

    @property
    def first_byte_s(self) -> float | None:
        """Seconds from the end of the user's speech to the first byte of the final audio."""
        return self._since(self.first_byte_at)

    @property
    def first_audio_s(self) -> float | None:
        """Seconds from the end of the user's speech to the first audible sample of the final audio."""
        return self._since(self.audible_at)

    @property
    def total_s(self) -> float:
        """Seconds since the attempt began, to the end of the answer or until now."""
        return (self.clock.now() if self.ended_at is None else self.ended_at) - self._start

    def _since(self, moment: float | None) -> float | None:
        return None if self.asked_at is None or moment is None else max(0.0, moment - self.asked_at)

    def _keep(self, direction: str, message: dict[str, Any]) -> None:
        passed = self.clock.now() - self._start
        self.events.append({"ns": int(passed * 1e9), "direction": direction, "message": message})
