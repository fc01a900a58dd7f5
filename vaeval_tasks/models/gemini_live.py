"""Google Gemini Live: ``BidiGenerateContent`` over a WebSocket, PCM 16 kHz in and 24 kHz out.

Automatic activity detection is off, so ``activityEnd``, not silence, ends the user's turn. The model's turn ends
with ``turnComplete``, unless ``interactionStatus`` says that more is to come: then what was heard is provisional.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Conversation, Reply, Turn
from vaeval_tasks.models.providers import address, secret
from vaeval_tasks.models.record import audio_stub, decode_base64, hide
from vaeval_tasks.models.speech_in import (
    chunks,
    earlier,
    image_bytes,
    image_type,
    pcm,
    plain_system,
    question,
)
from vaeval_tasks.models.turn import Answer, Timeouts, TurnError, alongside, run_turn
from vaeval_tasks.models.websocket import ClosedError, Socket, connect
from vaeval_tasks.schema import ModelConfig, ResponseStatus

__all__ = ["GeminiLive", "rate_of", "setup_message"]

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
_BAD_SETUP = (1007, 1008)
"""Close codes of a setup that is refused: a bad argument, an unknown model, a refused key."""


def setup_message(config: ModelConfig, conversation: Conversation) -> dict[str, Any]:
    """Return the first message: the published parameters at the places the service has for them."""
    params = config.params
    setup: dict[str, Any] = {
        "model": f"models/{params['model']}",
        "generationConfig": {key: params[key] for key in _GENERATION if key in params},
        **{key: params[key] for key in _SESSION if key in params},
    }
    if system := plain_system(conversation, config.system_prompt):
        setup["systemInstruction"] = {"parts": [{"text": system}]}
    if earlier(conversation):
        setup["historyConfig"] = {"initialHistoryInClientContent": True}
    return {"setup": setup}


def rate_of(mime: str, default: int) -> int:
    """Return the rate in Hz that a media type such as ``audio/pcm;rate=16000`` names."""
    found = re.search(r"rate=(\d+)", mime)
    return int(found.group(1)) if found else default


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
        speech = await pcm(question(conversation), rate)
        before = [await _history(turn, rate) for turn in earlier(conversation)]
        timeouts = Timeouts.of(config)

        async def talk(answer: Answer) -> None:
            url = _url(config)
            answer.request = {
                "url": url,
                **setup,
                "turns": [_shown(turn) for turn in before],
                "realtimeInput": {"audio": {"mimeType": mime, "data": audio_stub(speech)}},
            }
            headers = {"x-goog-api-key": secret("GEMINI_API_KEY", config)}
            async with connect(url, headers, config=config, answer=answer, timeouts=timeouts) as socket:
                await _set_up(socket, answer, setup, config)
                await alongside(
                    lambda: _ask(socket, answer, question(conversation), before, speech, mime),
                    lambda: _listen(socket, answer),
                )

        return await run_turn(talk, clock=self._clock, timeouts=timeouts, rate=OUTPUT_RATE)

    async def close(self) -> None:
        """Nothing stays open between turns."""


def _url(config: ModelConfig) -> str:
    version = config.connection.get("api_version", "v1beta")
    base = "ws" + address(config).removeprefix("http")
    return f"{base}/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"


async def _history(turn: Turn, rate: int) -> dict[str, Any]:
    """Return an earlier turn as content."""
    parts: list[dict[str, Any]] = []
    if turn.audio and turn.role == "user":
        data = base64.b64encode(await pcm(turn, rate)).decode()
        parts.append({"inlineData": {"mimeType": f"audio/pcm;rate={rate}", "data": data}})
    elif turn.text:
        parts.append({"text": turn.text})
    if not parts:
        raise InputError(f"an earlier turn of the {turn.role} has neither words nor audio")
    return {"role": "model" if turn.role == "assistant" else "user", "parts": parts}


def _shown(content: dict[str, Any]) -> dict[str, Any]:
    """Return content with its audio replaced."""
    parts = [hide(part, "inlineData", "data") if "inlineData" in part else part for part in content["parts"]]
    return {**content, "parts": parts}


async def _send(socket: Socket, answer: Answer, message: dict[str, Any], *audio: str) -> None:
    answer.recorder.sent(hide(message, *audio) if audio else message)
    await socket.send(message)


async def _receive(socket: Socket, answer: Answer) -> dict[str, Any]:
    message = await socket.receive()
    content = message.get("serverContent")
    if isinstance(content, dict) and isinstance(content.get("modelTurn"), dict):
        turn = _shown({"parts": [], **content["modelTurn"]})
        answer.recorder.received({**message, "serverContent": {**content, "modelTurn": turn}})
    else:
        answer.recorder.received(message)
    return message


async def _set_up(socket: Socket, answer: Answer, setup: dict[str, Any], config: ModelConfig) -> None:
    await _send(socket, answer, setup)
    try:
        while "setupComplete" not in await _receive(socket, answer):
            pass
    except ClosedError as error:
        if error.code in _BAD_SETUP:
            raise ServiceError(f"{config.config_id}: gemini_live refused the setup: {error.reason}") from None
        raise


async def _ask(
    socket: Socket, answer: Answer, turn: Turn, before: list[dict[str, Any]], speech: bytes, mime: str
) -> None:
    if before:
        message = {"clientContent": {"turns": before, "turnComplete": False}}
        answer.recorder.sent({"clientContent": {**message["clientContent"], "turns": [_shown(t) for t in before]}})
        await socket.send(message)
    await _send(socket, answer, {"realtimeInput": {"activityStart": {}}})
    for path in turn.images:
        image = {"mimeType": image_type(path), "data": base64.b64encode(image_bytes(path)).decode()}
        await _send(socket, answer, {"realtimeInput": {"video": image}}, "realtimeInput", "video", "data")
    for piece in chunks(speech, rate_of(mime, 16000), 0.1):
        audio = {"data": base64.b64encode(piece).decode(), "mimeType": mime}
        await _send(socket, answer, {"realtimeInput": {"audio": audio}}, "realtimeInput", "audio", "data")
    await _send(socket, answer, {"realtimeInput": {"activityEnd": {}}})
    answer.recorder.asked()


async def _listen(socket: Socket, answer: Answer) -> None:
    while True:
        message = await _receive(socket, answer)
        if usage := message.get("usageMetadata"):
            answer.usage = usage
        # one message may hold several fields at once: look at each of them
        content = message.get("serverContent") or {}
        for part in (content.get("modelTurn") or {}).get("parts") or []:
            _collect(part, answer)
        answer.input_transcript += (content.get("inputTranscription") or {}).get("text") or ""
        if "outputTranscription" in content:
            answer.output_transcript += content["outputTranscription"].get("text") or ""
        if content.get("interrupted"):
            raise TurnError(ResponseStatus.error, "the answer was interrupted")
        if content.get("turnComplete"):
            if content.get("interactionStatus") != "IN_PROGRESS":
                answer.has_transcript = "outputAudioTranscription" in answer.request["setup"]
                return
            answer.set_aside()
            answer.output_transcript = ""


def _collect(part: dict[str, Any], answer: Answer) -> None:
    if "text" in part:
        if part.get("thought"):
            answer.thoughts += part["text"]
        else:
            answer.text += part["text"]
    if data := part.get("inlineData"):
        answer.rate = rate_of(data.get("mimeType") or "", answer.rate)
        answer.final += decode_base64(data.get("data"))
        answer.begun = True
        answer.recorder.heard()
