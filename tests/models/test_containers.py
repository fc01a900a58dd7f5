"""Audio is what its bytes are: decoded, or refused by name; never noise."""

from __future__ import annotations

import base64
import hashlib
import struct

import numpy as np
import pytest
import soundfile

from vaeval_tasks.models.adapters.chat_audio import ChatAudio
from vaeval_tasks.models.adapters.gemini_live import GeminiLive
from vaeval_tasks.models.adapters.openai_realtime import OpenAIRealtime
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.said import split_thoughts
from vaeval_tasks.models.transport.containers import read_sound, sound_file
from vaeval_tasks.models.transport.edge import BadMessageError
from vaeval_tasks.models.transport.record import Recorder
from vaeval_tasks.models.turn import Answer
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus
from vaeval_tasks.testing.server import answer_pcm, pieces
from vaeval_tasks.testing.server import sound_file as as_file

PCM = answer_pcm("an answer", seconds=1.0)
SAMPLES = np.frombuffer(PCM, "<i2").astype(float)


def engine(**params) -> ModelConfig:
    return ModelConfig(model="m", provider="chat_audio", params={"model": "gpt-audio", **params})


@pytest.mark.parametrize("kind", ["WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC", "OGG", "OPUS", "MP3"])
@pytest.mark.parametrize("size", [0, 700, 1])
def test_every_file_that_libsndfile_knows_in_any_pieces(kind, size):
    data = as_file(PCM, kind)
    answer = Answer(recorder=Recorder(Clock()), rate=16000)
    for piece in pieces(data, size or len(data))[: 10**9] if size != 1 else (data[:1], data[1:7], data[7:]):
        answer.hear(piece)
    reply = answer.finish()
    assert reply.status is ResponseStatus.ok, reply.error
    assert reply.audio.rate == 24000
    heard = reply.audio.at(24000).samples[:24000] * 32768
    start = 1105 if kind == "MP3" and len(heard) > 24000 else 0
    both = min(len(heard) - start, len(SAMPLES))
    correlation = np.corrcoef(heard[start : start + both], SAMPLES[:both])[0, 1]
    assert correlation > (0.2 if kind in ("MP3", "OPUS") else 0.9)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW"])
def test_every_coding_of_a_wav(subtype, tmp_path):
    path = tmp_path / "a.wav"
    soundfile.write(path, SAMPLES / 32768, 24000, subtype=subtype)
    (clip,) = read_sound(path.read_bytes(), 16000)
    assert np.corrcoef(clip.samples, SAMPLES)[0, 1] > 0.99


def header(size: int, extra: bytes = b"") -> bytes:
    form = struct.pack("<IHHIIHH", 16, 1, 1, 24000, 48000, 2, 16)
    return b"RIFF\xff\xff\xff\xffWAVEfmt " + form + extra + b"data" + struct.pack("<I", size)


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFFFFF, len(PCM), len(PCM) + 1000])
@pytest.mark.parametrize("extra", [b"", b"LIST\x04\x00\x00\x00INFO", b"odd \x03\x00\x00\x00abc\x00"])
def test_headers_of_streams_that_do_not_know_their_length(size, extra):
    (clip,) = read_sound(header(size, extra) + PCM, 16000)
    assert (clip.rate, clip.pcm16()) == (24000, PCM)


def test_what_stands_after_the_samples_is_no_sound():
    (clip,) = read_sound(header(len(PCM)) + PCM + b"LIST\x04\x00\x00\x00INFO", 16000)
    assert clip.pcm16() == PCM


def test_wavs_one_after_another_are_one_sound():
    first, second = read_sound(as_file(PCM[:4800], "WAV") + as_file(PCM[4800:], "WAV"), 16000)
    assert first.pcm16() + second.pcm16() == PCM


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x1a\x45\xdf\xa3" + PCM, "WebM"),
        (b"\0\0\0\x20ftypM4A " + PCM, "MP4"),
        (b"\xff\xf1\x50\x80\x01\x1f\xfc\x00" * 50, "AAC"),
        (b"#!AMR\n" + PCM, "AMR"),
        (b"RIFF\x00\x00\x00\x00AVI " + PCM, "no sound"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "ends before its samples"),
        (b"RIFF\x00\x00\x00\x00WAVEdata\x00\x00\x00\x00" + PCM, "cannot be read"),
        (b"fLaC" + PCM, "cannot be read"),
        (b"OggS" + PCM, "cannot be read"),
        (b"ID3" + PCM, "cannot be read"),
        (b'{"detail": {"status": "quota_exceeded"}}', "a text"),
        (b"<html>", "a text"),
        (b"Internal server error, please try again later", "a text"),
        (b"\x89PNG\r\n\x1a\n" + PCM, "PNG"),
        (hashlib.shake_256(b"x").digest(20_000), "no 16-bit PCM"),
        (as_file(answer_pcm("long", seconds=8.0), "MP3")[1000:], "no 16-bit PCM"),
        (header(0).replace(struct.pack("<I", 24000), struct.pack("<I", 3)) + PCM, "a rate of 3 Hz"),
        (header(0).replace(struct.pack("<I", 24000), struct.pack("<I", 0)) + PCM, "a rate of 0 Hz"),
    ],
)
def test_what_cannot_be_heard_is_refused_by_name(data, why):
    with pytest.raises(BadMessageError, match=why):
        read_sound(data, 24000)


@pytest.mark.parametrize(
    "first", [b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"ID", b"RI", b"Og", b"{}", b"\x1f\x8b", b"G\x00"]
)
def test_pcm_that_begins_like_a_file_is_pcm(first):
    data = first + PCM[2:]
    assert sound_file(data) == ""
    (clip,) = read_sound(data, 24000)
    assert clip.pcm16() == data


def test_a_steady_sample_is_no_text():
    data = np.full(4000, 9000, "<i2").tobytes()
    assert data.isascii()
    (clip,) = read_sound(data, 24000)
    assert clip.pcm16() == data


def test_loud_and_quiet_sound_is_no_noise():
    t = np.arange(24000) / 24000
    speech = np.sin(2 * np.pi * 150 * t) * np.sin(2 * np.pi * 3 * t)
    for samples in (np.clip(speech * 40, -1, 1), speech * 1e-3, np.random.default_rng(0).normal(0, 0.1, 24000), speech):
        (clip,) = read_sound((samples * 32767).astype("<i2").tobytes(), 24000)
        assert len(clip.samples) == 24000


@pytest.mark.parametrize(
    "form",
    "unpadded line_breaks url_safe data_url zero_size flac stereo choices_null think "
    "sse_cut_text sse_wav_head sse_as_json sse_line_separator".split(),
)
def test_forms_of_a_chat_reply(form, serve, ask, short_prompt):
    fake = serve("chat_audio", tls=False)
    fake.behave(form)
    reply = ask(ChatAudio(), engine(stream=form.startswith("sse_")), short_prompt)
    if form == "choices_null":
        assert reply.status is ResponseStatus.empty
        return
    assert reply.status is ResponseStatus.ok, reply.error
    expected = fake.answer(fake.sessions[-1]["body"], "chelsie")
    assert np.abs(reply.audio.samples * 32768 - np.frombuffer(expected, "<i2")).max() <= 1
    assert reply.text.replace("\u2028", " ") == "It is four."
    assert bool(reply.thoughts) == (form == "think")


@pytest.mark.parametrize("form", ["webm", "aac", "mp4", "unknown", "sse_rate_change"])
def test_forms_of_a_chat_reply_that_are_errors(form, serve, ask, short_prompt):
    serve("chat_audio", tls=False).behave(form)
    reply = ask(ChatAudio(), engine(stream=form.startswith("sse_")), short_prompt)
    assert (reply.status, reply.audio) == (ResponseStatus.error, None)
    assert reply.error


@pytest.mark.parametrize("form", ["unpadded", "line_breaks", "url_safe", "data_urls", "cut_text", "old_names"])
def test_forms_of_realtime_deltas(form, serve, ask, config, short_prompt):
    fake = serve("openai_realtime", tls=False)
    fake.behave("happy", form)
    happy = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), short_prompt)
    reply = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), short_prompt)
    assert (reply.status, reply.text) == (ResponseStatus.ok, "It is four."), reply.error
    assert reply.audio.pcm16() == happy.audio.pcm16()


def test_a_container_in_realtime_and_a_change_of_rate_in_gemini(serve, ask, config, short_prompt):
    serve("openai_realtime", tls=False).behave("unknown_container")
    reply = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), short_prompt)
    assert reply.status is ResponseStatus.error
    assert "WebM" in reply.error
    serve("gemini_live", tls=False).behave("rate_change")
    reply = ask(GeminiLive(), config("gemini-3.1-flash-live/high/zephyr"), short_prompt)
    assert reply.status is ResponseStatus.error
    assert "from 24000 to 16000 Hz" in reply.error


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("It is four.", "It is four.", ""),
        ("<think>Two.</think>Four.", "Four.", "Two."),
        ("<think>\nTwo.\n</think>\n\nFour.", "Four.", "Two."),
        ("Two.</think>Four.", "Four.", "Two."),
        ("Hm <think>never closed", "Hm", "never closed"),
        ("<THINKING>a</THINKING>b<think>c</think>d", "bd", "a\nc"),
        ("◁think▷a◁/think▷b", "b", "a"),
        ("[THINK]a[/THINK]b", "b", "a"),
        ('<reasoning effort="high">a</reasoning>b', "b", "a"),
        ("3 < 4 and [1]", "3 < 4 and [1]", ""),
        ("<b>bold</b>", "<b>bold</b>", ""),
    ],
)
def test_thoughts_are_not_what_was_said(text, said, thought):
    assert split_thoughts(text) == (said, thought)


def test_an_odd_byte_at_the_end_is_dropped():
    (clip,) = read_sound(PCM + b"\x01", 24000)
    assert clip.pcm16() == PCM
    assert base64.b64encode(PCM)
