"""A fake of OpenAI's realtime WebSocket."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Callable
from typing import Any, ClassVar

from aiohttp import WSMsgType, web

from vaeval_tasks.testing.realtime_rules import RealtimeRefusal, check_event
from vaeval_tasks.testing.server import KEY, Fake, abort, answer_pcm, pieces

VAD = {"type": "server_vad", "threshold": 0.5, "silence_duration_ms": 500}


class RealtimeSession:
    """One connection: the effective settings, the input buffer, and what the service says."""

    def __init__(self, fake: RealtimeFake, ws: web.WebSocketResponse, model: str) -> None:
        self.fake, self.ws, self.model = fake, ws, model
        self.behaviour = fake.next_behaviour()
        self.settings: dict[str, Any] = fake.defaults(model)
        self.buffer = b""
        self.committed = b""
        self.items: list[dict[str, Any]] = []
        self.count = 0
        self.log: dict[str, Any] = {"model": model, "behaviour": self.behaviour, "updates": [], "events": []}
        fake.sessions.append(self.log)

    async def say(self, kind: str, **fields: Any) -> None:
        """Send an event."""
        self.count += 1
        event = {"type": kind, "event_id": f"event_{self.count}", **fields}
        await self.fake.deliver([kind], event, self.send)

    async def send(self, content: Any) -> None:
        """Send JSON, or a text or bytes as they are."""
        if isinstance(content, bytes):
            await self.ws.send_bytes(content)
        else:
            await self.ws.send_str(content if isinstance(content, str) else json.dumps(content))

    async def error(self, error: RealtimeRefusal) -> None:
        """Send an error event; the session stays open."""
        body = {"type": "invalid_request_error", "code": error.code, "message": str(error), "param": error.param}
        await self.say("error", error=body)

    async def run(self) -> None:
        """Read until one side closes."""
        await self.fake.greet(self)
        if self.model not in self.fake.models:
            await self.error(RealtimeRefusal("model_not_found", f"The model '{self.model}' does not exist", "model"))
            await self.ws.close(code=1008)
            return
        async for message in self.ws:
            if message.type is not WSMsgType.TEXT:
                break
            event = json.loads(message.data)
            self.log["events"].append(event["type"])
            try:
                await self.on(event)
            except RealtimeRefusal as error:
                await self.error(error)

    async def on(self, event: dict[str, Any]) -> None:
        """Act on an event of the client."""
        kind = event["type"]
        check_event(kind, event)
        if kind == "session.update":
            self.log["updates"].append(event["session"])
            self.fake.check_session(event["session"])
            self.fake.update(self.settings, event["session"])
            shown = {**self.settings, "turn_detection": VAD} if self.behaviour == "keeps_vad" else self.settings
            await self.say("session.updated", session=self.fake.shown(shown, self.behaviour))
        elif kind == "input_audio_buffer.append":
            self.append(event["audio"])
            if self.fake.vad(self.settings) and len(self.buffer) >= 24000:
                self.committed, self.buffer = self.buffer, b""  # the server ended the turn by itself
                await self.respond()
        elif kind == "input_audio_buffer.commit":
            if len(self.buffer) < 4800:  # 100 ms
                got = len(self.buffer) / 48
                raise RealtimeRefusal(
                    "input_audio_buffer_commit_empty",
                    "Error committing input audio buffer: buffer too small. "
                    f"Expected at least 100ms of audio, got {got:.2f}ms",
                )
            self.committed, self.buffer = self.buffer, b""
            self.log["audio"] = self.committed
            item: dict[str, Any] = {
                "id": "item_u",
                "object": "realtime.item",
                "type": "message",
                "status": "completed",
                "role": "user",
            }
            item["content"] = [{"type": "input_audio", "transcript": None}]
            await self.say("input_audio_buffer.committed", item_id="item_u", previous_item_id=None)
            await self.say("conversation.item.added", item=item, previous_item_id=None)
            await self.say("conversation.item.done", item=item, previous_item_id=None)
        elif kind == "conversation.item.create":
            self.items.append(event["item"])
            self.log["items"] = self.items
            await self.say("conversation.item.added", item={"id": f"item_{len(self.items)}", **event["item"]})
        elif kind == "response.create":
            await asyncio.sleep(self.fake.delay)
            await self.respond()

    def append(self, audio: str) -> None:
        """Take a piece of the user's sound."""
        try:
            data = base64.b64decode(audio, validate=True)
        except binascii.Error:
            raise RealtimeRefusal("invalid_value", "audio is not base64", "audio") from None
        if len(data) % 2:
            raise RealtimeRefusal("invalid_value", "audio must hold whole 16-bit samples", "audio")
        if len(data) > 15 << 20:
            raise RealtimeRefusal("invalid_value", "audio is longer than 15 MiB", "audio")
        self.buffer += data

    def answer(self) -> bytes:
        """Return the final audio of the happy case."""
        return self.fake.answer(self.committed, self.model, self.settings, len(self.items))

    async def respond(self) -> None:
        """Answer as the plan says."""
        if self.behaviour == "bad_request":
            await self._bad_request()
            return
        self.response = {
            "object": "realtime.response",
            "id": "resp_1",
            "status": "in_progress",
            "status_details": None,
            "output": [],
            "conversation_id": "conv_1",
            "output_modalities": ["audio"],
            "max_output_tokens": "inf",
            "usage": None,
            "metadata": None,
        }
        await self.say("response.created", response=self.response)
        limits = [{"name": "tokens", "limit": 40000, "remaining": 39000, "reset_seconds": 1.5}]
        await self.say("rate_limits.updated", rate_limits=limits)
        await getattr(self, f"_{self.behaviour}", self._happy)()

    async def done(self, status: str = "completed", details: dict[str, Any] | None = None) -> None:
        """End the response."""
        usage = {
            "total_tokens": 30,
            "input_tokens": 10,
            "output_tokens": 20,
            "input_token_details": {"audio_tokens": 10, "text_tokens": 0, "cached_tokens": 0},
            "output_token_details": {"audio_tokens": 15, "text_tokens": 5},
        }
        response = {**self.response, "status": status, "status_details": details, "usage": usage}
        await self.say("response.done", response=response)

    async def item(
        self, index: int, sound: bytes, words: str, *, phase: str | None = None, size: int = 4800, late: bool = False
    ) -> None:
        """Say one output item."""
        item: dict[str, Any] = {
            "id": f"item_a{index}",
            "object": "realtime.item",
            "type": "message",
            "status": "in_progress",
            "role": "assistant",
            "content": [],
        }
        if phase:
            item["phase"] = phase
        place = {"response_id": "resp_1", "item_id": item["id"], "output_index": index, "content_index": 0}
        await self.say("response.output_item.added", response_id="resp_1", output_index=index, item=item)
        await self.say("conversation.item.added", item=item, previous_item_id="item_u")
        await self.say("response.content_part.added", **place, part={"type": "audio", "transcript": ""})
        if not late:
            await self.say("response.output_audio_transcript.delta", **place, delta=words)
        for piece in pieces(sound, size):
            await self.say("response.output_audio.delta", **place, delta=base64.b64encode(piece).decode())
            if self.behaviour == "slow":
                await asyncio.sleep(0.2)
        await self.say("response.output_audio.done", **place)
        if late:
            await self.say("response.output_audio_transcript.delta", **place, delta=words)
        await self.say("response.output_audio_transcript.done", **place, transcript=words)
        part = {} if self.fake.bare_parts else {"part": {"type": "audio", "transcript": words}}
        await self.say("response.content_part.done", **place, **part)
        item = {**item, "status": "completed", "content": [{"type": "output_audio", "transcript": words}]}
        await self.say("conversation.item.done", item=item, previous_item_id="item_u")
        await self.say("response.output_item.done", response_id="resp_1", output_index=index, item=item)

    async def _happy(self) -> None:
        await self.item(0, self.answer(), "It is four.")
        await self.done()

    async def _commentary(self) -> None:
        await self.item(0, answer_pcm("preamble"), "Let me think.", phase="commentary")
        await self.item(1, self.answer(), "It is four.", phase="final_answer")
        await self.done()

    async def _only_commentary(self) -> None:
        await self.item(0, answer_pcm("preamble"), "Let me think.", phase="commentary")
        await self.done()

    async def _two_items(self) -> None:
        half = len(self.answer()) // 4 * 2
        await self.item(0, self.answer()[:half], "It is")
        await self.item(1, self.answer()[half:], "four.")
        await self.done()

    async def _late_transcript(self) -> None:
        await self.item(0, self.answer(), "It is four.", late=True)
        await self.done()

    async def _odd_chunks(self) -> None:
        await self.item(0, self.answer(), "It is four.", size=1001)
        await self.done()

    async def _silent(self) -> None:
        await self.item(0, bytes(24000), "It is four.")
        await self.done()

    async def _no_audio(self) -> None:
        await self.done()

    async def _wordless(self) -> None:
        await self.item(0, self.answer(), "")
        await self.done()

    async def _failed(self, code: str = "server_error") -> None:
        await self.done("failed", {"type": "failed", "error": {"type": code, "code": code, "message": "try again"}})

    async def _rate_limit(self) -> None:
        await self._failed("rate_limit_exceeded")

    async def _failed_late(self) -> None:
        await self.begin()
        await self._failed()

    async def _failed_quota(self) -> None:
        message = "You exceeded your current quota, please check your plan and billing details."
        error = {"type": "insufficient_quota", "code": "insufficient_quota", "message": message}
        await self.done("failed", {"type": "failed", "error": error})

    async def _bad_request(self) -> None:
        message = "The audio of the item cannot be used."
        body = {"type": "invalid_request_error", "code": "invalid_value", "message": message, "param": "item"}
        await self.say("error", error=body)

    async def _error_before_audio(self) -> None:
        code = "conversation_already_has_active_response"
        await self.error(RealtimeRefusal(code, "Conversation already has an active response"))
        await self._happy()

    async def _error_after_audio(self) -> None:
        await self.item(0, self.answer(), "It is four.")
        await self.error(RealtimeRefusal("unknown_parameter", "Unknown parameter: 'x'."))
        await self.done()

    async def _error_string(self) -> None:
        await self.say("error", error="boom")

    async def _item_string(self) -> None:
        await self.say("response.output_item.added", response_id="resp_1", output_index=0, item="x")
        await self.done()

    async def _old_names(self) -> None:
        """The names of the preview."""
        place = {"response_id": "resp_1", "item_id": "item_a0", "output_index": 0, "content_index": 0}
        for piece in pieces(self.answer()):
            await self.say("response.audio.delta", **place, delta=base64.b64encode(piece).decode())
        await self.say("response.audio_transcript.delta", **place, delta="It is four.")
        await self.done()

    async def _text_beside(self) -> None:
        """Text that is not what is said."""
        place = {"response_id": "resp_1", "item_id": "item_a0", "output_index": 0, "content_index": 1}
        await self.say("response.output_text.delta", **place, delta="**Planning the answer**")
        await self._happy()

    async def _words_at_the_end(self) -> None:
        """The transcript stands in the finished item only."""
        await self.begin(whole=True)
        content = [{"type": "output_audio", "transcript": "It is four."}]
        item = {"id": "item_a0", "type": "message", "role": "assistant", "status": "completed", "content": content}
        await self.say("response.output_item.done", response_id="resp_1", output_index=0, item=item)
        await self.done()

    async def _unpadded(self) -> None:
        await self.encoded(lambda piece: base64.b64encode(piece).decode().rstrip("="))

    async def _line_breaks(self) -> None:
        await self.encoded(lambda piece: base64.encodebytes(piece).decode())

    async def _url_safe(self) -> None:
        await self.encoded(lambda piece: base64.urlsafe_b64encode(piece).decode())

    async def _data_urls(self) -> None:
        await self.encoded(lambda piece: "data:audio/pcm;base64," + base64.b64encode(piece).decode())

    async def _cut_text(self) -> None:
        """One long base64 text, cut anywhere."""
        text = base64.b64encode(self.answer()).decode()
        await self.texts([text[at : at + 1001] for at in range(0, len(text), 1001)])

    async def _unknown_container(self) -> None:
        await self.encoded(lambda piece: base64.b64encode(b"\x1a\x45\xdf\xa3" + piece).decode())

    async def encoded(self, form: Callable[[bytes], str]) -> None:
        """Answer with each piece of sound in a form of base64."""
        await self.texts([form(piece) for piece in pieces(self.answer(), 1001)])

    async def texts(self, deltas: list[str]) -> None:
        """Answer with these deltas."""
        place = {"response_id": "resp_1", "item_id": "item_a0", "output_index": 0, "content_index": 0}
        for delta in deltas:
            await self.say("response.output_audio.delta", **place, delta=delta)
        await self.say("response.output_audio_transcript.done", **place, transcript="It is four.")
        await self.done()

    async def _incomplete(self) -> None:
        await self.item(0, self.answer(), "It is four")
        await self.done("incomplete", {"type": "incomplete", "reason": "max_output_tokens"})

    async def _filtered(self) -> None:
        await self.done("incomplete", {"type": "incomplete", "reason": "content_filter"})

    async def _cancelled(self) -> None:
        await self.done("cancelled", {"type": "cancelled", "reason": "turn_detected"})

    async def _expired(self) -> None:
        body = {"type": "invalid_request_error", "code": "session_expired", "message": "60 minutes", "param": None}
        await self.say("error", error=body)
        await self.ws.close(code=1001)

    async def begin(self, *, whole: bool = False) -> None:
        """Send a first piece of sound, or all of it, and no more."""
        place = {"response_id": "resp_1", "item_id": "item_a0", "output_index": 0, "content_index": 0}
        audio = base64.b64encode(self.answer()[: None if whole else 4800]).decode()
        await self.say("response.output_audio.delta", **place, delta=audio)

    async def _close_1001(self) -> None:
        await self.ws.close(code=1001, message=b"going away")

    async def _close_1011(self) -> None:
        await self.ws.close(code=1011, message=b"internal error")

    async def _close_1011_late(self) -> None:
        await self.begin()
        await self.ws.close(code=1011, message=b"internal error")

    async def _close_1006(self) -> None:
        abort(self.ws)

    async def _no_end(self) -> None:
        await self.item(0, self.answer(), "It is four.")

    async def _no_answer(self) -> None:
        await asyncio.sleep(3600)

    async def _not_json(self) -> None:
        await self.ws.send_str("<html>")


class RealtimeFake(Fake):
    """OpenAI's realtime service: nested session, all settings optional, turn detection on unless switched off."""

    behaviours: ClassVar[frozenset[str]] = frozenset(
        {"happy", "keeps_vad", "slow", *(n[1:] for n in vars(RealtimeSession) if n.startswith("_") and n[1] != "_")}
        | {"http_429", "http_503", "http_quota", "changes_voice"}
    )
    models: ClassVar[set[str]] = {"gpt-realtime-2", "gpt-realtime-2.1"}
    voices: ClassVar[set[str]] = {"marin", "cedar", "alloy"}
    efforts: ClassVar[set[str]] = {"minimal", "low", "medium", "high", "xhigh"}
    bare_parts = False

    def base(self, port: int) -> str:
        """Return the address of a port, with the version."""
        return super().base(port) + "/v1"

    def routes(self, app: web.Application) -> None:
        """Add what is served."""
        app.router.add_get("/v1/realtime", self._connect)
        app.router.add_get("/openai/v1/realtime", self._connect)  # Azure's, whose key has a header of its own

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        azure = request.path.startswith("/openai/")
        given = request.headers.get("api-key" if azure else "Authorization", "")
        if given != (KEY if azure else f"Bearer {KEY}"):
            return web.json_response({"error": {"message": f"Incorrect API key provided: {given}"}}, status=401)
        if self.plan[0].startswith("http_"):
            behaviour = self.next_behaviour()
            if behaviour == "http_quota":
                error = {"message": "You exceeded your current quota", "code": "insufficient_quota"}
                return web.json_response({"error": error}, status=429)
            status = int(behaviour[5:])
            self.sessions.append({"status": status})
            return web.json_response(
                {"error": {"message": "slow down"}}, status=status, headers={"retry-after": "0.01"}
            )
        ws = web.WebSocketResponse(max_msg_size=1 << 25)
        await ws.prepare(request)
        await RealtimeSession(self, ws, request.query.get("model", "old-default")).run()
        return ws

    async def greet(self, session: RealtimeSession) -> None:
        """Say what the service says when a session opens."""
        about = {"id": "sess_1", "object": "realtime.session", "expires_at": 1893456000, **session.settings}
        await session.say("session.created", session=about)

    def defaults(self, model: str) -> dict[str, Any]:
        """Return the settings a session starts with."""
        form = {"type": "audio/pcm", "rate": 24000}
        return {
            "type": "realtime",
            "model": model,
            "output_modalities": ["audio"],
            "instructions": "",
            "audio": {
                "input": {"format": form, "turn_detection": dict(VAD), "transcription": None},
                "output": {"format": form, "voice": "alloy", "speed": 1.0},
            },
            "reasoning": {"effort": "low"},
        }

    def check_session(self, asked: dict[str, Any]) -> None:
        """Refuse a session that does not say what it is."""
        if asked.get("type") != "realtime":
            raise RealtimeRefusal(
                "missing_required_parameter", "Missing required parameter: 'session.type'.", "session.type"
            )

    def update(self, settings: dict[str, Any], asked: dict[str, Any], where: str = "session") -> None:
        """Take settings of the client over; an unknown one is refused."""
        for key, value in asked.items():
            if key not in settings:
                raise RealtimeRefusal("unknown_parameter", f"Unknown parameter: '{where}.{key}'.", f"{where}.{key}")
            if isinstance(value, dict) and isinstance(settings[key], dict) and key not in ("turn_detection", "format"):
                self.update(settings[key], value, f"{where}.{key}")
            else:
                self.check(key, value, f"{where}.{key}")
                settings[key] = value

    def check(self, key: str, value: Any, where: str) -> None:
        """Refuse a wrong value of a setting."""
        if key == "voice" and str(value).lower() not in self.voices:
            raise RealtimeRefusal("invalid_value", f"Invalid value: '{value}'. Supported: {sorted(self.voices)}", where)
        if key == "effort" and value not in self.efforts:
            raise RealtimeRefusal("invalid_value", f"Invalid value: '{value}'.", where)
        if key == "format" and value != {"type": "audio/pcm", "rate": 24000}:
            raise RealtimeRefusal("invalid_value", "Only PCM at 24000 Hz", where)

    def shown(self, settings: dict[str, Any], behaviour: str) -> dict[str, Any]:
        """Return the settings as ``session.updated`` tells them."""
        copy = json.loads(json.dumps(settings))
        if behaviour == "keeps_vad":
            copy["audio"]["input"]["turn_detection"] = VAD
        if behaviour == "changes_voice":
            copy["audio"]["output"]["voice"] = "alloy"
        return copy

    def vad(self, settings: dict[str, Any]) -> bool:
        """Whether turn detection is on."""
        return settings["audio"]["input"]["turn_detection"] is not None

    def voice(self, settings: dict[str, Any]) -> str:
        """Return the voice in the settings."""
        return settings["audio"]["output"]["voice"].lower()

    def answer(self, prompt: bytes, model: str, settings: dict[str, Any], items: int = 0) -> bytes:
        """Return the sound of the answer to what was asked."""
        effort = settings["reasoning"]["effort"]
        return answer_pcm(prompt, model, self.voice(settings), effort, items, seconds=self.seconds)
