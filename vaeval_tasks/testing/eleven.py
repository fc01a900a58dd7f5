"""Fakes of ElevenLabs (speech to text, text to speech) and of OpenAI's Responses, on one port."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

from aiohttp import web

from vaeval_tasks.testing.server import KEY, Fake, answer_pcm, pieces

WORDS = "What is two plus two?"


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
        if self.behaviour == "stt_500":
            return self.detail(500, "internal", "broke")
        words = "" if self.behaviour == "no_words" else WORDS
        word = {"text": "What", "start": 0.1, "end": 0.3, "type": "word", "logprob": 0.0, "speaker_id": None}
        body = {"language_code": "eng", "language_probability": 0.98, "text": words, "words": [word]}
        return web.json_response({**body, "transcription_id": "t1"})

    async def _respond(self, request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "")
        if given != f"Bearer {KEY}":
            error = {"code": "invalid_api_key", "message": f"Incorrect API key provided: {given}"}
            return web.json_response({"error": error}, status=401)
        body = await request.json()
        if not self.sessions:
            self.sessions.append({"behaviour": self.next_behaviour()})
        self.sessions[-1]["llm"] = body
        if body["model"] != "gpt-5.6-terra":
            error = {"code": "model_not_found", "message": "The model does not exist", "param": "model"}
            return web.json_response({"error": error}, status=400)
        if self.behaviour == "llm_429":
            error = {"code": "rate_limit_exceeded", "message": "slow down"}
            return web.json_response({"error": error}, status=429, headers={"retry-after": "0.01"})
        await asyncio.sleep(5 if self.behaviour == "slow_llm" else self.delay)
        return web.json_response(self._reply())

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
            output.append(message("" if self.behaviour == "wordless" else "It is four."))
        incomplete = self.behaviour == "llm_incomplete"
        return {
            "id": "resp_x",
            "object": "response",
            "created_at": 1,
            "status": "incomplete" if incomplete else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if incomplete else None,
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
