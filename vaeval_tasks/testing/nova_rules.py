"""What Nova Sonic takes from a client: the order of events, and the end of a turn in its sound."""

from __future__ import annotations

from typing import Any

import numpy as np

RATE = 16000
NOVA_EVENTS = "sessionStart promptStart contentStart textInput audioInput contentEnd promptEnd sessionEnd".split()
"""What a client may send."""


class Endpointer:
    """Finds the ends of turns in 16-bit PCM: speech, then silence of the sensitivity's length."""

    def __init__(self, pause_s: float) -> None:
        self.pause = int(pause_s * RATE)
        self.speech = b""
        self.quiet = 0
        self.spoken = False

    def feed(self, data: bytes) -> bytes | None:
        """Return the speech of a turn that has just ended."""
        loud = np.abs(np.frombuffer(data, "<i2").astype(int)).max(initial=0) > 200
        if loud:
            self.spoken, self.quiet = True, 0
        elif self.spoken:
            self.quiet += len(data) // 2
        self.speech += data if self.spoken else b""
        if self.spoken and self.quiet >= self.pause:
            turn = self.speech.rstrip(b"\0")
            self.speech, self.quiet, self.spoken = b"", 0, False
            return turn + b"\0" * (len(turn) % 2)
        return None


class Order:
    """What may come when: session, prompt, contents one inside the other; system first, then history, then speech."""

    def __init__(self) -> None:
        self.session = self.ended = False
        self.prompt = ""
        self.open: dict[str, str] = {}
        self.names: set[str] = set()
        self.roles: list[str] = []

    def wrong(self, name: str, body: dict[str, Any]) -> str:
        """Return why an event may not come now, "" where it may."""
        if name not in NOVA_EVENTS:
            return "Input Chunk does not contain an event"
        if name == "sessionStart":
            first, self.session = not self.session, True
            return "" if first else "Session has already been started"
        if not self.session or self.ended:
            return "No open session found"
        if name == "sessionEnd":
            self.ended = True
            return "" if not self.prompt else "Prompt must be ended before the session"
        if name == "promptStart":
            before, self.prompt = self.prompt, str(body.get("promptName", ""))
            return "Prompt has already been started" if before else "" if self.prompt else "promptName is required"
        if body.get("promptName") != self.prompt or not self.prompt:
            return f"No open prompt found for prompt name: {body.get('promptName')}"
        if name == "promptEnd":
            self.prompt = ""
            return f"Content must be ended before the prompt: {sorted(self.open)}" if self.open else ""
        return self._content(name, str(body.get("contentName", "")), body)

    def _content(self, name: str, content: str, body: dict[str, Any]) -> str:
        if name == "contentStart":
            kind, role = str(body.get("type")), str(body.get("role"))
            if not content or content in self.names:
                return f"Content name must be new: {content}"
            if self.open:
                return "Content must be ended before the next"
            if kind not in ("TEXT", "AUDIO") or role not in ("SYSTEM", "USER", "ASSISTANT"):
                return f"Invalid content type or role: {kind} {role}"
            if f"{kind.lower()}InputConfiguration" not in body:
                return f"{kind.lower()}InputConfiguration is required"
            if role == "SYSTEM" and self.roles:
                return "SYSTEM content must be the first"
            self.names.add(content)
            self.roles.append(role)
            self.open[content] = kind
            return ""
        if content not in self.open:
            return f"No open content found for content name: {content}"
        if name == "contentEnd":
            del self.open[content]
            return ""
        return "" if name == f"{self.open[content].lower()}Input" else f"{name} in a content of {self.open[content]}"
