"""The realtime event protocol that OpenAI and xAI share: one WebSocket session answers one turn.

Turn detection is off: the whole clip is sent, committed, and one response is asked for. Its end is
``response.done``. A response may hold several items; those of phase ``commentary`` are provisional.
"""

from __future__ import annotations

import base64
import time
from abc import ABC, abstractmethod
from typing import Any

import msgspec

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.realtime_events import RealtimeReader, event_type
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import TurnError, failure, settings_refused
from vaeval_tasks.models.protocol import Conversation, Reply, Turn, TurnRole
from vaeval_tasks.models.providers import address
from vaeval_tasks.models.speech_in import Speech, earlier, image_url, pcm, question, speech, speech_pace
from vaeval_tasks.models.transport.edge import fit, keeping
from vaeval_tasks.models.transport.endpoint import endpoint, request_headers
from vaeval_tasks.models.transport.record import audio_stub, hide, message
from vaeval_tasks.models.transport.websocket import ClosedError, Socket, connect
from vaeval_tasks.models.turn import Answer, Timeouts, alongside, run_turn
from vaeval_tasks.services.http.meaning import of_error
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus, SpeechPace

__all__ = ["Realtime", "differences"]

_CONFIRMED_WITHIN_S = 10.0
"""How long to wait for the settings to be confirmed."""
_END = (message({"type": "input_audio_buffer.commit"}), message({"type": "response.create"}))


class _Updated(msgspec.Struct, frozen=True):
    session: dict[str, Any] | None = None


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
        pace = speech_pace(config)
        sound = await speech(question(conversation), formats["input"]["format"]["rate"], _append)
        items = await self._items(conversation, formats["input"]["format"]["rate"])
        timeouts = Timeouts.of(config)

        async def talk(answer: Answer) -> None:
            url = endpoint(config, "/realtime", socket=True, query={"model": config.params["model"]})
            answer.request = {
                "url": url,
                "session": session,
                "items": [_shown_item(item) for item in items],
                "audio": {**sound.stub, **formats["input"]["format"]},
            }
            headers = request_headers(config, "Authorization", self.key, "Bearer {}")
            async with connect(url, headers, config=config, answer=answer, timeouts=timeouts) as socket:
                await self._configure(socket, answer, session, config)
                await alongside(
                    lambda: _ask(socket, answer, items, sound, pace), lambda: _listen(socket, answer, config)
                )

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
        """Send the session and wait until the provider has taken it, unchanged.

        Some servers never say ``session.created`` or ``session.updated``: then the question is asked all the same, and
        the answer says that its settings were not confirmed.
        """
        await socket.send(message({"type": "session.update", "session": session}))
        until, missing = self._clock.now() + _CONFIRMED_WITHIN_S, ["session.created", "session.updated"]
        try:
            while (event := await socket.receive(max(0.0, until - self._clock.now()))) is not None:
                with keeping(answer.recorder, event):
                    kind = event_type(event)
                    taken = fit(event, _Updated, kind) if kind == "session.updated" else None
                answer.recorder.received(event)
                if kind == "error":
                    found = of_error(event.get("error") or "no reason given", now=time.time(), where="an error event")
                    raise settings_refused(config, address(config), found)
                if kind in ("session.created", "conversation.created"):
                    missing = ["session.updated"]
                if taken is not None:
                    if wrong := differences(session, taken.session or {}):
                        changed = f"{config.provider} changed the settings ({'; '.join(wrong)})"
                        raise ServiceError(f"{config.config_id}: {changed}")
                    return
        except ClosedError as error:
            raise settings_refused(config, address(config), error.outcome) from None
        answer.add_note(f"{' and '.join(missing)} never came: the settings are not confirmed")

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


def _append(audio: Any) -> dict[str, Any]:
    return {"type": "input_audio_buffer.append", "audio": audio}


def _create(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "conversation.item.create", "item": item}


async def _ask(socket: Socket, answer: Answer, items: list[dict[str, Any]], sound: Speech, pace: SpeechPace) -> None:
    await socket.send(*(message(_create(item), _create(_shown_item(item))) for item in items))
    await socket.speak(sound, pace)
    await socket.send(*_END)
    await socket.sent()
    answer.recorder.asked(pace)


async def _listen(socket: Socket, answer: Answer, config: ModelConfig) -> None:
    reader = RealtimeReader(answer, lambda found: failure(config, address(config), found, begun=answer.begun))
    answer.has_transcript = True
    try:
        while (event := await socket.receive()) is None or not reader.take(event):
            pass
    except TurnError as error:
        if error.status is ResponseStatus.timeout and reader.met is not None:
            raise failure(config, address(config), reader.met, begun=answer.begun) from None
        raise
    finally:
        reader.fill()
