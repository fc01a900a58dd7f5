"""A fake of xAI's realtime service: OpenAI's events, a session of another shape."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from vaeval_tasks.testing.realtime import VAD, RealtimeFake, RealtimeSession
from vaeval_tasks.testing.realtime_rules import RealtimeRefusal


class XaiFake(RealtimeFake):
    """xAI's service: voice, effort and turn detection at the top of the session, pings at any time."""

    models: ClassVar[set[str]] = {"grok-voice-think-fast-2.0"}
    voices: ClassVar[set[str]] = {"ara", "eve", "leo", "rex", "sal"}
    efforts: ClassVar[set[str]] = {"high", "none"}
    bare_parts = True

    def check_session(self, asked: dict[str, Any]) -> None:
        """Take any: this service's sessions have no type."""

    async def greet(self, session: RealtimeSession) -> None:
        """Say what the service says when a session opens."""
        await session.say("ping", timestamp=1)
        await session.say("conversation.created", conversation={"id": "conv_1", "object": "realtime.conversation"})
        await session.say("ping", timestamp=2)

    def defaults(self, model: str) -> dict[str, Any]:
        """Return the settings a session starts with."""
        form = {"type": "audio/pcm", "rate": 24000}
        return {
            "instructions": "",
            "voice": "eve",
            "reasoning": {"effort": "high"},
            "turn_detection": dict(VAD),
            "audio": {"input": {"format": form}, "output": {"format": form}},
        }

    def check(self, key: str, value: Any, where: str) -> None:
        """Refuse a wrong value of a setting."""
        if key == "format":
            if value.get("rate") not in (8000, 16000, 22050, 24000, 32000, 44100, 48000):
                raise RealtimeRefusal("invalid_value", "rate", where)
            return
        super().check(key, value, where)

    def shown(self, settings: dict[str, Any], behaviour: str) -> dict[str, Any]:
        """Return the settings as ``session.updated`` tells them."""
        copy = json.loads(json.dumps(settings))
        if behaviour == "keeps_vad":
            copy["turn_detection"] = VAD
        if behaviour == "changes_voice":
            copy["voice"] = "eve"
        return copy

    def vad(self, settings: dict[str, Any]) -> bool:
        """Whether turn detection is on."""
        return (settings["turn_detection"] or {}).get("type") is not None

    def voice(self, settings: dict[str, Any]) -> str:
        """Return the voice in the settings."""
        return settings["voice"].lower()
