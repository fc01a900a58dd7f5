"""A fake OpenAI-compatible engine that answers chat completions with audio, in each shape that servers use."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import wave
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from aiohttp import web

from vaeval_tasks.testing.server import KEY, Fake, answer_pcm, pieces, sound_file

RATE = 24000


def wav_of(data: bytes, *, streamed: bool = False) -> bytes:
    """Return PCM as a WAV file; a streamed one carries the size 0xFFFFFFFF."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(data)
    whole = buffer.getvalue()
    if streamed:
        whole = whole[:4] + b"\xff" * 4 + whole[8:40] + b"\xff" * 4 + whole[44:]
    return whole


def b64(data: bytes) -> str:
    """Return bytes as base64 text."""
    return base64.b64encode(data).decode()


def _in_pieces(data: bytes, size: int = 1001) -> list[str]:
    return [b64(piece) for piece in pieces(data, size)]


FORMS: dict[str, Callable[[bytes], str]] = {
    "unpadded": lambda pcm: b64(wav_of(pcm)).rstrip("="),
    "line_breaks": lambda pcm: base64.encodebytes(wav_of(pcm)).decode(),
    "url_safe": lambda pcm: base64.urlsafe_b64encode(wav_of(pcm)).decode(),
    "data_url": lambda pcm: "data:audio/wav;base64," + b64(wav_of(pcm)),
    "zero_size": lambda pcm: b64(wav_of(pcm)[:40] + bytes(4) + pcm),
    "mp3": lambda pcm: b64(sound_file(pcm, "MP3")),
    "opus": lambda pcm: b64(sound_file(pcm, "OPUS")),
    "flac": lambda pcm: b64(sound_file(pcm, "FLAC")),
    "stereo": lambda pcm: b64(_stereo(pcm)),
    "webm": lambda pcm: b64(b"\x1a\x45\xdf\xa3" + pcm),
    "aac": lambda pcm: b64(_adts(pcm)),
    "mp4": lambda pcm: b64(b"\0\0\0\x20ftypM4A " + pcm),
    "unknown": lambda pcm: b64(hashlib.shake_256(pcm).digest(40_000)),
}
"""How a reply's audio may be written, and what it may be."""
STREAMS: dict[str, Callable[[bytes], list[str]]] = {
    "sse_cut_text": lambda pcm: _cut(b64(pcm), 1003),
    "sse_wav_head": lambda pcm: _in_pieces(wav_of(pcm, streamed=True)),
    "sse_mp3": lambda pcm: _in_pieces(sound_file(pcm, "MP3"), 700),
    "sse_rate_change": lambda pcm: [b64(wav_of(pcm)), b64(sound_file(pcm, "WAV", 16000))],
    "sse_filtered": _in_pieces,
    "sse_line_separator": _in_pieces,
}
"""How a stream's audio may come in ``delta.audio.data``."""


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _adts(data: bytes) -> bytes:
    """Return bytes in the frames of AAC."""
    return b"".join(b"\xff\xf1\x50\x80\x19\x1f\xfc" + data[at : at + 193] for at in range(0, 3860, 193))


def _stereo(pcm: bytes) -> bytes:
    samples = np.frombuffer(pcm, "<i2")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(np.stack([samples, samples], 1).tobytes())
    return buffer.getvalue()


def _not_for_dashscope(body: dict[str, Any]) -> str:
    """Return what DashScope says of a request it does not take."""
    if not body.get("stream"):
        return "This model only support stream mode, please enable the stream parameter to access the model."
    parts = [part for m in body["messages"] if isinstance(m["content"], list) for part in m["content"]]
    clips = [part["input_audio"]["data"] for part in parts if part["type"] == "input_audio"]
    if not all(clip.startswith("data:") for clip in clips) or any(p["type"] == "audio_url" for p in parts):
        return "The provided URL does not appear to be valid. Ensure it is correctly formatted."
    return ""


class ChatFake(Fake):
    """``{url}/chat/completions``. ``needs_key`` makes it ask for :data:`KEY`, as a hosted engine does."""

    behaviours: ClassVar[frozenset[str]] = frozenset(
        {
            "happy",
            "two_choices",
            "audio_only",
            "gpt_audio",
            "streamed_wav",
            "sse_wav_chunks",
            "sse_dashscope",
            "sse_break",
            "sse_error",
            "text_only",
            "filtered",
            "length",
            "http_429",
            "http_500",
            "http_400",
            "break",
            "not_json",
            "no_answer",
            "http_503",
            "quota",
            "error_200",
            "wait_a_day",
            "quota_200",
            "think",
            "choices_null",
            "choice_null",
            "refusal",
            "unpadded",
            "line_breaks",
            "url_safe",
            "data_url",
            "zero_size",
            "mp3",
            "opus",
            "flac",
            "stereo",
            "webm",
            "aac",
            "mp4",
            "unknown",
            "sse_cut_text",
            "sse_wav_head",
            "sse_mp3",
            "sse_rate_change",
            "sse_filtered",
            "sse_as_json",
            "sse_line_separator",
        }
    )
    models: ClassVar[set[str]] = {"Qwen/Qwen3-Omni-30B-A3B-Instruct", "gpt-audio", "qwen3-omni-flash"}
    voices: ClassVar[set[str]] = {"chelsie", "ethan", "alloy", "cherry"}
    needs_key = False
    engine = ""
    """``dashscope`` takes streams and clips as data URLs only; ``sglang_omni`` finds a voice in ``audio`` only."""

    def base(self, port: int) -> str:
        """Return the address of a port, with the version."""
        return super().base(port) + "/v1"

    def routes(self, app: web.Application) -> None:
        """Add what is served."""
        app.router.add_post("/v1/chat/completions", self._complete)

    def error(self, status: int, code: str, message: str, param: str | None = None) -> web.Response:
        """Return an error in the engine's form."""
        return web.json_response({"error": {"code": code, "message": message, "param": param}}, status=status)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        behaviour = self.next_behaviour()
        body = await request.json()
        self.sessions.append({"behaviour": behaviour, "body": body})
        given = request.headers.get("Authorization")
        if self.needs_key and given != f"Bearer {KEY}":
            return self.error(401, "invalid_api_key", f"Incorrect API key provided: {given}")
        if body["model"] not in self.models:
            return self.error(404, "NotFoundError", f"The model `{body['model']}` does not exist.", "model")
        if self.engine == "dashscope" and (why := _not_for_dashscope(body)):
            return self.error(400, "invalid_parameter_error", why)
        if self.engine == "sglang_omni":
            body = {**body, "speaker": None, "voice": None}
        voice = body.get("speaker") or body.get("voice") or (body.get("audio") or {}).get("voice") or "chelsie"
        if voice not in self.voices:
            return self.error(400, "invalid_value", f"voice {voice} is not known", "voice")
        if behaviour in ("quota", "quota_200"):
            error = {"code": "insufficient_quota", "message": "You exceeded your current quota"}
            return web.json_response({"error": error}, status=429 if behaviour == "quota" else 200)
        if behaviour == "wait_a_day":
            error = {"message": "the daily limit is reached"}
            return web.json_response({"error": error}, status=429, headers={"Retry-After": "86400"})
        if behaviour == "error_200":
            return web.json_response({"error": {"code": 503, "message": "the provider behind it is down"}})
        if behaviour.startswith("http_"):
            return self.error(int(behaviour[5:]), "busy", "not now")
        if behaviour == "break":
            request.transport.abort()  # type: ignore[union-attr]
            return web.Response()
        await asyncio.sleep(3600 if behaviour == "no_answer" else self.delay)
        sound = self.answer(body, voice)
        if behaviour.startswith("sse_") and behaviour != "sse_as_json":
            return await self._stream(request, behaviour, sound)
        if behaviour == "not_json":
            return web.Response(text="<html>", content_type="text/html")
        reply = {"object": "chat.completion", **self._reply(behaviour, sound), "usage": {"n": 1}}
        return await self.answered("chat.completion", reply)

    def answer(self, body: dict[str, Any], voice: str) -> bytes:
        """Return the sound of the answer to a request."""
        return answer_pcm(json.dumps(body["messages"], sort_keys=True), body["model"], voice, seconds=self.seconds)

    def _reply(self, behaviour: str, sound: bytes) -> dict[str, Any]:
        data = FORMS[behaviour](sound) if behaviour in FORMS else b64(wav_of(sound))
        audio = {"id": "a1", "data": data, "expires_at": 1, "transcript": ""}
        if behaviour in ("choices_null", "choice_null"):
            return {"choices": None if behaviour == "choices_null" else [None]}
        text = {"role": "assistant", "content": "It is four."}
        if behaviour == "two_choices":
            spoken = {"index": 0, "message": {"role": "assistant", "content": None, "audio": audio}}
            return {"choices": [{"index": 0, "message": text, "finish_reason": "stop"}, spoken]}
        if behaviour == "audio_only":
            message: dict[str, Any] = {"role": "assistant", "content": None, "audio": audio}
        elif behaviour == "gpt_audio":
            spoken = {"id": "a1", "data": b64(sound), "expires_at": 1, "transcript": "It is four."}
            message = {"role": "assistant", "content": None, "refusal": None, "audio": spoken}
        elif behaviour == "streamed_wav":
            message = {**text, "audio": {**audio, "data": b64(wav_of(sound, streamed=True))}}
        elif behaviour == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
        elif behaviour == "think":
            message = {"role": "assistant", "content": "<think>Two and two.</think>It is four.", "audio": audio}
        elif behaviour in ("text_only", "filtered"):
            message = text
        else:
            message = {**text, "audio": audio, "audio_metadata": {"sample_rate_hz": RATE}}
        reason = {"filtered": "content_filter", "length": "length"}.get(behaviour, "stop")
        return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}

    async def _stream(self, request: web.Request, behaviour: str, sound: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)

        async def say(delta: dict[str, Any], reason: str | None = None, **more: Any) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            chunk = {"object": "chat.completion.chunk", "choices": [choice], **more}
            await self.deliver(["chat.completion.chunk"], chunk, send)

        async def send(content: Any) -> None:
            data = content if isinstance(content, str | bytes) else json.dumps(content, ensure_ascii=False)
            await response.write(b"data: " + (data if isinstance(data, bytes) else data.encode()) + b"\n\n")

        await response.write(b": keep-alive\n\n")
        if behaviour == "sse_dashscope":
            await say({"content": None, "audio": {"transcript": "It is "}})
            for piece in pieces(sound, 1001):
                await say({"content": None, "audio": {"data": b64(piece)}})
            await say({"content": None, "audio": {"transcript": "four."}}, "stop")
        elif behaviour in STREAMS:
            for delta in STREAMS[behaviour](sound):
                await say({"content": None, "audio": {"data": delta}})
            words = "It is\u2028four." if behaviour == "sse_line_separator" else "It is four."
            await say({"content": None, "audio": {"transcript": words}})
            await say({}, "content_filter" if behaviour == "sse_filtered" else "stop")
        else:
            await say({"role": "assistant", "content": "It is "}, modality="text")
            for number, piece in enumerate(pieces(sound, 4800)):
                await say({"content": b64(wav_of(piece))}, modality="audio")
                if behaviour == "sse_error" and number == 1:
                    await response.write(b'data: {"error": {"message": "out of memory"}}\n\n')
                if behaviour == "sse_break" and number == 1:
                    await response.write_eof()
                    return response
            await say({"content": "four."}, "stop", modality="text")
        await response.write(b'data: {"object": "chat.completion.chunk", "choices": [], "usage": {"n": 1}}\n\n')
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response
