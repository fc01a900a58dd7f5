"""Audio out of OpenAI-compatible chat completions, in the shapes that servers give it.

* One reply: ``message.audio.data`` is a sound file or raw PCM. Older vLLM-Omni gives two choices, one with the text
  and one with the audio; newer ones merge them; ``gpt-audio`` adds a transcript.
* A stream: vLLM-Omni marks a chunk ``modality: audio`` and puts a whole WAV into ``delta.content``; DashScope-style
  servers put raw PCM into ``delta.audio.data``, whatever format was asked for.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.models.transport.record import decode_base64
from vaeval_tasks.models.turn import Answer, TurnError
from vaeval_tasks.services.http.meaning import error_inside
from vaeval_tasks.store.schema import ResponseStatus

__all__ = ["ErrorEvent", "add_sound", "read_completion", "read_stream"]


class ErrorEvent(Exception):
    """The stream brought an error; ``error`` is what the server says."""

    def __init__(self, error: Any) -> None:
        super().__init__()
        self.error = error


_FILES = (b"RIFF", b"fLaC", b"OggS", b"ID3", b"\xff\xfb", b"\xff\xf3")

_MONO_PCM, _SHORT_DATA = b"\x01\x00\x01\x00", b"\x10\x00data"
"""Fields of the WAV header that nearly every engine writes; such a file is read in a tenth of libsndfile's time."""


def add_sound(answer: Answer, data: bytes) -> None:
    """Add a piece of audio: a sound file by its first bytes, else PCM at the answer's rate.

    Raises:
        TurnError: the file cannot be read, or its rate is another than that of the pieces before.
    """
    if data.startswith(_FILES):
        clip = _file(data)
        if answer.final and clip.rate != answer.rate:
            raise TurnError(ResponseStatus.error, f"the rate changed from {answer.rate} to {clip.rate} Hz")
        answer.rate = clip.rate
        data = clip.pcm16()
    if data:
        answer.final += data
        answer.begun = True
        answer.recorder.heard()


def _file(data: bytes) -> Clip:
    if data[:4] == b"RIFF" and data[12:16] == b"fmt " and data[20:24] == _MONO_PCM and data[34:40] == _SHORT_DATA:
        size = int.from_bytes(data[40:44], "little")  # of a streamed file it is 0xFFFFFFFF
        return Clip.from_pcm16(data[44 : 44 + size], int.from_bytes(data[24:28], "little"))
    if data.startswith(b"RIFF") and (at := data.find(b"data")) > 0:
        # a streamed WAV does not know its length when the header is written: the bytes at hand are what counts
        size = min(len(data) - at - 8, 0xFFFFFFFF)
        data = (
            b"RIFF"
            + (len(data) - 8).to_bytes(4, "little")
            + data[8 : at + 4]
            + size.to_bytes(4, "little")
            + data[at + 8 :]
        )
    try:
        return read_audio(data, name="the answer's audio")
    except InputError as error:
        raise TurnError(ResponseStatus.error, str(error)) from None


def _text(content: Any) -> str:
    """Return the words of a message's content: a string, or parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def read_completion(body: dict[str, Any], answer: Answer) -> None:
    """Take the answer out of one whole reply: the first audio and the first words of any choice."""
    choices = [choice for choice in body.get("choices") or [] if isinstance(choice, dict)]
    messages = [choice.get("message") or {} for choice in choices]
    answer.usage = body.get("usage") or {}
    for message in messages:
        audio = message.get("audio") or {}
        if audio.get("data") and not answer.final:
            add_sound(answer, decode_base64(audio["data"]))
        answer.output_transcript = answer.output_transcript or str(audio.get("transcript") or "")
        answer.text = answer.text or _text(message.get("content"))
        answer.thoughts = answer.thoughts or str(message.get("reasoning_content") or message.get("reasoning") or "")
        if message.get("refusal") and not answer.final:
            raise TurnError(ResponseStatus.refused, str(message["refusal"]))
    _finish({str(choice.get("finish_reason")) for choice in choices}, answer)


def shown_completion(body: dict[str, Any]) -> dict[str, Any]:
    """Return a reply or a chunk with its audio as bytes."""
    choices = []
    for choice in body.get("choices") or []:
        part = "message" if "message" in choice else "delta"
        message = dict(choice.get(part) or {})
        if isinstance(message.get("audio"), dict) and message["audio"].get("data"):
            message["audio"] = {**message["audio"], "data": decode_base64(message["audio"]["data"])}
        if _is_audio_chunk(body) and message.get("content"):
            message["content"] = decode_base64(message["content"])
        choices.append({**choice, part: message})
    return {**body, "choices": choices}


def _is_audio_chunk(chunk: dict[str, Any]) -> bool:
    return chunk.get("modality") == "audio"


async def read_stream(lines: AsyncIterator[str], answer: Answer) -> None:
    """Take the answer out of server-sent events.

    Raises:
        ErrorEvent: a chunk is an error.
        TurnError: a chunk is not JSON, or the stream broke off.
    """
    reasons: set[str] = set()
    done = False
    async for line in lines:
        if not line.startswith("data:"):
            continue
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            done = True
            break
        try:
            chunk = json.loads(data)
        except json.JSONDecodeError:
            raise TurnError(ResponseStatus.error, f"a chunk that is not JSON: {data[:60]!r}") from None
        if (error := error_inside(chunk)) is not None:
            raise ErrorEvent(error)
        answer.recorder.received(shown_completion(chunk))
        answer.usage = chunk.get("usage") or answer.usage
        for choice in chunk.get("choices") or []:
            _add_delta(choice.get("delta") or {}, _is_audio_chunk(chunk), answer)
            if choice.get("finish_reason"):
                reasons.add(str(choice["finish_reason"]))
    if not done and not reasons:
        raise TurnError(ResponseStatus.error, "the stream ended before the answer did")
    _finish(reasons, answer)


def _add_delta(delta: dict[str, Any], is_audio: bool, answer: Answer) -> None:
    audio = delta.get("audio") or {}
    if audio.get("data"):
        add_sound(answer, decode_base64(audio["data"]))
    answer.output_transcript += str(audio.get("transcript") or "")
    answer.thoughts += str(delta.get("reasoning_content") or delta.get("reasoning") or "")
    if is_audio:
        add_sound(answer, decode_base64(delta.get("content") or ""))
    else:
        answer.text += _text(delta.get("content"))


def _finish(reasons: set[str], answer: Answer) -> None:
    if "content_filter" in reasons:
        raise TurnError(ResponseStatus.refused, "the answer was filtered")
    if "length" in reasons:
        answer.note = "the answer was cut at the length limit"
