"""The realtime event protocol that OpenAI and xAI share: one WebSocket session answers one turn.

Turn detection is off: the whole clip is sent, committed, and one response is asked for. Its end is
``response.done``. A response may hold several items; those of phase ``commentary`` are provisional.
"""

from __future__ import annotations

import base64
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Conversation, Reply, Turn, TurnRole
from vaeval_tasks.models.providers import address, secret
from vaeval_tasks.models.speech_in import Speech, earlier, image_url, pcm, question, speech
from vaeval_tasks.models.transport.failure import failure
from vaeval_tasks.models.transport.record import audio_stub, decode_base64, hide, message
from vaeval_tasks.models.transport.websocket import ClosedError, Socket, connect
from vaeval_tasks.models.turn import Answer, Timeouts, TurnError, alongside, run_turn
from vaeval_tasks.services.http.meaning import HttpOutcome, of_error
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["Realtime", "differences"]

_END = (message({"type": "input_audio_buffer.commit"}), message({"type": "response.create"}))


def differences(asked: Any, got: Any, where: str = "session") -> list[str]:
    """Return what of the settings that were asked for came back otherwise; what is missing is not compared."""
    if isinstance(asked, dict) and isinstance(got, dict):
        return [
            line
            for key, value in asked.items()
            if key in got
            for line in differences(value, got[key], f"{where}.{key}")
        ]
    if asked == {"type": None} and got is None:
        return []
    same = asked.lower() == got.lower() if isinstance(asked, str) and isinstance(got, str) else asked == got
    return [] if same else [f"{where}: asked for {asked!r}, got {got!r}"]


@dataclass(slots=True)
class _Output:
    """The items of one response, in order of ``output_index``."""

    phases: dict[int, str] = field(default_factory=dict)
    audio: dict[tuple[int, int], bytearray] = field(default_factory=dict)
    words: dict[tuple[int, int], str] = field(default_factory=dict)

    def is_final(self, index: int) -> bool:
        return self.phases.get(index, "") != "commentary"

    def fill(self, answer: Answer) -> None:
        """Sort the items into final and provisional."""
        for (index, _), sound in sorted(self.audio.items()):
            (answer.final if self.is_final(index) else answer.provisional).extend(sound)
        answer.output_transcript = " ".join(t for (i, _), t in sorted(self.words.items()) if t and self.is_final(i))


class Realtime(ABC):
    """Speaks the shared events; a subclass says how its session is described."""

    sees = False
    key: str
    """The environment variable of the provider's key."""
    retry_silence = False
    """Whether a turn that stayed silent is tried once more in a fresh session."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()

    @abstractmethod
    def session(self, config: ModelConfig, conversation: Conversation) -> dict[str, Any]:
        """Return the session of ``session.update``."""

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn in a fresh session; see :class:`vaeval_tasks.models.protocol.SpeechModel`."""
        session = self.session(config, conversation)
        formats = session["audio"]
        sound = await speech(question(conversation), formats["input"]["format"]["rate"], _append)
        items = await self._items(conversation, formats["input"]["format"]["rate"])
        timeouts = Timeouts.of(config)

        async def talk(answer: Answer) -> None:
            url = f"{_websocket(address(config))}/realtime?model={config.params['model']}"
            answer.request = {
                "url": url,
                "session": session,
                "items": [_shown_item(item) for item in items],
                "audio": {**sound.stub, **formats["input"]["format"]},
            }
            headers = {"Authorization": f"Bearer {secret(self.key, config)}"}
            async with connect(url, headers, config=config, answer=answer, timeouts=timeouts) as socket:
                await self._configure(socket, answer, session, config)
                await alongside(lambda: _ask(socket, answer, items, sound), lambda: _listen(socket, answer, config))

        return await run_turn(
            talk,
            clock=self._clock,
            timeouts=timeouts,
            rate=formats["output"]["format"]["rate"],
            retry_silence=self.retry_silence,
        )

    async def close(self) -> None:  # noqa: B027
        """Nothing stays open between turns."""

    async def _configure(self, socket: Socket, answer: Answer, session: dict[str, Any], config: ModelConfig) -> None:
        """Send the session and wait until the provider has taken it, unchanged."""
        try:
            while (event := await _receive(socket, answer))["type"] not in ("session.created", "conversation.created"):
                _permanent(event, config)
            await socket.send(message({"type": "session.update", "session": session}))
            while (event := await _receive(socket, answer))["type"] != "session.updated":
                _permanent(event, config)
        except ClosedError as error:
            if error.retry is None:
                raise ServiceError(
                    f"{config.config_id}: {config.provider} refused the settings: {error.reason}"
                ) from None
            raise
        if wrong := differences(session, event.get("session") or {}):
            raise ServiceError(f"{config.config_id}: {config.provider} changed the settings ({'; '.join(wrong)})")

    async def _items(self, conversation: Conversation, rate: int) -> list[dict[str, Any]]:
        """Return the earlier turns, and the images of the last one, as conversation items."""
        items = [await _history_item(turn, rate) for turn in earlier(conversation)]
        if images := question(conversation).images:
            content = [{"type": "input_image", "image_url": image_url(path)} for path in images]
            items.append({"type": "message", "role": "user", "content": content})
        return items


async def _history_item(turn: Turn, rate: int) -> dict[str, Any]:
    if turn.role == TurnRole.assistant:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.text}]}
    content: list[dict[str, Any]] = [{"type": "input_image", "image_url": image_url(p)} for p in turn.images]
    if turn.audio:
        content.append({"type": "input_audio", "audio": base64.b64encode(await pcm(turn, rate)).decode()})
    else:
        content.append({"type": "input_text", "text": turn.text})
    return {"type": "message", "role": "user", "content": content}


def _shown_item(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "content": [_shown_part(part) for part in item["content"]]}


def _shown_part(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "input_audio":
        return hide(part, "audio")
    if part["type"] == "input_image":
        return {**part, "image_url": audio_stub(part["image_url"].encode())}
    return part


def _websocket(url: str) -> str:
    return "ws" + url.removeprefix("http") if url.startswith("http") else url


def _append(audio: Any) -> dict[str, Any]:
    return {"type": "input_audio_buffer.append", "audio": audio}


def _create(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "conversation.item.create", "item": item}


async def _receive(socket: Socket, answer: Answer) -> dict[str, Any]:
    """Return the next event; the ``delta`` of one that brings sound is PCM."""
    event = await socket.receive()
    if event.setdefault("type", "") == "response.output_audio.delta":
        event["delta"] = decode_base64(event.get("delta"))
    answer.recorder.received(event)
    return event


def _permanent(event: dict[str, Any], config: ModelConfig) -> None:
    """Raise for an error before the question was asked: the settings are refused."""
    if event["type"] == "error":
        found = _outcome(event.get("error"))
        if found.meaning.again or found.meaning.for_all:
            raise failure(config, address(config), found)
        raise ServiceError(f"{config.config_id}: {config.provider} refused the settings ({found.reason})")


async def _ask(socket: Socket, answer: Answer, items: list[dict[str, Any]], sound: Speech) -> None:
    before = [message(_create(item), _create(_shown_item(item))) for item in items]
    await socket.send(*before, *sound.messages, *_END)
    answer.recorder.asked()


async def _listen(socket: Socket, answer: Answer, config: ModelConfig) -> None:
    output = _Output()
    answer.has_transcript = True
    try:
        while (event := await _receive(socket, answer))["type"] != "response.done":
            if event["type"] == "error":
                raise failure(config, address(config), _outcome(event.get("error")), begun=answer.begun)
            _collect(event, output, answer)
    finally:
        output.fill(answer)
    _finish(event, answer, config)


def _collect(event: dict[str, Any], output: _Output, answer: Answer) -> None:
    kind = event["type"]
    place = (event.get("output_index", 0), event.get("content_index", 0))
    if kind == "response.output_item.added":
        output.phases[place[0]] = (event.get("item") or {}).get("phase") or ""
    elif kind == "response.output_audio.delta":
        output.audio.setdefault(place, bytearray()).extend(event["delta"])
        answer.begun = True
        if output.is_final(place[0]):
            answer.recorder.heard()
    elif kind == "response.output_audio_transcript.delta":
        output.words[place] = output.words.get(place, "") + str(event.get("delta", ""))
    elif kind == "response.output_audio_transcript.done":
        output.words[place] = str(event.get("transcript", ""))
    elif kind == "response.output_text.delta":
        answer.text += str(event.get("delta", ""))
    elif kind.endswith("input_audio_transcription.completed") or kind.endswith("input_audio_transcription.updated"):
        answer.input_transcript = str(event.get("transcript", ""))


def _finish(event: dict[str, Any], answer: Answer, config: ModelConfig) -> None:
    response = event.get("response") or {}
    answer.usage = response.get("usage") or event.get("usage") or {}
    status, details = response.get("status"), response.get("status_details") or {}
    if status == "completed":
        return
    reason = details.get("reason") or ""
    if status == "failed":
        raise failure(config, address(config), _outcome(details.get("error")), begun=answer.begun)
    kind = ResponseStatus.refused if reason == "content_filter" else ResponseStatus.error
    raise TurnError(kind, f"the response is {status} ({reason or 'no reason given'})")


def _outcome(error: Any) -> HttpOutcome:
    return of_error(error or "no reason given", now=time.time(), where="an error event")
