"""Fakes of ElevenLabs (speech to text, text to speech) and of OpenAI's Responses, on one port."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Any, ClassVar

from aiohttp import web

from vaeval_tasks.testing.server import KEY, Fake, answer_pcm, pieces, sound_file

WORDS = "What is two plus two?"
RESPONSES = set(
    "access_programs background background_options context_management conversation image include input "
    "instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls "
    "previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning "
    "safety_identifier service_tier store stream stream_options temperature text tool_choice tools "
    "top_logprobs top_p truncation user".split()
)
"""What a request of Responses may hold."""
SOUNDS: dict[str, Callable[[bytes], bytes]] = {
    "tts_mp3": lambda pcm: sound_file(pcm, "MP3"),
    "tts_html": lambda pcm: b"<html><body>Bad gateway</body></html>" + b" " * 40,
    "tts_unknown": lambda pcm: hashlib.shake_256(pcm).digest(40_000),
    "tts_quota_as_sound": lambda pcm: json.dumps(
        {"detail": {"status": "quota_exceeded", "message": "This request exceeds your quota."}}
    ).encode(),
}
"""What text to speech may send in place of the sound that was asked for, under the same name."""


class CascadeFake(Fake):
    """``{url}/v1/speech-to-text``, ``{url}/v1/text-to-speech/…`` and ``{url}/v1/responses``.

    A behaviour belongs to one turn; it is taken when the speech arrives.
    """

    behaviours: ClassVar[frozenset[str]] = frozenset(
        {
            "happy",
            "no_words",
            "wordless",
            "odd_chunks",
            "stt_busy",
            "stt_500",
            "llm_429",
            "llm_incomplete",
            "llm_refusal",
            "llm_commentary",
            "tts_voice_gone",
            "tts_too_long",
            "tts_busy",
            "tts_break",
            "slow_llm",
            "stt_503",
            "stt_no_text",
            "stt_null",
            "llm_think",
            "llm_quota",
            "llm_filtered",
            "llm_cancelled",
            "llm_failed",
            "tts_quota",
            "tts_quota_200",
            "tts_quota_as_sound",
            "tts_mp3",
            "tts_html",
            "tts_unknown",
        }
    )
    voices: ClassVar[set[str]] = {"21m00Tcm4TlvDq8ikWAM"}

    def routes(self, app: web.Application) -> None:
        """Add what is served."""
        app.router.add_post("/v1/speech-to-text", self._transcribe)
        app.router.add_post("/v1/text-to-speech/{voice}/stream", self._speak)
        app.router.add_post("/v1/text-to-speech/{voice}", self._speak)
        app.router.add_post("/v1/responses", self._respond)

    @property
    def behaviour(self) -> str:
        """The behaviour of the present turn."""
        return self.sessions[-1]["behaviour"] if self.sessions else "happy"

    @staticmethod
    def detail(status: int, code: str, message: str) -> web.Response:
        """Return an error in ElevenLabs' form."""
        return web.json_response({"detail": {"status": code, "message": message}}, status=status)

    def _eleven_key(self, request: web.Request) -> web.Response | None:
        given = request.headers.get("xi-api-key", "")
        return None if given == KEY else self.detail(401, "invalid_api_key", f"Invalid API key: {given}")

    async def _transcribe(self, request: web.Request) -> web.Response:
        if refused := self._eleven_key(request):
            return refused
        form = await request.post()
        fields = {k: v for k, v in form.items() if isinstance(v, str)}
        file = form["file"]
        if not isinstance(file, web.FileField):
            return self.detail(400, "invalid_audio", "file is not a file")
        data = file.file.read()
        self.sessions.append(
            {
                "behaviour": self.next_behaviour(),
                "stt": fields,
                "filename": file.filename,
                "mime": file.content_type,
                "wav": data,
            }
        )
        if fields.get("model_id") not in ("scribe_v1", "scribe_v2"):
            return self.detail(400, "invalid_model_id", "unknown model")
        if not data.startswith(b"RIFF"):
            return self.detail(400, "invalid_audio", "the file is not audio")
        if self.behaviour == "stt_busy":
            return self.detail(429, "too_many_concurrent_requests", "queue is full")
        if self.behaviour in ("stt_500", "stt_503"):
            return self.detail(int(self.behaviour[4:]), "internal", "broke")
        words = "" if self.behaviour == "no_words" else WORDS
        word = {"text": "What", "start": 0.1, "end": 0.3, "type": "word", "logprob": 0.0, "speaker_id": None}
        body = {"language_code": "eng", "language_probability": 0.98, "text": words, "words": [word]}
        if self.behaviour == "stt_no_text":
            del body["text"]
        if self.behaviour == "stt_null":
            body["text"] = None
        return await self.answered("speech-to-text", {**body, "transcription_id": "t1"})

    async def _respond(self, request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "")
        if given != f"Bearer {KEY}":
            error = {"code": "invalid_api_key", "message": f"Incorrect API key provided: {given}"}
            return web.json_response({"error": error}, status=401)
        body = await request.json()
        if not self.sessions:
            self.sessions.append({"behaviour": self.next_behaviour()})
        self.sessions[-1]["llm"] = body
        if unknown := body.keys() - RESPONSES:
            name = sorted(unknown)[0]
            error = {"code": "unknown_parameter", "message": f"Unknown parameter: '{name}'.", "param": name}
            return web.json_response({"error": error}, status=400)
        if self.behaviour == "llm_quota":
            error = {"code": "insufficient_quota", "message": "You exceeded your current quota"}
            return web.json_response({"error": error}, status=429)
        if body["model"] != "gpt-5.6-terra":
            error = {"code": "model_not_found", "message": "The model does not exist", "param": "model"}
            return web.json_response({"error": error}, status=400)
        if self.behaviour == "llm_429":
            error = {"code": "rate_limit_exceeded", "message": "slow down"}
            return web.json_response({"error": error}, status=429, headers={"retry-after": "0.01"})
        await asyncio.sleep(5 if self.behaviour == "slow_llm" else self.delay)
        return await self.answered("responses", self._reply())

    def _reply(self) -> dict[str, Any]:
        def message(words: str, **more: Any) -> dict[str, Any]:
            part = {"type": "output_text", "text": words, "annotations": []}
            return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part], **more}

        output: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
        if self.behaviour == "llm_commentary":
            output.append(message("Let me see. ", phase="commentary"))
        if self.behaviour == "llm_refusal":
            refusal = {"type": "refusal", "refusal": "I cannot help with that."}
            output.append({**message(""), "content": [refusal]})
        else:
            said = {"wordless": "", "llm_think": "<think>Two and two.</think>It is four."}
            output.append(message(said.get(self.behaviour, "It is four.")))
        status = {"llm_cancelled": "cancelled", "llm_failed": "failed"}.get(self.behaviour, "completed")
        why = {"llm_incomplete": "max_output_tokens", "llm_filtered": "content_filter"}.get(self.behaviour)
        error = {"code": "server_error", "message": "the model broke"} if status == "failed" else None
        return {
            "id": "resp_x",
            "object": "response",
            "created_at": 1,
            "status": "incomplete" if why else status,
            "incomplete_details": {"reason": why} if why else None,
            "error": error,
            "model": "gpt-5.6-terra",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 5,
                "output_tokens": 2,
                "total_tokens": 7,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 1},
            },
        }

    async def _speak(self, request: web.Request) -> web.StreamResponse:
        if refused := self._eleven_key(request):
            return refused
        body = json.loads(await request.text())
        voice, form = request.match_info["voice"], request.query.get("output_format", "mp3_44100_128")
        if not self.sessions:
            self.sessions.append({"behaviour": self.next_behaviour()})
        self.sessions[-1]["tts"] = {**body, "voice": voice, "output_format": form}
        if voice not in self.voices or self.behaviour == "tts_voice_gone":
            return self.detail(400, "voice_not_found", f"A voice with voice_id {voice} was not found.")
        if self.behaviour == "tts_too_long" or len(body["text"]) > 40000:
            return self.detail(400, "max_character_limit_exceeded", "too long")
        if self.behaviour == "tts_quota":
            return self.detail(401, "quota_exceeded", "This request exceeds your quota.")
        if self.behaviour == "tts_quota_200":
            return self.detail(200, "quota_exceeded", "This request exceeds your quota.")
        if self.behaviour in SOUNDS or "text-to-speech" in self._instead:
            data = (self._instead.get("text-to-speech") or (SOUNDS.get(self.behaviour, bytes),))[0]
            data = data(self.answer(body["text"], voice)) if callable(data) else data
            data = data if isinstance(data, bytes) else json.dumps(data).encode()
            return web.Response(body=data, content_type="audio/pcm")
        if self.behaviour == "tts_busy":
            return self.detail(429, "system_busy", "back off")
        response = web.StreamResponse(headers={"content-type": "audio/pcm", "request-id": "r1"})
        await response.prepare(request)
        for piece in pieces(self.answer(body["text"], voice), 1001 if self.behaviour == "odd_chunks" else 4800):
            await response.write(piece)
            if self.behaviour == "tts_break":
                request.transport.abort()  # type: ignore[union-attr]
                return response
        await response.write_eof()
        return response

    def answer(self, text: str = "It is four.", voice: str = "21m00Tcm4TlvDq8ikWAM") -> bytes:
        """Return the sound of a text in a voice."""
        return answer_pcm(text, voice)
