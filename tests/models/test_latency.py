"""Latency has one definition: from the end of the user's speech as sent to the first byte, and to what can be heard."""

from __future__ import annotations

import asyncio
import base64
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from models.test_fate import ADAPTERS

from vaeval_tasks.audio import Clip, read_audio, wav_bytes
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.transport.record import Recorder
from vaeval_tasks.models.transport.websocket import Socket
from vaeval_tasks.models.turn import Answer, Timeouts
from vaeval_tasks.store.schema import ModelConfig, SpeechPace


class SetClock(Clock):
    """A clock that is set by hand."""

    moment = 0.0

    def now(self) -> float:
        return type(self).moment


def at(answer: Answer, moment: float, sound: Any, **more: Any) -> None:
    SetClock.moment = moment
    answer.hear(sound, **more)


def pcm(*parts: tuple[float, float], rate: int = 1000 * 8) -> bytes:
    """Return stretches of (seconds, loudness)."""
    made = [np.full(round(seconds * rate), round(loud * 32767), "<i2") for seconds, loud in parts]
    return np.concatenate(made).tobytes()


@pytest.fixture
def answer() -> Answer:
    SetClock.moment = 10.0
    found = Answer(recorder=Recorder(SetClock()), rate=8000)
    found.recorder.asked()
    return found


def test_sound_that_begins_at_once(answer):
    at(answer, 11.5, pcm((1, 0.3)))
    answer.settle()
    assert (answer.recorder.first_byte_s, answer.recorder.first_audio_s) == (1.5, 1.5)


def test_silence_at_the_beginning_counts(answer):
    at(answer, 11.0, pcm((0.75, 0.0), (1, 0.3)))
    answer.settle()
    assert answer.recorder.first_byte_s == 1.0
    assert answer.recorder.first_audio_s == pytest.approx(1.75)


def test_sound_that_comes_late_after_silence(answer):
    at(answer, 11.0, pcm((0.5, 0.0)))
    at(answer, 13.0, pcm((1, 0.3)))
    answer.settle()
    assert answer.recorder.first_audio_s == pytest.approx(3.0), "who plays it has run out of sound by then"


def test_the_last_of_the_speech_counts_and_not_what_is_sent_after_it(answer):
    SetClock.moment = 12.0
    answer.recorder.asked(SpeechPace.spoken)
    at(answer, 12.5, pcm((1, 0.3)))
    assert answer.finish().first_audio_s == 0.5
    assert answer.finish().speech_pace == "spoken"


def test_silence_alone_is_never_heard(answer):
    at(answer, 11.0, pcm((1, 0.0)))
    answer.settle()
    assert (answer.recorder.first_byte_s, answer.recorder.first_audio_s) == (1.0, None)


def test_provisional_audio_is_not_the_answer(answer):
    at(answer, 11.0, pcm((1, 0.3)), place=(0, 0), final=False)
    at(answer, 14.0, pcm((1, 0.3)), place=(1, 0))
    reply = answer.finish()
    assert (reply.first_byte_s, reply.first_audio_s) == (4.0, 4.0)


@pytest.mark.parametrize("cut", [2000, 40, 1001])
def test_a_file_in_pieces(answer, cut):
    file = wav_bytes(Clip.from_pcm16(pcm((0.5, 0.0), (1, 0.3)), 8000))
    for number, start in enumerate(range(0, len(file), cut)):
        at(answer, 11.0 + number / 1000, file[start : start + cut])
    answer.settle()
    assert answer.recorder.first_byte_s == 1.0
    assert answer.recorder.first_audio_s == pytest.approx(1.5, abs=0.02)


def test_base64_that_can_be_read_only_at_the_end(answer):
    text = base64.b64encode(pcm((1, 0.3))).decode()
    at(answer, 11.0, text[:1001])
    at(answer, 12.0, text[1001:])
    answer.settle()
    assert answer.recorder.first_audio_s == pytest.approx(1.0)


@pytest.mark.parametrize("provider", ["openai_realtime", "xai_realtime", "gemini_live"])
def test_speech_may_go_out_at_the_pace_it_was_spoken(provider, serve, ask, config, short_prompt):
    """A piece leaves when its last sample was spoken."""
    adapter, name = ADAPTERS[provider]
    serve(provider)
    clock = Clock(2.0)
    reply = ask(adapter(), config(name, connection={"speech_pace": "spoken"}), short_prompt, clock=clock)
    assert (reply.status, reply.speech_pace) == ("ok", "spoken"), reply.error
    texts = [
        (event["ns"] / 1e9, json.dumps(event["message"])) for event in reply.events if event["direction"] == "sent"
    ]
    pieces = [when for when, text in texts if "input_audio_buffer.append" in text or '"mimeType": "audio' in text]
    seconds = read_audio(short_prompt).seconds
    assert len(pieces) >= 3
    assert pieces[-1] - pieces[0] >= seconds - 0.25, "the first one is due after its own length"
    assert all(b - a > 0 for a, b in pairwise(pieces))
    at_once = ask(adapter(), config(name), short_prompt, clock=clock)
    assert at_once.speech_pace == "whole"


def test_who_speaks_is_waited_for(answer):
    """The limit between two events begins where the speech ends."""
    SetClock.moment, answer.recorder.asked_at = 20.0, None

    async def patience() -> float:
        return Socket(None, answer, Timeouts(idle=5.0))._patience()

    assert asyncio.run(patience()) == 5.0
    answer.recorder.speaking_until = 50.0
    assert asyncio.run(patience()) == 35.0
    SetClock.moment = 51.0
    answer.recorder.asked(SpeechPace.spoken)
    assert answer.recorder.asked_at == 50.0, "when the last sample was due"


@pytest.mark.parametrize("provider", ADAPTERS)
def test_every_adapter_records_it(provider, serve, ask, config, short_prompt, monkeypatch):
    monkeypatch.setenv("VAEVAL_CHAT_API_KEY", "sk-loopback-0123456789abcdef")
    adapter, name = ADAPTERS[provider]
    fake = serve(provider, tls=provider == "nova_sonic")
    fake.delay = 0.2
    asked = config(name) if name else ModelConfig(model="m", provider="chat_audio", params={"model": "gpt-audio"})
    reply = ask(adapter(), asked, short_prompt, clock=Clock(25.0) if provider == "nova_sonic" else None)
    assert reply.first_audio_s >= reply.first_byte_s >= 0.2, "the delay of the fake, and what the machine adds"
    assert reply.speech_pace == ("spoken" if provider == "nova_sonic" else "whole")
    assert reply.first_byte_s <= reply.total_s
    if provider == "nova_sonic":
        assert reply.first_byte_s >= 2.0, "the service waits for 2 s of silence: that is part of its latency"
    json.dumps(reply.usage)
