"""Audio out of OpenAI-compatible chat completions, in the shapes that servers give it.

* One reply: ``message.audio.data`` is a sound file or raw PCM. Older vLLM-Omni gives two choices, one with the text
  and one with the audio; newer ones merge them; ``gpt-audio`` adds a transcript.
* A stream: vLLM-Omni marks a chunk ``modality: audio`` and puts a whole WAV into ``delta.content``; DashScope-style
  servers put raw PCM into ``delta.audio.data``, whatever format was asked for, or one long text in pieces.

Shapes: ``ChatCompletion`` and ``ChatCompletionChunk`` of the ``openai`` package.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from vaeval_tasks.models.adapters.uses import Use
from vaeval_tasks.models.transport.edge import BadMessageError, fit, keeping, read_json, shortened
from vaeval_tasks.models.turn import Answer
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome, error_inside

__all__ = ["FIELDS", "FINISH_REASONS", "ChatReader", "ErrorEvent", "events"]

FIELDS: dict[str, Use] = {
    "choices": Use.use,
    "usage": Use.use,
    "error": Use.refuse,
    "modality": Use.use,
    "message.content": Use.use,
    "message.audio": Use.use,
    "message.refusal": Use.refuse,
    "message.reasoning_content": Use.use,
    "message.reasoning": Use.use,
    "message.role": Use.record,
    "message.annotations": Use.ignore,
    "message.function_call": Use.ignore,
    "message.tool_calls": Use.ignore,
    "delta.content": Use.use,
    "delta.audio": Use.use,
    "delta.refusal": Use.refuse,
    "delta.reasoning_content": Use.use,
    "delta.reasoning": Use.use,
    "delta.role": Use.record,
    "delta.function_call": Use.ignore,
    "delta.tool_calls": Use.ignore,
    "finish_reason": Use.end,
    "id": Use.record,
    "object": Use.record,
    "created": Use.record,
    "model": Use.record,
    "system_fingerprint": Use.record,
    "service_tier": Use.record,
    "metadata": Use.record,
    "moderation": Use.record,
    "obfuscation": Use.ignore,
}
"""Each field of a reply or of a chunk and what is done with it; one that is not here is kept in the record."""

FINISH_REASONS: dict[str, HttpMeaning] = {
    "stop": HttpMeaning.ok,
    "length": HttpMeaning.cut,
    "tool_calls": HttpMeaning.ok,
    "function_call": HttpMeaning.ok,
    "content_filter": HttpMeaning.filtered,
}
"""What a ``finish_reason`` means; others only end the answer, save for errors."""


class ErrorEvent(Exception):
    """The stream brought an error; ``error`` is what the server says."""

    def __init__(self, error: Any) -> None:
        super().__init__()
        self.error = error


class _Part(msgspec.Struct, frozen=True):
    text: str | None = None


class _Audio(msgspec.Struct, frozen=True):
    data: str | None = None
    transcript: str | None = None
    url: str | None = None


class _Words(msgspec.Struct, frozen=True):
    """A message or a delta."""

    content: str | list[_Part] | None = None
    audio: _Audio | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Words | None = None
    delta: _Words | None = None
    finish_reason: str | None = None


class _Completion(msgspec.Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None
    modality: str | None = None


def _text(content: str | list[_Part] | None) -> str:
    """Return the words of a message's content: a string, or parts."""
    return content if isinstance(content, str) else "".join(part.text or "" for part in content or [])


class ChatReader:
    """Reads a reply, whole or in chunks.

    Args:
        answer: where the answer is collected.
        fail: returns the exception that a failure is.
    """

    def __init__(self, answer: Answer, fail: Callable[[HttpOutcome], Exception]) -> None:
        self._answer, self._fail = answer, fail
        self._reasons: set[str] = set()
        self._refusal = ""
        self._whole = False

    def whole(self, body: dict[str, Any]) -> None:
        """Take one whole reply: the first audio and the first words of any choice.

        Raises:
            BadMessageError: a field of it is not what it must be.
            TurnError: the answer was refused.
        """
        self._whole = True
        self._body(body)
        self._finish()

    def take(self, data: bytes) -> bool:
        """Take the data of an event; return whether it was the last.

        Raises:
            ErrorEvent: it is an error.
            BadMessageError: it is no chunk.
            TurnError: the answer was refused.
        """
        if data.strip() == b"[DONE]":
            self._finish()
            return True
        try:
            chunk = read_json(data)
        except BadMessageError:
            self._answer.recorder.received({"unreadable": shortened(repr(data[:2000]))})
            raise
        if (error := error_inside(chunk)) is not None:
            self._answer.recorder.received({"error": shortened(error)})
            raise ErrorEvent(error)
        if not isinstance(chunk, dict):
            self._answer.recorder.received({"unreadable": shortened(chunk)})
            raise BadMessageError(f"a chunk that is not an object: {data[:60]!r}")
        self._body(chunk)
        return False

    def end_of_stream(self) -> None:
        """Take it that nothing more comes.

        Raises:
            TurnError: the answer had not ended, or was refused.
        """
        if not self._reasons:
            reason = "the stream ended before the answer did"
            raise self._fail(HttpOutcome(meaning=HttpMeaning.broken, reason=reason))
        self._finish()

    def _body(self, body: dict[str, Any]) -> None:
        with keeping(self._answer.recorder, body):
            reply = fit(body, _Completion, "chat completion")
            shown = [self._choice(choice, reply.modality == "audio") for choice in reply.choices or []]
        self._answer.recorder.received(_with_sound(body, shown))
        self._answer.usage = reply.usage or self._answer.usage

    def _choice(self, choice: _Choice, is_audio: bool) -> dict[str, Any]:
        """Take a choice; return what to keep in place of its audio."""
        shown: dict[str, Any] = {}
        if choice.finish_reason:
            self._reasons.add(choice.finish_reason)
        said = choice.message or choice.delta
        if said is None:
            return shown
        audio = said.audio or _Audio()
        if audio.data:
            if not (self._whole and self._answer.begun):  # of several choices the first is heard
                shown["audio"] = self._answer.hear(audio.data)
        elif audio.url:
            self._answer.add_note("audio came as an address, which is not fetched")
        self._refusal += said.refusal or ""
        self._add("output_transcript", audio.transcript or "")
        self._add("thoughts", said.reasoning_content or said.reasoning or "")
        if is_audio and isinstance(said.content, str):
            shown["content"] = self._answer.hear(said.content)
        else:
            self._add("text", _text(said.content))
        return shown

    def _add(self, field: str, words: str) -> None:
        before = getattr(self._answer, field)
        if words and not (self._whole and before):
            setattr(self._answer, field, before + words)

    def _finish(self) -> None:
        meanings = {FINISH_REASONS.get(reason, HttpMeaning.ok) for reason in self._reasons}
        if self._refusal and not self._answer.begun:
            raise self._fail(HttpOutcome(meaning=HttpMeaning.filtered, reason=f"the model refused: {self._refusal}"))
        if HttpMeaning.filtered in meanings:
            raise self._fail(HttpOutcome(meaning=HttpMeaning.filtered, reason="the answer was filtered"))
        if HttpMeaning.cut in meanings:
            self._answer.add_note("the answer was cut at the length limit")


def _with_sound(body: dict[str, Any], shown: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a reply or a chunk with its audio replaced."""
    if not any(shown):
        return body
    choices = []
    for choice, kept in zip(body["choices"], shown, strict=True):
        part = "message" if choice.get("message") is not None else "delta"
        if kept:
            words = dict(choice[part])
            if "audio" in kept:
                words["audio"] = {**words["audio"], "data": kept["audio"]}
            if "content" in kept:
                words["content"] = kept["content"]
            choices.append({**choice, part: words})
        else:
            choices.append(choice)
    return {**body, "choices": choices}


async def events(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of server-sent events, as the HTML standard cuts them: several lines may make one.

    A text may hold characters that end a line elsewhere, so the bytes are cut and not the text.
    """
    rest, name, data = b"", b"", list[bytes]()
    async for piece in pieces:
        lines = (rest + piece).replace(b"\r\n", b"\n").split(b"\n")
        rest = lines.pop()
        for line in (one.removesuffix(b"\r") for one in lines):
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif line.startswith(b"event:"):
                name = line[6:].strip()
            elif not line and data:
                yield _of_event(name, b"\n".join(data))
                name, data = b"", []
    if rest.startswith(b"data:"):
        data.append(rest[5:].removeprefix(b" ").removesuffix(b"\r"))
    if data:
        yield _of_event(name, b"\n".join(data))


def _of_event(name: bytes, data: bytes) -> bytes:
    """Return the data of an event; of one that is called an error, as an error."""
    return b'{"error": ' + data + b"}" if name == b"error" and b'"error"' not in data else data
