"""A cascade: ElevenLabs Scribe writes down the prompt, GPT answers in text, ElevenLabs Flash speaks.

The prompt is pinned by the configuration, as in the deployed system of DAI-S2S-ST: a system turn is refused.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from vaeval_tasks.audio import wav_bytes
from vaeval_tasks.models.adapters.cascade_replies import read_responses, read_transcript
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import TurnError, failure
from vaeval_tasks.models.protocol import Conversation, Reply, Turn, TurnRole
from vaeval_tasks.models.providers import secret
from vaeval_tasks.models.speech_in import clips, earlier, question
from vaeval_tasks.models.transport.endpoint import endpoint
from vaeval_tasks.models.transport.http import Http, error_in_reply, json_of
from vaeval_tasks.models.transport.record import audio_stub
from vaeval_tasks.models.turn import Answer, Timeouts, run_turn
from vaeval_tasks.services.http.meaning import error_inside, json_body
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["Cascade"]


class Cascade:
    """Speech to text, text to text, text to speech."""

    sees = False

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._http = Http()

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn; see :class:`vaeval_tasks.models.protocol.SpeechModel`."""
        if conversation.system_prompt:
            reason = "400: the cascade pins its own prompt and takes no system turn"
            return Reply(status=ResponseStatus.refused, error=reason)
        rate = config.connection.get("input_rate", 16000)
        turns = [await _heard(turn, rate) for turn in (*earlier(conversation), question(conversation))]
        timeouts = Timeouts.of(config)

        async def talk(answer: Answer) -> None:
            answer.request = {"messages": [_shown(turn) for turn in turns], **config.params}
            messages = [await self._message(turn, answer, config, timeouts) for turn in turns]
            answer.input_transcript = messages[-1]["content"]
            if not answer.input_transcript.strip():
                raise TurnError(ResponseStatus.empty, "the recogniser heard no words; the language model was not asked")
            await self._think(messages, answer, config, timeouts)
            if not answer.text.strip():
                raise TurnError(ResponseStatus.empty, "the language model answered without words")
            await self._speak(answer, config, timeouts)

        return await run_turn(
            talk, clock=self._clock, timeouts=timeouts, rate=config.connection.get("output_rate", 24000)
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _message(
        self, turn: dict[str, Any], answer: Answer, config: ModelConfig, timeouts: Timeouts
    ) -> dict[str, Any]:
        """Return a turn as a message of text."""
        words = [turn["text"]] if turn["text"] else []
        words += [await self._transcribe(data, answer, config, timeouts) for data in turn["wavs"]]
        return {"role": turn["role"], "content": " ".join(words)}

    async def _transcribe(self, data: bytes, answer: Answer, config: ModelConfig, timeouts: Timeouts) -> str:
        fields = {"model_id": config.params["asr_model"], "tag_audio_events": "false"}
        if config.params.get("language"):
            fields["language_code"] = config.params["language"]
        answer.recorder.sent({"speech-to-text": fields, "file": audio_stub(data)})
        async with self._http.post(
            endpoint(config, "/v1/speech-to-text", key="elevenlabs_url"),
            config=config,
            answer=answer,
            timeouts=timeouts,
            headers={"xi-api-key": secret("ELEVENLABS_API_KEY", config)},
            asks=True,
            data=fields,
            files={"file": ("prompt.wav", data, "audio/wav")},
        ) as response:
            body = await json_of(response, config=config, answer=answer)
        answer.recorder.received({"speech-to-text": body})
        return read_transcript(body)

    async def _think(
        self, messages: list[dict[str, Any]], answer: Answer, config: ModelConfig, timeouts: Timeouts
    ) -> None:
        body: dict[str, Any] = {
            "model": config.params["llm_model"],
            "instructions": config.system_prompt,
            "input": messages,
        }
        if effort := config.params.get("reasoning_effort"):
            body["reasoning"] = {"effort": effort}
        answer.recorder.sent({"responses": body})
        url = endpoint(config, "/responses", key="openai_url")
        async with self._http.post(
            url,
            config=config,
            answer=answer,
            timeouts=timeouts,
            headers={"Authorization": f"Bearer {secret('OPENAI_API_KEY', config)}"},
            json=body,
        ) as response:
            reply = await json_of(response, config=config, answer=answer)
        answer.recorder.received({"responses": reply})
        read_responses(reply, answer, lambda found: failure(config, url, found, begun=answer.begun))

    async def _speak(self, answer: Answer, config: ModelConfig, timeouts: Timeouts) -> None:
        body = {"text": answer.text, "model_id": config.params["tts_model"]}
        voice, form = config.params["voice"], f"pcm_{answer.rate}"
        pieces: list[bytes] = []
        answer.recorder.sent({"text-to-speech": body, "voice": voice, "output_format": form})
        async with self._http.post(
            endpoint(
                config,
                f"/v1/text-to-speech/{quote(str(voice), safe='')}/stream",
                key="elevenlabs_url",
                query={"output_format": form},
            ),
            config=config,
            answer=answer,
            timeouts=timeouts,
            headers={"xi-api-key": secret("ELEVENLABS_API_KEY", config)},
            json=body,
        ) as response:
            if "json" in response.headers.get("content-type", ""):
                await json_of(response, config=config, answer=answer)
                raise TurnError(ResponseStatus.error, "text-to-speech answered without sound")
            async for piece in response.aiter_bytes():
                answer.hear(piece)
                pieces.append(piece)
            sound = b"".join(pieces)
            answer.recorder.received({"text-to-speech": sound})
            error = error_inside(json_body(sound.decode("utf-8", "replace"))) if sound[:1] == b"{" else None
            if error is not None:  # one that calls itself sound
                raise error_in_reply(response, error, config=config, where="an error inside HTTP 200", begun=False)
        answer.usage["tts"] = {"characters": len(answer.text)}


async def _heard(turn: Turn, rate: int) -> dict[str, Any]:
    """Return a turn with its clips as WAV files; of an assistant's turn the words are enough."""
    sounds = await clips(turn, rate) if turn.role == TurnRole.user else []
    return {"role": turn.role, "text": turn.text if not sounds else "", "wavs": [wav_bytes(clip) for clip in sounds]}


def _shown(turn: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": turn["text"]}] if turn["text"] else []
    content += [{"type": "audio", "audio_b64": audio_stub(data), "filename": "prompt.wav"} for data in turn["wavs"]]
    return {"role": turn["role"], "content": content}
