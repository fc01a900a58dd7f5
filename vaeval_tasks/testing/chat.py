"""A fake OpenAI-compatible engine that answers chat completions with audio, in each shape that servers use."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import wave
from typing import Any, ClassVar

from aiohttp import web

from vaeval_tasks.testing.server import KEY, Fake, answer_pcm, pieces

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
        }
    )
    models: ClassVar[set[str]] = {"Qwen/Qwen3-Omni-30B-A3B-Instruct", "gpt-audio", "qwen3-omni-flash"}
    voices: ClassVar[set[str]] = {"chelsie", "ethan", "alloy", "cherry"}
    needs_key = False

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
        voice = body.get("speaker") or body.get("voice") or (body.get("audio") or {}).get("voice") or "chelsie"
        if voice not in self.voices:
            return self.error(400, "invalid_value", f"voice {voice} is not known", "voice")
        if behaviour.startswith("http_"):
            return self.error(int(behaviour[5:]), "busy", "not now")
        if behaviour == "break":
            request.transport.abort()  # type: ignore[union-attr]
            return web.Response()
        await asyncio.sleep(3600 if behaviour == "no_answer" else self.delay)
        sound = self.answer(body, voice)
        if behaviour.startswith("sse_"):
            return await self._stream(request, behaviour, sound)
        if behaviour == "not_json":
            return web.Response(text="<html>", content_type="text/html")
        return web.json_response({"object": "chat.completion", **self._reply(behaviour, sound), "usage": {"n": 1}})

    def answer(self, body: dict[str, Any], voice: str) -> bytes:
        """Return the sound of the answer to a request."""
        return answer_pcm(json.dumps(body["messages"], sort_keys=True), body["model"], voice, seconds=self.seconds)

    def _reply(self, behaviour: str, sound: bytes) -> dict[str, Any]:
        audio = {"id": "a1", "data": b64(wav_of(sound)), "expires_at": 1, "transcript": ""}
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
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())

        await response.write(b": keep-alive\n\n")
        if behaviour == "sse_dashscope":
            await say({"content": None, "audio": {"transcript": "It is "}})
            for piece in pieces(sound, 1001):
                await say({"content": None, "audio": {"data": b64(piece)}})
            await say({"content": None, "audio": {"transcript": "four."}}, "stop")
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
