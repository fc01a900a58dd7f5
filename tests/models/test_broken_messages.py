"""Ten thousand messages a protocol with one field broken: none raises, none hangs, each is kept; the run goes on."""

from __future__ import annotations

import json
import random
import zlib
from typing import Any

import pytest
from models.turns import PROTOCOLS, WRONG, break_one, replay_all

from vaeval_tasks.asking.kept import exchange_line
from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.cascade import Cascade
from vaeval_tasks.models.adapters.chat_audio import ChatAudio
from vaeval_tasks.models.adapters.gemini_live import GeminiLive
from vaeval_tasks.models.adapters.nova_sonic import NovaSonic
from vaeval_tasks.models.adapters.openai_realtime import OpenAIRealtime
from vaeval_tasks.models.adapters.xai_realtime import XaiRealtime
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import TurnError
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.models.transport.edge import BadMessageError
from vaeval_tasks.models.transport.record import Recorder
from vaeval_tasks.models.turn import Answer
from vaeval_tasks.store.schema import ModelConfig, Response, ResponseStatus

MESSAGES = 10_000
TURNS = 1_000
ADAPTERS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "openai_realtime": (
        OpenAIRealtime,
        "gpt-realtime-2.1/xhigh/marin",
        (
            "session.created",
            "session.updated",
            "response.created",
            "response.output_item.added",
            "response.output_audio.delta",
            "response.output_audio_transcript.done",
            "response.done",
        ),
    ),
    "xai_realtime": (
        XaiRealtime,
        "grok-voice-think-fast-2.0/high/ara",
        ("ping", "session.updated", "response.output_item.done", "response.output_audio.delta", "response.done"),
    ),
    "gemini_live": (
        GeminiLive,
        "gemini-3.1-flash-live/high/zephyr",
        ("setupComplete", "serverContent.modelTurn", "serverContent.outputTranscription", "serverContent.turnComplete"),
    ),
    "nova_sonic": (
        NovaSonic,
        "nova-2-sonic/default/tiffany",
        ("contentStart", "textOutput", "audioOutput", "contentEnd", "usageEvent"),
    ),
    "cascade": (Cascade, "cascade/default/rachel", ("speech-to-text", "responses", "text-to-speech")),
    "chat_audio": (ChatAudio, "", ("chat.completion",)),
    "chat_audio stream": (ChatAudio, "", ("chat.completion.chunk",)),
}


def check(reply: Reply | ServiceError) -> None:
    """What must hold whatever came: a status with its reason, and a record that can be written and read."""
    if isinstance(reply, ServiceError):
        return
    assert isinstance(reply.status, ResponseStatus)
    assert reply.error or reply.status is ResponseStatus.ok
    assert not reply.error.startswith("unexpected"), reply.error
    response = Response(response_id="r", prompt_id="p", config_id="c", status=reply.status)
    line = exchange_line(response, reply)
    if line:
        json.loads(line.encode(), parse_constant=pytest.fail)
    json.dumps([reply.usage, reply.text, reply.thoughts, reply.error], allow_nan=False).encode()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_message_raises_anything_but_what_a_turn_knows(protocol):
    make, read = PROTOCOLS[protocol]
    messages, rng = make(), random.Random(1 + zlib.crc32(protocol.encode()))
    noticed = 0
    for _ in range(MESSAGES // 10):
        answer = Answer(recorder=Recorder(Clock()), rate=24000)
        for raw in (raw for _ in range(10) for raw in break_one([rng.choice(messages)], rng)):
            try:
                read([raw] if protocol != "cascade" else [raw, raw], answer)
            except (BadMessageError, TurnError, ServiceError) as error:
                noticed += isinstance(error, BadMessageError)
    assert noticed > MESSAGES / 10


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_broken_field_is_the_end_of_that_turn_only(protocol):
    messages = PROTOCOLS[protocol][0]()
    rng = random.Random(zlib.crc32(protocol.encode()))
    whole = [json.dumps(message).encode() for message in messages]
    turns = [break_one(messages, rng) for _ in range(TURNS)]
    good, *replies = replay_all(protocol, [whole, *turns])
    assert (good.status, good.text) == (ResponseStatus.ok, "Four.")
    for reply in replies:
        check(reply)
    failed = [r for r in replies if isinstance(r, Reply) and r.status is ResponseStatus.error]
    assert len(failed) > len(replies) / 5, "most of what was broken is noticed"
    named = [r for r in failed if "does not fit" in r.error or "not JSON" in r.error or "not an object" in r.error]
    assert len(named) > len(failed) / 2
    assert all(r.events for r in named if "does not fit" in r.error), "what did not fit is kept"


@pytest.mark.parametrize("provider", ADAPTERS)
def test_through_a_real_connection_none_hangs(provider, serve, ask, config, short_prompt):
    adapter, name, names = ADAPTERS[provider]
    stream = provider.endswith("stream")
    fake = serve(provider.split()[0], tls=provider == "nova_sonic")
    if stream:
        fake.behave("sse_dashscope")
    rng = random.Random(zlib.crc32(provider.encode()))
    limits = {"first_audio": 20, "idle": 20, "turn": 60}
    if name:
        asked = config(name, timeouts=limits)
    else:
        params = {"model": "gpt-audio", "stream": stream}
        asked = ModelConfig(model="m", provider="chat_audio", params=params, connection={"timeouts": limits})
    clock = Clock(25.0 if provider == "nova_sonic" else 100.0)
    seen = 0
    for _ in range(25 if provider == "nova_sonic" else 60):
        name_ = rng.choice(names)
        messages = _valid(name_)
        fake.instead(name_, break_one(messages, rng)[0])
        try:
            reply = ask(adapter(), asked, short_prompt, clock=clock)
        except ServiceError as error:
            reply = error
        check(reply)
        seen += isinstance(reply, ServiceError) or reply.status is not ResponseStatus.ok
        fake.restore()
    assert seen
    assert ask(adapter(), asked, short_prompt, clock=clock).status is ResponseStatus.ok, "the service is as before"


def _valid(name: str) -> list[dict[str, Any]]:
    """Return a message of a name."""
    everywhere = [message for make, _ in PROTOCOLS.values() for message in make()]
    for message in everywhere:
        fields = {message.get("type"), *message, *(f"serverContent.{key}" for key in message.get("serverContent", ()))}
        if name in fields:
            return [message]
    legs = {
        "speech-to-text": PROTOCOLS["cascade"][0]()[0],
        "responses": PROTOCOLS["cascade"][0]()[1],
        "text-to-speech": {"detail": {"status": "odd", "message": "no"}},
        "chat.completion": PROTOCOLS["chat_audio"][0]()[0],
        "chat.completion.chunk": PROTOCOLS["chat_audio stream"][0]()[1],
    }
    return [legs.get(name) or {"type": name, "session": {"type": "realtime"}}]


def test_the_breaking_reaches_everything():
    """Wrong types and texts, missing fields, what is no JSON: the test would fail were they not made."""
    rng = random.Random(0)
    wires = [raw for _ in range(3000) for raw in break_one(PROTOCOLS["realtime"][0](), rng)]
    joined = b"\n".join(wires)
    for piece in (b"NaN", b"\xff\xfe", b'"item": null', b'"item": "x"', b"[" * 200, b"0" * 400, b'"delta": "A==="'):
        assert piece in joined
    assert len(WRONG) > 30
