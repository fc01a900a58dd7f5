"""A fake of Gemini Live: JSON in binary frames, names in snake_case or camelCase, errors as close codes."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from typing import Any, ClassVar

from aiohttp import WSMsgType, web

from vaeval_tasks.testing.server import KEY, Fake, abort, answer_pcm, pieces

URL_SAFE = str.maketrans("-_", "+/")
"""Proto JSON takes both alphabets, and Google's client sends this one."""


def camel(value: Any) -> Any:
    """Return JSON with every key in camelCase, as a proto parser reads it."""
    if isinstance(value, list):
        return [camel(v) for v in value]
    if isinstance(value, dict):
        return {re.sub(r"_(\w)", lambda m: m.group(1).upper(), k): camel(v) for k, v in value.items()}
    return value


SETUP = {
    "model",
    "generationConfig",
    "systemInstruction",
    "tools",
    "realtimeInputConfig",
    "sessionResumption",
    "contextWindowCompression",
    "inputAudioTranscription",
    "outputAudioTranscription",
    "proactivity",
    "explicitVadSignal",
    "historyConfig",
}
"""The fields of ``setup``."""
INPUTS = {"audio", "video", "text", "activityStart", "activityEnd", "audioStreamEnd"}
"""The fields of ``realtimeInput``, one a message."""


class GeminiClosed(Exception):
    """The session is closed with a code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class GeminiSession:
    """One connection: the setup, the audio so far, and what the service says."""

    def __init__(self, fake: GeminiFake, ws: web.WebSocketResponse) -> None:
        self.fake, self.ws = fake, ws
        self.behaviour = fake.next_behaviour()
        self.log: dict[str, Any] = {"behaviour": self.behaviour, "setup": None, "messages": []}
        fake.sessions.append(self.log)
        self.audio = b""
        self.turns: list[dict[str, Any]] = []
        self.images = 0
        self.waits_for_history = False

    async def say(self, message: dict[str, Any]) -> None:
        """Send a message, in a binary frame."""
        names = {*message, *(f"serverContent.{key}" for key in message.get("serverContent", ()))}
        await self.fake.deliver(names, message, self.send)

    async def send(self, content: Any) -> None:
        """Send JSON, or a text or bytes as they are."""
        if isinstance(content, str):
            await self.ws.send_str(content)
        else:
            await self.ws.send_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())

    async def run(self) -> None:
        """Read until one side closes."""
        try:
            async for message in self.ws:
                if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                    break
                await self.on(camel(json.loads(message.data)))
        except GeminiClosed as closed:
            await self.ws.close(code=closed.code, message=closed.reason.encode())

    async def on(self, message: dict[str, Any]) -> None:
        """Act on a message of the client."""
        self.log["messages"].append(next(iter(message)))
        if "setup" in message:
            await self.set_up(message["setup"])
        elif self.log["setup"] is None:
            raise GeminiClosed(1007, "the first message must be setup")
        elif "clientContent" in message:
            self.take_history(message["clientContent"])
        elif "realtimeInput" in message:
            await self.on_input(message["realtimeInput"])
        else:
            raise GeminiClosed(1007, f"unknown message {next(iter(message))}")

    def take_history(self, content: dict[str, Any]) -> None:
        """Take earlier turns; they are complete when the client says so, and there is no other use of them."""
        if not self.waits_for_history or content.keys() - {"turns", "turnComplete"}:
            raise GeminiClosed(1007, "Request contains an invalid argument.")
        if any(turn.get("role") not in ("user", "model") for turn in content.get("turns", ())):
            raise GeminiClosed(1007, "Please use a valid role: user, model.")
        self.turns += content.get("turns", [])
        self.log["turns"] = self.turns
        self.waits_for_history = not content.get("turnComplete")

    async def set_up(self, setup: dict[str, Any]) -> None:
        """Check the setup and accept it."""
        self.log["setup"] = setup
        if unknown := setup.keys() - SETUP:
            reason = f"Invalid JSON payload received. Unknown name \"{sorted(unknown)[0]}\" at 'setup'"
            raise GeminiClosed(1007, reason)
        if self.behaviour == "setup_1008":
            raise GeminiClosed(1008, "Operation is not implemented, or supported, or enabled.")
        places = ("models", "projects/p/locations/l/publishers/google/models")
        if setup.get("model") not in {f"{place}/{m}" for place in places for m in self.fake.models}:
            raise GeminiClosed(1008, f"{setup.get('model')} is not found for API version v1beta")
        config = setup.get("generationConfig") or {}
        self.voice = config["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"]
        if self.voice not in self.fake.voices:
            raise GeminiClosed(1007, f"voice {self.voice} is not supported")
        self.level = (config.get("thinkingConfig") or {}).get("thinkingLevel", "MINIMAL")
        if self.level not in ("MINIMAL", "LOW", "MEDIUM", "HIGH"):
            raise GeminiClosed(1007, f"thinkingLevel {self.level}")
        detection = (setup.get("realtimeInputConfig") or {}).get("automaticActivityDetection") or {}
        self.manual = detection.get("disabled") is True
        self.transcribes = "outputAudioTranscription" in setup
        self.waits_for_history = bool((setup.get("historyConfig") or {}).get("initialHistoryInClientContent"))
        await self.say({"setupComplete": {"sessionId": "s1"}})

    async def on_input(self, given: dict[str, Any]) -> None:
        """Take audio or images; answer when the activity ends. Before the history is complete nothing is heard."""
        if len(given) != 1 or given.keys() - INPUTS:
            raise GeminiClosed(1007, "Request contains an invalid argument.")
        if self.waits_for_history:
            return
        if audio := given.get("audio"):
            data = base64.b64decode(audio["data"].translate(URL_SAFE))
            if audio.get("mimeType") != "audio/pcm;rate=16000" or len(data) % 2:
                raise GeminiClosed(1007, "audio must be audio/pcm;rate=16000 with whole samples")
            self.audio += data
        elif "video" in given:
            self.images += 1
        elif "activityEnd" in given and self.manual:  # without manual mode it is ignored, and nothing is answered
            self.log["audio"] = self.audio
            await asyncio.sleep(self.fake.delay)
            await getattr(self, f"_{self.behaviour}", self._happy)()

    def answer(self) -> bytes:
        """Return the final audio of the happy case."""
        return self.fake.answer(self.audio, self.voice, self.level, len(self.turns))

    async def sound(self, data: bytes, size: int = 4800) -> None:
        """Send sound in pieces."""
        for piece in pieces(data, size):
            blob = {"mimeType": "audio/pcm;rate=24000", "data": base64.b64encode(piece).decode()}
            await self.say({"serverContent": {"modelTurn": {"role": "model", "parts": [{"inlineData": blob}]}}})

    async def end(self, status: str | None = "IDLE") -> None:
        """End the turn."""
        await self.say({"serverContent": {"generationComplete": True}})
        content: dict[str, Any] = {"turnComplete": True}
        if status:
            content["interactionStatus"] = status
        usage = {"promptTokenCount": 3, "responseTokenCount": 4, "totalTokenCount": 9, "thoughtsTokenCount": 2}
        await self.say({"serverContent": content, "usageMetadata": usage})

    async def _happy(self) -> None:
        await self.sound(self.answer())
        await self.say({"serverContent": {"outputTranscription": {"text": "It is "}}})
        await self.say({"serverContent": {"outputTranscription": {"text": "four.", "finished": True}}})
        await self.end()

    async def _no_status(self) -> None:
        await self.sound(self.answer())
        await self.say({"serverContent": {"outputTranscription": {"text": "It is four."}}})
        await self.end(None)

    async def _thoughts(self) -> None:
        thought = {"text": "Two and two.", "thought": True}
        await self.say({"serverContent": {"modelTurn": {"role": "model", "parts": [thought]}}})
        await self._happy()

    async def _provisional(self) -> None:
        await self.sound(answer_pcm("provisional"))
        await self.say({"serverContent": {"outputTranscription": {"text": "Let me see."}}})
        await self.end("IN_PROGRESS")
        await self._happy()

    async def _many_fields(self) -> None:
        """Several parts and fields in one message, as 3.1 may send them."""
        data = self.answer()
        half = len(data) // 4 * 2
        parts = [
            {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": base64.b64encode(piece).decode()}}
            for piece in (data[:half], data[half:])
        ]
        content = {
            "modelTurn": {"role": "model", "parts": [{"text": "hm", "thought": True}, *parts]},
            "outputTranscription": {"text": "It is four."},
            "generationComplete": True,
            "turnComplete": True,
        }
        await self.say({"sessionResumptionUpdate": {"newHandle": "h", "resumable": True}})
        await self.say({"goAway": {"timeLeft": "50s"}})
        await self.say({"serverContent": content, "usageMetadata": {"totalTokenCount": 9}})

    async def _late_transcript(self) -> None:
        await self.sound(self.answer())
        await self.say({"serverContent": {"generationComplete": True}})
        await self.say({"serverContent": {"outputTranscription": {"text": "It is four."}}})
        await self.say({"serverContent": {"turnComplete": True, "interactionStatus": "IDLE"}})

    async def _lingering_transcript(self) -> None:
        """The transcript comes after the turn."""
        await self.sound(self.answer())
        await self.say({"serverContent": {"turnComplete": True, "interactionStatus": "IDLE"}})
        await asyncio.sleep(0.3)
        await self.say({"serverContent": {"outputTranscription": {"text": "It is four.", "finished": True}}})

    async def _playback(self) -> None:
        """The turn is complete only when the answer would have been played."""
        sound = self.answer()
        await self.sound(sound)
        await self.say({"serverContent": {"outputTranscription": {"text": "It is four.", "finished": True}}})
        await self.say({"serverContent": {"generationComplete": True}})
        await asyncio.sleep(3600)

    async def _slow_transcript(self) -> None:
        """The words come as they would be played, long after the sound."""
        await self.sound(self.answer())
        await self.say({"serverContent": {"generationComplete": True}})
        for word in ("one ", "two ", "three ", "four"):
            await asyncio.sleep(0.12)
            await self.say({"serverContent": {"outputTranscription": {"text": word}}})
        await asyncio.sleep(3600)

    async def _plain_thoughts(self) -> None:
        """Reasoning that does not say that it is."""
        thought = {"text": "**Analysing the request** I need to add."}
        await self.say({"serverContent": {"modelTurn": {"role": "model", "parts": [thought]}}})
        await self._happy()

    async def _empty_then_answer(self) -> None:
        await self.say({"serverContent": {"turnComplete": True, "interactionStatus": "IDLE"}})
        await asyncio.sleep(0.2)
        await self._happy()

    async def _rejected(self) -> None:
        content = {"turnComplete": True, "turnCompleteReason": "PROHIBITED_INPUT_CONTENT"}
        await self.say({"serverContent": content})

    async def _more_input(self) -> None:
        await self.say({"serverContent": {"turnComplete": True, "turnCompleteReason": "NEED_MORE_INPUT"}})

    async def _tool_call(self) -> None:
        await self.say({"toolCall": {"functionCalls": [{"id": "1", "name": "google_search"}]}})
        await self._happy()

    async def _go_away(self) -> None:
        await self.say({"goAway": {"timeLeft": "10s"}})
        await self._happy()

    async def _content_list(self) -> None:
        await self.send({"serverContent": []})

    async def _rate_change(self) -> None:
        await self.sound(self.answer()[:4800])
        blob = {"mimeType": "audio/pcm;rate=16000", "data": base64.b64encode(self.answer()[:4800]).decode()}
        await self.say({"serverContent": {"modelTurn": {"role": "model", "parts": [{"inlineData": blob}]}}})
        await self.end()

    async def _interrupted_at_once(self) -> None:
        await self.say({"serverContent": {"interrupted": True}})
        await self.end()

    async def _setup_1008(self) -> None:
        await self._happy()  # it was closed before

    async def _quota_1011(self) -> None:
        raise GeminiClosed(1011, "You exceeded your current quota, please check your plan and billing details.")

    async def _close_1007(self) -> None:
        raise GeminiClosed(1007, "Request contains an invalid argument.")

    async def _expired(self) -> None:
        raise GeminiClosed(1008, "Session duration limit exceeded.")

    async def _odd_chunks(self) -> None:
        await self.sound(self.answer(), 1001)
        await self.say({"serverContent": {"outputTranscription": {"text": "It is four."}}})
        await self.end()

    async def _premature(self) -> None:
        await self.end()

    async def _interrupted(self) -> None:
        await self.sound(self.answer())
        await self.say({"serverContent": {"interrupted": True}})

    async def _no_end(self) -> None:
        await self.sound(self.answer())

    async def _no_answer(self) -> None:
        await asyncio.sleep(3600)

    async def _close_1011(self) -> None:
        raise GeminiClosed(1011, "The service is currently unavailable.")

    async def _close_1011_late(self) -> None:
        await self.sound(self.answer()[:4800])
        raise GeminiClosed(1011, "Internal error encountered.")

    async def _close_1001(self) -> None:
        raise GeminiClosed(1001, "going away")

    async def _close_1006(self) -> None:
        abort(self.ws)


class GeminiFake(Fake):
    """Gemini Live: refuses wrong keys, models, voices and formats; ignores what automatic detection would end."""

    behaviours: ClassVar[frozenset[str]] = frozenset(
        {n[1:] for n in vars(GeminiSession) if n.startswith("_") and n[1] != "_"} | {"http_429"}
    )
    models: ClassVar[set[str]] = {"gemini-3.1-flash-live-preview"}
    voices: ClassVar[set[str]] = {"Zephyr", "Iapetus"}

    def routes(self, app: web.Application) -> None:
        """Add what is served."""
        for version in ("v1", "v1beta"):
            name = f"/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"
            app.router.add_get(name, self._connect)
        app.router.add_get("/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent", self._connect)

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        vertex = "aiplatform" in request.path  # Vertex AI, which wants an access token
        if vertex and request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"error": {"code": 401, "status": "UNAUTHENTICATED"}}, status=401)
        if not vertex and KEY not in (request.headers.get("x-goog-api-key"), request.query.get("key")):
            given = request.headers.get("x-goog-api-key")
            return web.json_response({"error": {"message": f"API key not valid: {given}"}}, status=403)
        if self.plan[0].startswith("http_"):
            self.sessions.append({"status": 429})
            return web.json_response({"error": {"message": "quota"}}, status=int(self.next_behaviour()[5:]))
        ws = web.WebSocketResponse(max_msg_size=1 << 25)
        await ws.prepare(request)
        await GeminiSession(self, ws).run()
        return ws

    def answer(self, prompt: bytes, voice: str, level: str, turns: int = 0) -> bytes:
        """Return the sound of the answer to what was asked."""
        return answer_pcm(prompt, voice, level, turns, seconds=self.seconds)
