"""Events of the realtime protocol as typed records, and the turn that they make up.

Names and shapes: the types of the ``openai`` package (``RealtimeServerEvent``); the names of the preview
(``response.audio.delta``), which SGLang-Omni and others still send, mean the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from vaeval_tasks.models.adapters.uses import Use
from vaeval_tasks.models.fate import FATES, Consequence, Fate
from vaeval_tasks.models.transport.edge import BadMessageError, fit, keeping
from vaeval_tasks.models.turn import Answer
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome, of_error

__all__ = ["EVENTS", "OLD_NAMES", "RealtimeReader", "event_type"]

EVENTS: dict[str, Use] = {
    "session.created": Use.record,
    "session.updated": Use.end,
    "conversation.created": Use.record,
    "error": Use.refuse,
    "input_audio_buffer.committed": Use.record,
    "conversation.item.added": Use.record,
    "conversation.item.created": Use.record,
    "conversation.item.done": Use.record,
    "conversation.item.input_audio_transcription.delta": Use.use,
    "conversation.item.input_audio_transcription.completed": Use.use,
    "conversation.item.input_audio_transcription.updated": Use.use,
    "conversation.item.input_audio_transcription.segment": Use.record,
    "conversation.item.input_audio_transcription.failed": Use.record,
    "response.created": Use.use,
    "response.output_item.added": Use.use,
    "response.output_item.done": Use.use,
    "response.content_part.added": Use.record,
    "response.content_part.done": Use.record,
    "response.output_audio.delta": Use.use,
    "response.output_audio.done": Use.record,
    "response.output_audio_transcript.delta": Use.use,
    "response.output_audio_transcript.done": Use.use,
    "response.output_text.delta": Use.use,
    "response.output_text.done": Use.use,
    "response.done": Use.end,
    "rate_limits.updated": Use.record,
    "ping": Use.record,
    "conversation.item.deleted": Use.ignore,
    "conversation.item.retrieved": Use.ignore,
    "conversation.item.truncated": Use.ignore,
    "input_audio_buffer.cleared": Use.ignore,
    "input_audio_buffer.dtmf_event_received": Use.ignore,
    "input_audio_buffer.speech_started": Use.ignore,
    "input_audio_buffer.speech_stopped": Use.ignore,
    "input_audio_buffer.timeout_triggered": Use.ignore,
    "output_audio_buffer.started": Use.ignore,
    "output_audio_buffer.stopped": Use.ignore,
    "output_audio_buffer.cleared": Use.ignore,
    "response.function_call_arguments.delta": Use.ignore,
    "response.function_call_arguments.done": Use.ignore,
    "response.mcp_call_arguments.delta": Use.ignore,
    "response.mcp_call_arguments.done": Use.ignore,
    "response.mcp_call.in_progress": Use.ignore,
    "response.mcp_call.completed": Use.ignore,
    "response.mcp_call.failed": Use.ignore,
    "mcp_list_tools.in_progress": Use.ignore,
    "mcp_list_tools.completed": Use.ignore,
    "mcp_list_tools.failed": Use.ignore,
}
"""Each event and what is done with it; one that is not here is kept in the record."""

OLD_NAMES = {
    "response.audio.delta": "response.output_audio.delta",
    "response.audio.done": "response.output_audio.done",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.audio_transcript.done": "response.output_audio_transcript.done",
    "response.text.delta": "response.output_text.delta",
    "response.text.done": "response.output_text.done",
}
"""Names of the preview."""

_Index = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class _Part(msgspec.Struct, frozen=True):
    transcript: str | None = None


class _Item(msgspec.Struct, frozen=True):
    role: str | None = None
    phase: str | None = None
    content: list[_Part] | None = None


class _Sound(msgspec.Struct, frozen=True):
    delta: str | None = None
    audio: str | None = None  # vLLM
    output_index: _Index = 0
    content_index: _Index = 0
    sample_rate_hz: int | None = None


class _Words(msgspec.Struct, frozen=True):
    delta: str | None = None
    transcript: str | None = None
    text: str | None = None
    output_index: _Index = 0
    content_index: _Index = 0


class _OfItem(msgspec.Struct, frozen=True):
    item: _Item
    output_index: _Index = 0


class _Details(msgspec.Struct, frozen=True):
    reason: str | None = None
    error: Any = None


class _Response(msgspec.Struct, frozen=True):
    status: str | None = None
    status_details: _Details | None = None
    usage: dict[str, Any] | None = None
    output: list[_Item] | None = None


class _Done(msgspec.Struct, frozen=True):
    response: _Response | None = None
    usage: dict[str, Any] | None = None


def event_type(event: dict[str, Any]) -> str:
    """Return an event's name, "" where it has none, in today's words.

    Raises:
        BadMessageError: the name is no text.
    """
    kind = event.get("type", "")
    if not isinstance(kind, str):
        raise BadMessageError(f"a message that does not fit: type: Expected `str`, got {kind!r:.60}")
    return OLD_NAMES.get(kind, kind)


class RealtimeReader:
    """Reads the events after the question.

    Args:
        answer: where the answer is collected.
        fail: returns the exception that a failure is.
    """

    def __init__(self, answer: Answer, fail: Callable[[HttpOutcome], Exception]) -> None:
        self._answer, self._fail = answer, fail
        self._phases: dict[int, str] = {}
        self._words: dict[tuple[int, int], str] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._told: dict[int, str] = {}  # by item, what its finished form says
        self._responding = False
        self.met: HttpOutcome | None = None
        """An error that the session survived: the reason, if the answer does not come."""

    def take(self, event: dict[str, Any]) -> bool:
        """Take an event; return whether the turn is over.

        Raises:
            BadMessageError: a field of it is not what it must be.
            ServiceError: every prompt would meet this error.
            TurnError: the turn has failed.
        """
        with keeping(self._answer.recorder, event):
            kind = event_type(event)
            if kind == "response.output_audio.delta":
                event = self._sound(event, fit(event, _Sound, kind))
                self._answer.recorder.received(event)
                return False
            self._use(kind, event)
        self._answer.recorder.received(event)
        if kind == "error":
            self._error(event.get("error"))
        elif kind == "response.done":
            self._done(fit(event, _Done, kind))
        return kind == "response.done"

    def _sound(self, event: dict[str, Any], sound: _Sound) -> dict[str, Any]:
        self._responding = True
        index, place = sound.output_index, (sound.output_index, sound.content_index)
        field = "delta" if sound.delta is not None else "audio"
        kept = self._answer.hear(
            sound.delta or sound.audio or "", place=place, final=self._is_final(index), rate=sound.sample_rate_hz or 0
        )
        return {**event, field: kept}

    def _use(self, kind: str, event: dict[str, Any]) -> None:
        if kind.startswith("response."):
            self._responding = True
        if kind in ("response.output_item.added", "response.output_item.done"):
            found = fit(event, _OfItem, kind)
            self._item(found.output_index, found.item)
        elif kind.startswith("response.output_audio_transcript."):
            self._add(self._words, fit(event, _Words, kind))
        elif kind.startswith("response.output_text."):
            self._add(self._texts, fit(event, _Words, kind))
        elif kind.startswith("conversation.item.input_audio_transcription."):
            said = fit(event, _Words, kind)
            if kind.endswith(".delta"):
                self._answer.input_transcript += said.delta or ""
            elif kind.endswith((".completed", ".updated")):
                self._answer.input_transcript = said.transcript or ""
        elif kind == "response.done":
            done = fit(event, _Done, kind)
            for index, item in enumerate((done.response.output if done.response else None) or []):
                self._item(index, item)

    def _is_final(self, index: int) -> bool:
        return self._phases.get(index, "") != "commentary"

    def _item(self, index: int, item: _Item) -> None:
        """Take an item's phase, and its transcript for where no event had one."""
        if item.phase:
            self._phases[index] = item.phase
            for place, stream in self._answer.streams.items():
                if place[0] == index:
                    stream.final = self._is_final(index)
        if told := " ".join(part.transcript for part in item.content or [] if part.transcript):
            self._told[index] = told

    def _add(self, words: dict[tuple[int, int], str], said: _Words) -> None:
        place = (said.output_index, said.content_index)
        whole = said.transcript if said.transcript is not None else said.text
        if whole:
            words[place] = whole
        else:
            words[place] = words.get(place, "") + (said.delta or "")

    def fill(self) -> None:
        """Put the words into the answer: those of the final items in order, and what was written beside them."""
        heard = {index for (index, _), text in self._words.items() if text}
        self._words |= {(index, 0): told for index, told in self._told.items() if index not in heard}
        self._answer.output_transcript = self._joined(self._words, final=True)
        self._answer.text = self._joined(self._texts, final=True)
        self._answer.thoughts = self._joined(self._texts, final=False)

    def _joined(self, words: dict[tuple[int, int], str], *, final: bool) -> str:
        return " ".join(text for (index, _), text in sorted(words.items()) if text and self._is_final(index) == final)

    def _error(self, error: Any) -> None:
        """Let the session go on after an error that it survives: most are harmless, says the protocol.

        Before the response has begun, an error means that the question was not taken.
        """
        found = of_error(error or "no reason given", now=time.time(), where="an error event")
        harmless = isinstance(error, dict) and self._responding
        if not harmless or FATES[found.meaning].consequence is Consequence.stop or found.meaning is HttpMeaning.expired:
            raise self._fail(found)
        self.met = self.met or found
        self._answer.add_note(found.reason)

    def _done(self, done: _Done) -> None:
        response = done.response or _Response()
        details = response.status_details or _Details()
        self._answer.usage = response.usage or done.usage or {}
        reason = details.reason or "no reason given"
        if response.status == "failed":
            told = of_error(details.error or reason, now=time.time(), where="the response failed")
            raise self._fail(told if details.error or self.met is None else self.met)
        if response.status in ("completed", None):
            return
        meaning = _STATUSES.get((response.status, details.reason)) or _STATUSES.get((response.status, None))
        said = f"the response is {response.status} ({reason})"
        fate: Fate = FATES[meaning or HttpMeaning.broken]
        if fate.consequence is Consequence.goes_on:
            self._answer.add_note("the answer was cut at the length limit")
        else:
            raise self._fail(HttpOutcome(meaning=meaning or HttpMeaning.broken, reason=said))


_STATUSES: dict[tuple[str, str | None], HttpMeaning] = {
    ("incomplete", "max_output_tokens"): HttpMeaning.cut,
    ("incomplete", "content_filter"): HttpMeaning.filtered,
    ("cancelled", None): HttpMeaning.interrupted,
}
"""What a response's status and its reason mean; others are a fault of the service."""
