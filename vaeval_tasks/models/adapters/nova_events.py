"""Events of Nova Sonic as typed records, and the turn that they make up.

Names: Amazon Nova's user guide, "Handling output events"; stages and stop reasons likewise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from vaeval_tasks.models.adapters.uses import Use
from vaeval_tasks.models.transport.edge import BadMessageError, fit, keeping, read_json
from vaeval_tasks.models.turn import Answer
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome

__all__ = ["EVENTS", "STOP_REASONS", "NovaReader"]

EVENTS: dict[str, Use] = {
    "chunk": Use.use,
    "completionStart": Use.record,
    "contentStart": Use.use,
    "textOutput": Use.use,
    "audioOutput": Use.use,
    "contentEnd": Use.end,
    "usageEvent": Use.use,
    "toolUse": Use.ignore,
    "completionEnd": Use.end,
    "internalServerException": Use.refuse,
    "modelStreamErrorException": Use.refuse,
    "modelTimeoutException": Use.refuse,
    "serviceUnavailableException": Use.refuse,
    "throttlingException": Use.refuse,
    "validationException": Use.refuse,
}
"""Each event, and each exception of the stream, and what is done with it; one that is not here is kept in the record.
"""

STOP_REASONS: dict[str, HttpMeaning] = {
    "PARTIAL_TURN": HttpMeaning.ok,
    "END_TURN": HttpMeaning.ok,
    "TOOL_USE": HttpMeaning.ok,
    "INTERRUPTED": HttpMeaning.interrupted,
    "MAX_TOKENS": HttpMeaning.cut,
    "CONTENT_FILTERED": HttpMeaning.filtered,
    "GUARDRAIL_INTERVENED": HttpMeaning.filtered,
}
"""What the end of an audio content means; one that is not here only ends the content."""


class _Start(msgspec.Struct, frozen=True, rename="camel"):
    class Form(msgspec.Struct, frozen=True, rename="camel"):
        sample_rate_hertz: int | None = None

    content_id: str | None = None
    type: str | None = None
    role: str | None = None
    additional_model_fields: str | None = None
    audio_output_configuration: Form | None = None


class _Output(msgspec.Struct, frozen=True, rename="camel"):
    content: str
    content_id: str | None = None


class _End(msgspec.Struct, frozen=True, rename="camel"):
    content_id: str | None = None
    type: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    content_start: _Start | None = None
    text_output: _Output | None = None
    audio_output: _Output | None = None
    content_end: _End | None = None
    usage_event: dict[str, Any] | None = None


class NovaReader:
    """Reads the events of a stream.

    Args:
        answer: where the answer is collected.
        fail: returns the exception that a failure is.
    """

    def __init__(self, answer: Answer, fail: Callable[[HttpOutcome], Exception]) -> None:
        self._answer, self._fail = answer, fail
        self.spoken = False
        """Whether the last sample of the prompt was sent."""
        self.done = asyncio.Event()
        """Whether the audio has ended."""
        self.over = asyncio.Event()
        """Whether nothing more is waited for: the last of the text came too, or enough time has passed."""
        self.early = False
        """Whether an answer came at a pause inside the prompt."""
        self.heard_of = False
        """Whether the service said anything: then it took the settings."""
        self._answering_early = False  # it still goes on: all its sentences are provisional
        self._stages: dict[str, str] = {}  # contentId -> role and generation stage of a text
        self._places: dict[str, int] = {}  # contentId -> its number, of an audio
        self._rates: dict[str, int] = {}
        self._premature: set[str] = set()

    def take(self, event: dict[str, Any]) -> None:
        """Take an event.

        Raises:
            BadMessageError: a field of it is not what it must be.
            TurnError: the turn has failed.
        """
        self.heard_of = True
        with keeping(self._answer.recorder, event):
            found = fit(event, _Event, next(iter(event), "event"))
            if found.content_start is not None:
                self._start(found.content_start)
            if found.text_output is not None:
                self._text(found.text_output)
            if found.audio_output is not None:
                kept = self._sound(found.audio_output)
                event = {**event, "audioOutput": {**event["audioOutput"], "content": kept}}
        self._answer.recorder.received(event)
        if found.usage_event is not None:
            self._answer.usage = {k: v for k, v in found.usage_event.items() if k == "details" or k.startswith("total")}
        if found.content_end is not None:
            self._end(found.content_end)

    def _start(self, start: _Start) -> None:
        content = start.content_id or ""
        if start.type != "AUDIO":
            self._stages[content] = f"{start.role} {_stage(start.additional_model_fields)}"
            return
        self._places[content] = len(self._places)
        self._rates[content] = (start.audio_output_configuration or _Start.Form()).sample_rate_hertz or 0
        if not self.spoken or self._answering_early:
            self._premature.add(content)
            self.early = self._answering_early = True

    def _text(self, text: _Output) -> None:
        words, stage = text.content.strip(), self._stages.get(text.content_id or "", "")
        if _is_interruption(words):
            return
        if stage.startswith("USER"):
            self._answer.input_transcript = f"{self._answer.input_transcript} {words}".strip()
        elif stage == "ASSISTANT FINAL" and self.spoken:
            self._answer.output_transcript = f"{self._answer.output_transcript} {words}".strip()

    def _sound(self, sound: _Output) -> Any:
        content = sound.content_id or ""
        return self._answer.hear(
            sound.content,
            place=self._places.setdefault(content, len(self._places)),
            final=content not in self._premature,
            rate=self._rates.get(content, 0),
        )

    def _end(self, end: _End) -> None:
        stop = end.stop_reason or ""
        if end.type != "AUDIO":
            if self.done.is_set() and stop == "END_TURN":
                self.over.set()
            return
        meaning = STOP_REASONS.get(stop, HttpMeaning.ok)
        if (end.content_id or "") in self._premature:
            self._answering_early = stop in ("", "PARTIAL_TURN")
        elif meaning is HttpMeaning.cut:
            self._answer.add_note("the answer was cut at the length limit")
            self.finish()
        elif meaning is not HttpMeaning.ok:
            raise self._fail(HttpOutcome(meaning=meaning, reason=f"the answer was {meaning} ({stop})"))
        elif stop == "END_TURN":
            self.finish()

    def finish(self) -> None:
        """Mark the end of the audio; its text may still come."""
        self._answer.recorder.ended()
        self.done.set()


def _stage(fields: str | None) -> str:
    try:
        found = read_json(fields or "{}")
    except BadMessageError:
        return ""
    return str(found.get("generationStage", "")) if isinstance(found, dict) else ""


def _is_interruption(words: str) -> bool:
    """Whether a text is no words but the word that the user spoke on: ``{ "interrupted" : true }``."""
    return words.startswith("{") and '"interrupted"' in words and words.endswith("}")
