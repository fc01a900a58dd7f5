"""Google Gemini Live: ``BidiGenerateContent`` over a WebSocket, PCM 16 kHz in and 24 kHz out.

Automatic activity detection is off, so ``activityEnd``, not silence, ends the user's turn. Earlier turns go in first
as ``clientContent`` that says ``turnComplete``: the service waits for it before it listens. How the answer is read
stands in :mod:`vaeval_tasks.models.adapters.gemini_events`.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from vaeval_tasks.errors import InputError
from vaeval_tasks.models.adapters.gemini_events import GeminiReader, rate_of
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import TurnError, failure, settings_refused
from vaeval_tasks.models.protocol import Conversation, Reply, Turn, TurnRole
from vaeval_tasks.models.speech_in import (
    Speech,
    earlier,
    image_bytes,
    image_type,
    pcm,
    plain_system,
    question,
    speech,
    speech_pace,
)
from vaeval_tasks.models.transport.edge import fit, keeping
from vaeval_tasks.models.transport.endpoint import endpoint, request_headers
from vaeval_tasks.models.transport.record import Message, hide, message
from vaeval_tasks.models.transport.websocket import ClosedError, Socket, connect
from vaeval_tasks.models.turn import Answer, Timeouts, alongside, run_turn
from vaeval_tasks.services.http.meaning import of_error
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus, SpeechPace

__all__ = ["GeminiLive", "setup_message"]

OUTPUT_RATE = 24000
_GENERATION = (
    "responseModalities",
    "speechConfig",
    "thinkingConfig",
    "temperature",
    "topP",
    "topK",
    "maxOutputTokens",
    "seed",
)
_SESSION = ("inputAudioTranscription", "outputAudioTranscription", "realtimeInputConfig")
_START = message({"realtimeInput": {"activityStart": {}}})
_END = message({"realtimeInput": {"activityEnd": {}}})


class _SetUp(msgspec.Struct, frozen=True, rename="camel"):
    setup_complete: dict[str, Any] | None = None
    error: Any = None


def setup_message(config: ModelConfig, conversation: Conversation) -> dict[str, Any]:
    """Return the first message: the published parameters at the places the service has for them."""
    params = config.params
    setup: dict[str, Any] = {
        "model": params["model"] if _vertex(config) else f"models/{params['model']}",
        "generationConfig": {key: params[key] for key in _GENERATION if key in params},
        **{key: params[key] for key in _SESSION if key in params},
    }
    if system := plain_system(conversation, config.system_prompt):
        setup["systemInstruction"] = {"parts": [{"text": system}]}
    if earlier(conversation):
        setup["historyConfig"] = {"initialHistoryInClientContent": True}
    return {"setup": setup}


class GeminiLive:
    """Gemini 3.1 Flash Live."""

    sees = True

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn in a fresh session; see :class:`vaeval_tasks.models.protocol.SpeechModel`."""
        mime = config.params["realtimeInput"]["audio"]["mimeType"]
        rate = rate_of(mime, 16000)
        setup = setup_message(config, conversation)
        sound, pace = await speech(question(conversation), rate, _audio(mime), 0.1), speech_pace(config)
        before = [await _history(turn, rate) for turn in earlier(conversation)]
        timeouts = Timeouts.of(config)

        async def talk(answer: Answer) -> None:
            url = _url(config)
            answer.request = {
                "url": url,
                **setup,
                "turns": [_shown(turn) for turn in before],
                "realtimeInput": {"audio": {"mimeType": mime, "data": sound.stub}},
            }
            headers = request_headers(config, "x-goog-api-key", "GEMINI_API_KEY")
            async with connect(url, headers, config=config, answer=answer, timeouts=timeouts) as socket:
                await _set_up(socket, answer, setup, config)
                await alongside(
                    lambda: _ask(socket, answer, question(conversation), before, sound, pace),
                    lambda: _listen(socket, answer, config),
                )

        return await run_turn(talk, clock=self._clock, timeouts=timeouts, rate=OUTPUT_RATE)

    async def close(self) -> None:
        """Nothing stays open between turns."""


def _url(config: ModelConfig) -> str:
    version = config.connection.get("api_version", "v1beta1" if _vertex(config) else "v1beta")
    service = (
        f"google.cloud.aiplatform.{version}.LlmBidiService/BidiGenerateContent"
        if _vertex(config)
        else f"google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"
    )
    return endpoint(config, f"/ws/{service}", socket=True)


def _vertex(config: ModelConfig) -> bool:
    """Whether the model is Vertex AI's, whose names begin with a project: another service speaks the same messages."""
    return str(config.params["model"]).startswith(("projects/", "publishers/"))


async def _history(turn: Turn, rate: int) -> dict[str, Any]:
    """Return an earlier turn as content."""
    parts: list[dict[str, Any]] = []
    if turn.audio and turn.role == TurnRole.user:
        data = base64.b64encode(await pcm(turn, rate)).decode()
        parts.append({"inlineData": {"mimeType": f"audio/pcm;rate={rate}", "data": data}})
    elif turn.text:
        parts.append({"text": turn.text})
    if not parts:
        raise InputError(f"an earlier turn of the {turn.role} has neither words nor audio")
    return {"role": "model" if turn.role == TurnRole.assistant else "user", "parts": parts}


def _shown(content: dict[str, Any]) -> dict[str, Any]:
    """Return content with its audio replaced."""
    parts = [hide(part, "inlineData", "data") if "inlineData" in part else part for part in content["parts"]]
    return {**content, "parts": parts}


@cache
def _audio(mime: str) -> Callable[[Any], dict[str, Any]]:
    """Return what puts a piece of audio into a message."""
    return lambda data: {"realtimeInput": {"audio": {"data": data, "mimeType": mime}}}


async def _set_up(socket: Socket, answer: Answer, setup: dict[str, Any], config: ModelConfig) -> None:
    await socket.send(message(setup))
    try:
        while (got := await socket.receive()) is not None:
            with keeping(answer.recorder, got):
                taken = fit(got, _SetUp, "setupComplete")
            answer.recorder.received(got)
            if taken.error is not None:
                found = of_error(taken.error, now=time.time(), where="an error message")
                raise settings_refused(config, _url(config), found)
            if "setupComplete" in got:
                return
    except ClosedError as error:
        raise settings_refused(config, _url(config), error.outcome) from None
    except TurnError as error:
        if error.status is ResponseStatus.timeout:
            raise TurnError(error.status, "setupComplete never came", error.retry) from None
        raise


async def _ask(
    socket: Socket, answer: Answer, turn: Turn, before: list[dict[str, Any]], sound: Speech, pace: SpeechPace
) -> None:
    history = [message(_client_content(before), _client_content([_shown(t) for t in before]))] if before else []
    images = [_image(path) for path in turn.images]
    await socket.send(*history, _START, *images)
    await socket.speak(sound, pace)
    await socket.send(_END)
    await socket.sent()
    answer.recorder.asked(pace)


def _client_content(turns: list[dict[str, Any]]) -> dict[str, Any]:
    return {"clientContent": {"turns": turns, "turnComplete": True}}


def _image(path: Path) -> Message:
    image = {"mimeType": image_type(path), "data": base64.b64encode(image_bytes(path)).decode()}
    content = {"realtimeInput": {"video": image}}
    return message(content, hide(content, "realtimeInput", "video", "data"))


async def _listen(socket: Socket, answer: Answer, config: ModelConfig) -> None:
    transcribed = "outputAudioTranscription" in answer.request["setup"]
    url = _url(config)
    reader = GeminiReader(
        answer, lambda found: failure(config, url, found, begun=answer.begun), transcribed=transcribed
    )
    try:
        while (got := await socket.receive(reader.patience())) is not None and not reader.take(got):
            pass
    except ClosedError:
        if reader.patience() is None or not answer.answering:
            raise
    finally:
        reader.fill()
