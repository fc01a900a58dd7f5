"""What all adapters share: the clock, the record, and the judgement of an answer."""

from __future__ import annotations

import asyncio
import base64
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Conversation, Reply, Turn
from vaeval_tasks.models.speech_in import chunks, image_type, pcm, question
from vaeval_tasks.models.transport.edge import BadMessageError
from vaeval_tasks.models.transport.encoded import Base64Pieces, decode_base64
from vaeval_tasks.models.transport.record import Recorder, hide
from vaeval_tasks.models.turn import Answer, Timeouts, TurnError, alongside, run_turn
from vaeval_tasks.store.schema import ResponseStatus


def test_a_faster_clock(monkeypatch):
    clock, slept = Clock(100), []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(clock.sleep(2.0))
    assert slept == [pytest.approx(0.02)]
    earlier = time.monotonic()
    now = clock.now()
    assert earlier * 100 <= now <= time.monotonic() * 100


@given(st.binary(max_size=200))
def test_base64_in_both_alphabets(data):
    assert decode_base64(base64.b64encode(data).decode()) == data
    assert decode_base64(base64.urlsafe_b64encode(data).decode()) == data


@pytest.mark.parametrize("text", ["abcde", "abd", "****", "AA==AA", "ä", "data:audio/wav;base64"])
def test_audio_that_is_not_base64_is_an_error(text):
    with pytest.raises(BadMessageError):
        decode_base64(text)
    assert decode_base64("") == b""


@given(st.binary(min_size=1, max_size=200), st.integers(1, 90))
def test_base64_in_every_form_of_writing(data, width):
    plain = base64.b64encode(data).decode()
    lines = "\r\n".join(plain[i : i + width] for i in range(0, len(plain), width))
    for text in (lines, plain.rstrip("="), f"data:audio/wav;rate=8000;base64,{plain}", f" {plain}\n"):
        assert decode_base64(text) == data


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=8))
def test_deltas_that_lack_their_padding(pieces):
    stream = Base64Pieces()
    got = b"".join(stream.feed(base64.b64encode(piece).decode().rstrip("=")) for piece in pieces)
    assert got + stream.rest() == b"".join(pieces)


@given(st.binary(min_size=300, max_size=900), st.integers(1, 30))
def test_one_text_cut_into_deltas_anywhere(data, size):
    text = base64.b64encode(data).decode()
    stream = Base64Pieces()
    got = b"".join(stream.feed(text[i : i + size]) for i in range(0, len(text), size))
    assert got + stream.rest() == data


def test_hidden_audio_leaves_the_message_alone():
    message = {"a": {"data": "AAAA", "rate": 8}, "b": 1}
    shown = hide(message, "a", "data")
    assert shown == {"a": {"data": {"bytes": 3, "sha256": shown["a"]["data"]["sha256"]}, "rate": 8}, "b": 1}
    assert message["a"]["data"] == "AAAA"


def answer(**fields) -> Answer:
    return Answer(recorder=Recorder(Clock()), rate=1000, **fields)


LOUD = bytearray(np.full(1000, 9000, "<i2").tobytes())


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"final": LOUD}, ResponseStatus.ok),
        ({}, ResponseStatus.empty),
        ({"final": bytearray(b"\1")}, ResponseStatus.empty),
        ({"provisional": LOUD}, ResponseStatus.empty),
        ({"final": bytearray(2000)}, ResponseStatus.degenerate),
        ({"final": LOUD * 300}, ResponseStatus.degenerate),
        ({"final": LOUD, "has_transcript": True}, ResponseStatus.degenerate),
        ({"final": LOUD, "has_transcript": True, "output_transcript": "hi"}, ResponseStatus.ok),
    ],
)
def test_an_answer_is_judged(fields, status):
    assert answer(**fields).finish().status is status


def run(talk, **options) -> Reply:
    settings = {"clock": Clock(), "timeouts": Timeouts(), "rate": 1000, **options}
    return asyncio.run(run_turn(talk, **settings))


def test_sound_of_a_failed_turn_is_provisional():
    async def talk(answer: Answer) -> None:
        answer.final += LOUD
        answer.recorder.asked()
        answer.recorder.heard()
        raise TurnError(ResponseStatus.error, "broke")

    reply = run(talk)
    assert (reply.status, reply.audio, reply.error) == (ResponseStatus.error, None, "broke")
    assert reply.provisional.pcm16() == bytes(LOUD)
    assert reply.first_audio_s is None


def test_a_malformed_message_is_a_result_and_what_came_shows_it():
    async def talk(answer: Answer) -> None:
        answer.final += LOUD
        answer.recorder.received({"error": "boom"})
        answer.recorder.events[-1]["message"]["error"].get("message")

    reply = run(talk)
    assert (reply.status, reply.audio) == (ResponseStatus.error, None)
    assert reply.error.startswith("unexpected AttributeError: 'str' object has no attribute 'get' (test_turn.py, line ")
    assert [event["message"] for event in reply.events] == [{"error": "boom"}]
    assert reply.provisional.pcm16() == bytes(LOUD)


def test_what_the_user_must_fix_is_no_result():
    async def talk(answer: Answer) -> None:
        raise ServiceError("the key was refused")

    with pytest.raises(ServiceError):
        run(talk)


def test_a_defect_while_asking_is_seen():
    async def ask_() -> None:
        raise KeyError("a defect of ours")

    async def listen() -> None:
        await asyncio.sleep(60)

    async def stop() -> None:
        raise TurnError(ResponseStatus.error, "closed")

    async def last_words() -> None:
        await asyncio.sleep(0.01)

    with pytest.raises(KeyError):
        asyncio.run(alongside(ask_, listen))
    asyncio.run(alongside(stop, last_words))  # what the provider says last is still read


@given(st.integers(0, 3000), st.sampled_from([8000, 16000, 24000]))
def test_chunks_are_whole_samples_and_lose_nothing(samples, rate):
    data = np.arange(samples, dtype="<i2").tobytes()
    found = list(chunks(data, rate, 0.032))
    assert b"".join(found) == data
    assert all(len(piece) % 2 == 0 for piece in found)


def test_clips_of_a_turn_come_in_playing_order(tmp_path):
    for name, value in (("a", 0.25), ("b", -0.5)):
        write_wav(tmp_path / f"{name}.wav", Clip(np.full(160, value, np.float32), 16000))
    turn = Turn(role="user", audio=(tmp_path / "b.wav", tmp_path / "a.wav"))
    samples = np.frombuffer(asyncio.run(pcm(turn, 16000)), "<i2")
    assert samples.tolist() == [-16384] * 160 + [8192] * 160


def test_conversations_that_cannot_be_answered(tmp_path):
    with pytest.raises(InputError, match="must end with a turn of the user"):
        question(Conversation(turns=(Turn(role="assistant", text="hi"),)))
    with pytest.raises(InputError, match=r"images must end in \.jpg"):
        image_type(tmp_path / "see.bmp")
