"""Messages of Gemini Live as typed records, and the turn that they make up.

Names, and what they promise: ``LiveServerMessage`` of the ``google-genai`` package. One message may hold several of
them at once. A transcript has no place in the order of a turn; ``generationComplete`` says that the answer is made,
while ``turnComplete`` may wait until it would have been played.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import msgspec

from vaeval_tasks.models.adapters.uses import Use
from vaeval_tasks.models.transport.edge import fit, keeping
from vaeval_tasks.models.turn import Answer
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome, of_error

__all__ = ["EVENTS", "TURN_REASONS", "GeminiReader", "rate_of"]

EVENTS: dict[str, Use] = {
    "setupComplete": Use.end,
    "serverContent": Use.use,
    "serverContent.modelTurn": Use.use,
    "serverContent.inputTranscription": Use.use,
    "serverContent.outputTranscription": Use.use,
    "serverContent.generationComplete": Use.end,
    "serverContent.turnComplete": Use.end,
    "serverContent.turnCompleteReason": Use.refuse,
    "serverContent.interactionStatus": Use.use,
    "serverContent.interrupted": Use.refuse,
    "serverContent.waitingForInput": Use.record,
    "serverContent.interimInputTranscription": Use.record,
    "serverContent.groundingMetadata": Use.ignore,
    "serverContent.urlContextMetadata": Use.ignore,
    "usageMetadata": Use.use,
    "goAway": Use.record,
    "sessionResumptionUpdate": Use.ignore,
    "toolCall": Use.ignore,
    "toolCallCancellation": Use.ignore,
    "voiceActivity": Use.ignore,
    "voiceActivityDetectionSignal": Use.ignore,
}
"""Each field of a message and what is done with it; one that is not here is kept in the record."""

_FILTERED = (
    "RESPONSE_REJECTED PROHIBITED_INPUT_CONTENT IMAGE_PROHIBITED_INPUT_CONTENT "
    "INPUT_TEXT_CONTAIN_PROMINENT_PERSON_PROHIBITED INPUT_IMAGE_CELEBRITY INPUT_IMAGE_PHOTO_REALISTIC_CHILD_PROHIBITED "
    "INPUT_TEXT_NCII_PROHIBITED INPUT_IP_PROHIBITED BLOCKLIST UNSAFE_PROMPT_FOR_IMAGE_GENERATION "
    "GENERATED_IMAGE_SAFETY GENERATED_CONTENT_SAFETY GENERATED_AUDIO_SAFETY GENERATED_VIDEO_SAFETY "
    "GENERATED_CONTENT_PROHIBITED GENERATED_CONTENT_BLOCKLIST GENERATED_IMAGE_PROHIBITED GENERATED_IMAGE_CELEBRITY "
    "GENERATED_IMAGE_PROMINENT_PEOPLE_DETECTED_BY_REWRITER GENERATED_IMAGE_IDENTIFIABLE_PEOPLE GENERATED_IMAGE_MINORS "
    "OUTPUT_IMAGE_IP_PROHIBITED"
)
TURN_REASONS: dict[str, HttpMeaning] = {
    "TURN_COMPLETE_REASON_UNSPECIFIED": HttpMeaning.ok,
    "NEED_MORE_INPUT": HttpMeaning.empty,
    "MALFORMED_FUNCTION_CALL": HttpMeaning.broken,
    "MAX_REGENERATION_REACHED": HttpMeaning.broken,
    "INPUT_OTHER": HttpMeaning.filtered,
    "GENERATED_OTHER": HttpMeaning.filtered,
    **dict.fromkeys(_FILTERED.split(), HttpMeaning.filtered),
}
"""What a ``turnCompleteReason`` means; one that is not here is only noted."""

_LINGER_S = 2.0
"""How long to wait for a transcript, or for more, once the audio was made."""
_LINGER_FOR_THE_REST_S = 1.0
"""How long to wait for the rest of a transcript that does not say that it is finished."""
_LONGEST_LINGER_S = 60.0
"""How long to wait at most for a transcript that comes at the pace of speech."""
_LINGER_AFTER_NOTHING_S = 3.0
"""How long to wait after an empty turn: an answer may still follow (googleapis/python-genai#2117)."""


class _Blob(msgspec.Struct, frozen=True, rename="camel"):
    data: str | None = None
    mime_type: str | None = None


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    inline_data: _Blob | None = None


class _ModelTurn(msgspec.Struct, frozen=True):
    parts: list[_Part] | None = None


class _Transcription(msgspec.Struct, frozen=True):
    text: str | None = None
    finished: bool | None = None


class _Content(msgspec.Struct, frozen=True, rename="camel"):
    model_turn: _ModelTurn | None = None
    input_transcription: _Transcription | None = None
    output_transcription: _Transcription | None = None
    generation_complete: bool | None = None
    turn_complete: bool | None = None
    turn_complete_reason: str | None = None
    interaction_status: str | None = None
    interrupted: bool | None = None
    waiting_for_input: bool | None = None


class _Served(msgspec.Struct, frozen=True, rename="camel"):
    server_content: _Content | None = None
    usage_metadata: dict[str, Any] | None = None
    error: Any = None


def rate_of(mime: str, default: int) -> int:
    """Return the rate in Hz that a media type such as ``audio/pcm;rate=16000`` names."""
    found = re.search(r"rate=(\d{1,9})", mime)
    return int(found.group(1)) if found else default


class GeminiReader:
    """Reads the messages after the question.

    Args:
        answer: where the answer is collected.
        fail: returns the exception that a failure is.
        transcribed: whether a transcript of the answer was asked for.
    """

    def __init__(self, answer: Answer, fail: Callable[[HttpOutcome], Exception], *, transcribed: bool) -> None:
        self._answer, self._fail, self._transcribed = answer, fail, transcribed
        self._until: float | None = None
        self._ended = 0.0
        self._turn = 0
        self._finished = False
        self._complete = False

    def patience(self) -> float | None:
        """Return for how many seconds more anything is waited for, None as long as the turn's limits allow."""
        return None if self._until is None else max(0.0, self._until - self._answer.recorder.clock.now())

    def take(self, got: dict[str, Any]) -> bool:
        """Take a message; return whether the turn is over.

        Raises:
            BadMessageError: a field of it is not what it must be.
            ServiceError: every prompt would meet this error.
            TurnError: the turn has failed.
        """
        with keeping(self._answer.recorder, got):
            message = fit(got, _Served, "message")
            content = message.server_content or _Content()
            kept = [self._part(part) for part in (content.model_turn.parts if content.model_turn else None) or []]
        self._answer.recorder.received(_with_sound(got, kept))
        if message.error is not None:
            raise self._fail(of_error(message.error, now=time.time(), where="an error message"))
        self._answer.usage = message.usage_metadata or self._answer.usage
        self._words(content)
        if content.interrupted:
            raise self._fail(HttpOutcome(meaning=HttpMeaning.interrupted, reason="the answer was interrupted"))
        if content.generation_complete and self._answer.answering:
            self._answer.recorder.ended()
            self._linger(_LINGER_S)
        if content.turn_complete:
            self._end(content)
        return self._complete and self._finished

    def _part(self, part: _Part) -> Any:
        """Take a part; return what to keep of its audio, None where it has none."""
        if part.text:
            if part.thought:
                self._answer.thoughts += part.text
            else:
                self._answer.text += part.text
        blob = part.inline_data
        if blob is None or blob.data is None or not (blob.mime_type or "audio/").lower().startswith("audio/"):
            return None
        if blob.data:
            self._until, self._complete, self._answer.recorder.ended_at = None, False, None
        return self._answer.hear(blob.data, place=self._turn, rate=rate_of(blob.mime_type or "", 0))

    def _words(self, content: _Content) -> None:
        if content.input_transcription is not None:
            self._answer.input_transcript += content.input_transcription.text or ""
        if content.output_transcription is not None:
            self._answer.output_transcript += content.output_transcription.text or ""
            self._finished = bool(content.output_transcription.finished)
            if self._until is not None and content.output_transcription.text and not self._finished:
                # it comes at the pace the answer would be played: its rest is waited for, though not for ever
                now = self._answer.recorder.clock.now()
                self._until = max(self._until, min(now + _LINGER_S, self._ended + _LONGEST_LINGER_S))

    def _linger(self, seconds: float) -> None:
        now = self._answer.recorder.clock.now()
        if self._until is None:
            self._ended = now
        self._until = now + seconds if self._until is None else min(self._until, now + seconds)

    def _end(self, content: _Content) -> None:
        """Take the end of a turn, which may not be the end of the answer."""
        reason = content.turn_complete_reason or "TURN_COMPLETE_REASON_UNSPECIFIED"
        meaning = TURN_REASONS.get(reason)
        if meaning in (HttpMeaning.filtered, HttpMeaning.broken):
            raise self._fail(HttpOutcome(meaning=meaning, reason=f"the turn ended with {reason}"))
        if meaning is not HttpMeaning.ok:
            self._answer.add_note(f"the turn ended with {reason}")
        if content.interaction_status == "IN_PROGRESS":
            self._answer.set_aside()
            self._answer.output_transcript, self._finished = "", False
            self._turn, self._until = self._turn + 1, None
            return
        if not self._answer.answering:
            self._linger(_LINGER_AFTER_NOTHING_S)
            return
        self._answer.recorder.ended()
        self._complete = True
        self._finished = self._finished or not self._transcribed
        self._linger(_LINGER_FOR_THE_REST_S if self._answer.output_transcript.strip() else _LINGER_S)

    def fill(self) -> None:
        """Tell what is thought from what is said: words beside the audio are reasoning on models that speak."""
        self._answer.has_transcript = self._transcribed
        if self._answer.begun:
            self._answer.thoughts = "\n".join(filter(None, (self._answer.thoughts, self._answer.text)))
            self._answer.text = ""


def _with_sound(got: dict[str, Any], kept: list[Any]) -> dict[str, Any]:
    """Return a message with its audio replaced."""
    if all(sound is None for sound in kept):
        return got
    content = got["serverContent"]
    parts = [
        part if sound is None else {**part, "inlineData": {**part["inlineData"], "data": sound}}
        for part, sound in zip(content["modelTurn"]["parts"], kept, strict=True)
    ]
    return {**got, "serverContent": {**content, "modelTurn": {**content["modelTurn"], "parts": parts}}}
