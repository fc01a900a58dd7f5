"""Turns of every protocol as raw messages, for tests that break or reorder them."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.cascade_replies import read_responses, read_transcript
from vaeval_tasks.models.adapters.chat_reply import ChatReader, ErrorEvent
from vaeval_tasks.models.adapters.gemini_events import GeminiReader
from vaeval_tasks.models.adapters.nova_events import NovaReader
from vaeval_tasks.models.adapters.realtime_events import RealtimeReader
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import TurnError, failure
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.models.transport.edge import keeping, read_object
from vaeval_tasks.models.turn import Answer, Timeouts, run_turn
from vaeval_tasks.services.http.meaning import HttpOutcome, error_inside, of_error
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

CONFIG = ModelConfig(model="m", provider="chat_audio", params={"model": "m"})
PCM = (np.sin(np.arange(480) / 5) * 9000).astype("<i2").tobytes()
B64 = base64.b64encode(PCM).decode()


def fail(answer: Answer) -> Callable[[HttpOutcome], Exception]:
    return lambda outcome: failure(CONFIG, "http://h", outcome, begun=answer.begun)


def realtime() -> list[dict[str, Any]]:
    place = {"response_id": "r", "item_id": "i", "output_index": 0, "content_index": 0}
    item = {"id": "i", "type": "message", "role": "assistant", "phase": "final_answer", "content": []}
    part = {"type": "output_audio", "transcript": "Four."}
    return [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_audio.delta", **place, "delta": B64},
        {"type": "response.output_audio_transcript.delta", **place, "delta": "Fo"},
        {"type": "response.output_audio_transcript.done", **place, "transcript": "Four."},
        {"type": "conversation.item.input_audio_transcription.completed", "item_id": "u", "transcript": "2 + 2"},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": [part]}},
        {
            "type": "response.done",
            "response": {"status": "completed", "status_details": None, "output": [item], "usage": {"total_tokens": 3}},
        },
    ]


def gemini() -> list[dict[str, Any]]:
    blob = {"mimeType": "audio/pcm;rate=24000", "data": B64}
    return [
        {"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": "hm", "thought": True}]}}},
        {"serverContent": {"modelTurn": {"parts": [{"inlineData": blob}, {"inlineData": blob}]}}},
        {"serverContent": {"inputTranscription": {"text": "2 + 2"}}},
        {"serverContent": {"outputTranscription": {"text": "Four.", "finished": True}}},
        {"serverContent": {"generationComplete": True}},
        {
            "serverContent": {"turnComplete": True, "interactionStatus": "IDLE", "turnCompleteReason": None},
            "usageMetadata": {"totalTokenCount": 9},
        },
    ]


def nova() -> list[dict[str, Any]]:
    form = {"mediaType": "audio/lpcm", "sampleRateHertz": 24000}
    final = json.dumps({"generationStage": "FINAL"})
    return [
        {"completionStart": {"sessionId": "s"}},
        {"contentStart": {"contentId": "u", "type": "TEXT", "role": "USER", "additionalModelFields": final}},
        {"textOutput": {"contentId": "u", "content": "2 + 2", "role": "USER"}},
        {"contentStart": {"contentId": "a", "type": "AUDIO", "role": "ASSISTANT", "audioOutputConfiguration": form}},
        {"audioOutput": {"contentId": "a", "content": B64}},
        {"usageEvent": {"details": {"total": {}}, "totalTokens": 9}},
        {"contentStart": {"contentId": "t", "type": "TEXT", "role": "ASSISTANT", "additionalModelFields": final}},
        {"textOutput": {"contentId": "t", "content": "Four.", "role": "ASSISTANT"}},
        {"contentEnd": {"contentId": "a", "type": "AUDIO", "stopReason": "END_TURN"}},
    ]


def chat() -> list[dict[str, Any]]:
    audio = {"id": "a", "data": B64, "transcript": "Four."}
    message = {"role": "assistant", "content": [{"type": "text", "text": "Four."}], "audio": audio, "refusal": None}
    return [{"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"n": 1}}]


def chunks() -> list[dict[str, Any]]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}

    return [
        chunk({"role": "assistant", "reasoning_content": "hm"}),
        chunk({"audio": {"data": B64}}),
        chunk({"audio": {"transcript": "Four."}}),
        chunk({"content": "Four."}, "stop"),
        {"choices": [], "usage": {"n": 1}},
    ]


def cascade() -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": "Four."}
    message = {"type": "message", "role": "assistant", "phase": "final_answer", "content": [part]}
    return [
        {"text": "2 + 2", "language_code": "eng"},
        {
            "status": "completed",
            "output": [{"type": "reasoning", "summary": []}, message],
            "error": None,
            "incomplete_details": None,
            "usage": {"total_tokens": 7},
        },
    ]


def _read_realtime(raws: list[bytes], answer: Answer) -> None:
    reader = RealtimeReader(answer, fail(answer))
    try:
        for raw in raws:
            if reader.take(read_object(raw)):
                return
    finally:
        reader.fill()
    raise TurnError(ResponseStatus.timeout, "no further event in time")


def _read_gemini(raws: list[bytes], answer: Answer) -> None:
    reader = GeminiReader(answer, fail(answer), transcribed=True)
    try:
        for raw in raws:
            if reader.take(read_object(raw)):
                return
        if reader.patience() is None:
            raise TurnError(ResponseStatus.timeout, "no further event in time")
    finally:
        reader.fill()


def _read_nova(raws: list[bytes], answer: Answer) -> None:
    reader = NovaReader(answer, fail(answer))
    reader.spoken = True
    for raw in raws:
        reader.take(read_object(raw))
        if reader.done.is_set():
            return
    raise TurnError(ResponseStatus.timeout, "no end of the answer in time")


def _read_chat(raws: list[bytes], answer: Answer) -> None:
    body = read_object(raws[0])
    if (error := error_inside(body)) is not None:
        raise fail(answer)(of_error(error, now=0))
    ChatReader(answer, fail(answer)).whole(body)


def _read_chunks(raws: list[bytes], answer: Answer) -> None:
    reader = ChatReader(answer, fail(answer))
    try:
        for raw in raws:
            reader.take(raw)
    except ErrorEvent as error:
        raise fail(answer)(of_error(error.error, now=0)) from None
    reader.end_of_stream()


def _read_cascade(raws: list[bytes], answer: Answer) -> None:
    transcript, response = map(read_object, raws)
    with keeping(answer.recorder, transcript):
        answer.input_transcript = read_transcript(transcript)
    with keeping(answer.recorder, response):
        read_responses(response, answer, fail(answer))
    answer.hear(PCM)


PROTOCOLS: dict[str, tuple[Callable[[], list[dict[str, Any]]], Callable[[list[bytes], Answer], None]]] = {
    "realtime": (realtime, _read_realtime),
    "gemini_live": (gemini, _read_gemini),
    "nova_sonic": (nova, _read_nova),
    "chat_audio": (chat, _read_chat),
    "chat_audio stream": (chunks, _read_chunks),
    "cascade": (cascade, _read_cascade),
}


async def replay(protocol: str, raws: list[bytes]) -> Reply | ServiceError:
    """Return what becomes of a turn of raw messages."""

    async def talk(answer: Answer) -> None:
        answer.recorder.asked()
        PROTOCOLS[protocol][1](raws, answer)

    try:
        return await run_turn(talk, clock=Clock(), timeouts=Timeouts(), rate=24000)
    except ServiceError as error:
        return error


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from _paths(one, (*path, key))


_DEEP: Any = []
for _ in range(300):
    _DEEP = [_DEEP]
NUMBERS = (0, -1, 3.5, 10**400, 2**63, 1e308, True, False)
TEXTS = ("", "x", "\x00", "\ufeff", "é" * 50, "y" * 50_000, "AAA", "=", "A===", "data:,", "{}", "<think>", "RklSRQ")
TEXTS += ("audio/pcm;rate=0", "audio/pcm;rate=99999999999999", "audio/mpeg", "UklGRiQAAABXQVZF")
LISTS = ([], [None], [[]], ["x"], [1], _DEEP)
OBJECTS = ({}, {"type": 1}, {"": None}, {"data": 1}, {"content": [{"text": []}]})
WRONG: tuple[Any, ...] = (None, *NUMBERS, *TEXTS, *LISTS, *OBJECTS)
"""What may stand in place of any field."""
RAW = (b"NaN", b"Infinity", b"\xff\xfe", b'"\\ud800"', b"1e999", b'"' + b"z" * 10, b"[" * 2000, b"1" * 5000)
"""What is no JSON, or none that can be written down again."""


def break_one(messages: list[dict[str, Any]], rng: random.Random) -> list[bytes]:
    """Return messages as they go on the wire, one field of one of them broken."""
    messages = copy.deepcopy(messages)
    which = rng.randrange(len(messages))
    path = rng.choice(list(_paths(messages[which])))
    if not path:
        whole = rng.choice((*WRONG, *RAW))
        broken = whole if isinstance(whole, bytes) else json.dumps(whole).encode()
        return [broken if n == which else json.dumps(m).encode() for n, m in enumerate(messages)]
    holder = messages[which]
    for key in path[:-1]:
        holder = holder[key]
    raw = None
    kind = rng.randrange(10)
    if kind == 0:
        del holder[path[-1]]
    elif kind == 1:
        holder[path[-1]], raw = "@raw@", rng.choice(RAW)
    elif kind == 2 and isinstance(holder[path[-1]], str):
        holder[path[-1]] = holder[path[-1]][: rng.randrange(len(holder[path[-1]]) + 1)]
    else:
        holder[path[-1]] = rng.choice(WRONG)
    wire = [json.dumps(message).encode() for message in messages]
    if raw is not None:
        wire[which] = wire[which].replace(b'"@raw@"', raw)
    return wire


def replay_all(protocol: str, turns: list[list[bytes]]) -> list[Reply | ServiceError]:
    async def work() -> list[Reply | ServiceError]:
        return [await replay(protocol, raws) for raws in turns]

    return asyncio.run(work())
