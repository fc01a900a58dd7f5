"""OpenAI-compatible engines: the shapes of requests and replies."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.asking.kept import exchange_line
from vaeval_tasks.audio import Clip, read_audio, wav_bytes, write_wav
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.models.adapters.chat_audio import ChatAudio
from vaeval_tasks.models.adapters.chat_reply import ChatReader
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Retry, Turn
from vaeval_tasks.models.transport.edge import BadMessageError
from vaeval_tasks.models.transport.record import Recorder
from vaeval_tasks.models.turn import Answer
from vaeval_tasks.store.schema import ModelConfig, Response, ResponseStatus
from vaeval_tasks.testing.chat import wav_of
from vaeval_tasks.testing.server import KEY


def engine(**changes) -> ModelConfig:
    """A configuration for vLLM-Omni."""
    params = {"model": "Qwen/Qwen3-Omni-30B-A3B-Instruct", "modalities": ["text", "audio"], "voice": "chelsie"}
    connection = changes.pop("connection", {})
    return ModelConfig(
        model="Qwen3-Omni",
        provider="chat_audio",
        voice="Chelsie",
        system_prompt="Be brief.",
        params={**params, **changes},
        connection={"timeouts": {"first_audio": 0.5}, **connection},
    )


def fresh() -> Answer:
    return Answer(recorder=Recorder(Clock()), rate=24000)


@pytest.mark.parametrize(
    "behaviour",
    ["happy", "two_choices", "audio_only", "gpt_audio", "streamed_wav", "sse_wav_chunks", "sse_dashscope", "length"],
)
def test_every_shape_gives_the_same_audio(behaviour, serve, ask, short_prompt):
    fake = serve("chat_audio")
    fake.behave(behaviour)
    config = engine(**({"stream": True} if behaviour.startswith("sse_") else {}))
    reply = ask(ChatAudio(), config, short_prompt)
    assert reply.status is ResponseStatus.ok, reply.error
    assert reply.audio.pcm16() == fake.answer(fake.sessions[-1]["body"], "chelsie")
    assert reply.text == ("" if behaviour == "audio_only" else "It is four.")
    assert reply.usage == {"n": 1}
    assert reply.error == ("the answer was cut at the length limit" if behaviour == "length" else "")
    shown = exchange_line(Response(response_id="r", prompt_id="p", config_id="c", status=reply.status), reply)
    assert base64.b64encode(reply.audio.pcm16()[:300]).decode()[:100] not in shown


@pytest.mark.parametrize(
    ("behaviour", "status", "why", "retry"),
    [
        ("text_only", ResponseStatus.empty, "no audio", None),
        ("filtered", ResponseStatus.refused, "filtered", None),
        ("http_429", ResponseStatus.error, "429", Retry()),
        ("http_500", ResponseStatus.error, "500", Retry()),
        ("http_400", ResponseStatus.error, "400", None),
        ("break", ResponseStatus.error, "broke off", Retry()),
        ("not_json", ResponseStatus.error, "not JSON", Retry()),
        ("no_answer", ResponseStatus.timeout, "ReadTimeout", None),
        ("sse_break", ResponseStatus.error, "before the answer did", None),
        ("sse_error", ResponseStatus.error, "out of memory", None),
    ],
)
def test_each_failure_has_its_status(behaviour, status, why, retry, serve, ask, short_prompt):
    serve("chat_audio").behave(behaviour)
    config = engine(**({"stream": True} if behaviour.startswith("sse_") else {}))
    reply = ask(ChatAudio(), config, short_prompt)
    assert (reply.status, reply.retry) == (status, retry), reply.error
    assert why in reply.error
    assert (reply.provisional is not None) == behaviour.startswith("sse_")


@pytest.mark.parametrize(
    ("changes", "why"), [({"model": "gpt-9"}, "does not exist"), ({"voice": "nobody"}, "nobody is not known")]
)
def test_a_refused_model_or_voice_ends_the_configuration(changes, why, serve, ask, short_prompt):
    serve("chat_audio")
    with pytest.raises(ServiceError, match=why):
        ask(ChatAudio(), engine(**changes), short_prompt)


def test_the_key_is_optional_and_never_shown(serve, ask, short_prompt, monkeypatch):
    fake = serve("chat_audio")
    fake.needs_key = True
    monkeypatch.setenv("VAEVAL_CHAT_API_KEY", KEY)
    reply = ask(ChatAudio(), engine(), short_prompt)
    assert reply.status is ResponseStatus.ok
    assert KEY not in repr(reply)
    monkeypatch.setenv("VAEVAL_CHAT_API_KEY", "wrong-key-value")
    with pytest.raises(ServiceError, match="key was refused") as caught:
        ask(ChatAudio(), engine(), short_prompt)
    assert "wrong-key-value" not in str(caught.value)


def test_no_address(ask, short_prompt, monkeypatch):
    monkeypatch.delenv("VAEVAL_CHAT_URL")
    with pytest.raises(InputError, match=r"VAEVAL_CHAT_URL or connection\.base_url"):
        ask(ChatAudio(), engine(), short_prompt)


@pytest.mark.parametrize(
    ("style", "kind", "place"),
    [
        ("audio_url", "audio_url", lambda part: part["audio_url"]["url"].partition("base64,")[2]),
        ("input_audio", "input_audio", lambda part: part["input_audio"]["data"]),
        ("audio_b64", "audio", lambda part: part["audio_b64"]),
    ],
)
def test_each_style_of_audio_part(style, kind, place, serve, ask, prompt):
    fake = serve("chat_audio")
    reply = ask(ChatAudio(), engine(connection={"audio_part": style}), prompt)
    system, user = fake.sessions[-1]["body"]["messages"]
    assert system == {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    (part,) = user["content"]
    assert part["type"] == kind
    clip = read_audio(base64.b64decode(place(part)))
    assert (clip.rate, clip.pcm16()) == (16000, read_audio(prompt).pcm16())
    assert place(part)[:60] not in repr(reply.request)


def test_an_unknown_style_is_refused(serve, ask, prompt):
    serve("chat_audio")
    with pytest.raises(ServiceError, match="Did you mean 'audio_url'"):
        ask(ChatAudio(), engine(connection={"audio_part": "audio-url"}), prompt)


def test_extra_parameters_go_on_the_wire(serve, ask, short_prompt):
    fake = serve("chat_audio")
    ask(ChatAudio(), engine(extra={"chat_template_kwargs": {"x": 1}}), short_prompt)
    body = fake.sessions[-1]["body"]
    assert body["chat_template_kwargs"] == {"x": 1}
    assert "extra" not in body


def test_role_play_puts_the_voice_where_its_mark_was(serve, ask, short_prompt, prompt):
    fake = serve("chat_audio")
    words = "Speak like this: <audio> and stay in character."
    ask(ChatAudio(), engine(), short_prompt, system_prompt=words, role_audio=prompt)
    before, voice, after = fake.sessions[-1]["body"]["messages"][0]["content"]
    assert (before["text"], after["text"]) == ("Speak like this:", "and stay in character.")
    assert read_audio(base64.b64decode(voice["audio_url"]["url"].partition("base64,")[2])).seconds == 6


def test_a_dialogue_with_an_image(serve, ask, short_prompt, tmp_path):
    image = tmp_path / "see.png"
    image.write_bytes(b"\x89PNG")
    fake = serve("chat_audio")
    turns = (
        Turn(role="user", audio=(short_prompt,)),
        Turn(role="assistant", text="It is four."),
        Turn(role="user", audio=(short_prompt,), images=(image,)),
    )
    ask(ChatAudio(), engine(), turns=turns)
    _, first, second, third = fake.sessions[-1]["body"]["messages"]
    assert second == {"role": "assistant", "content": "It is four."}
    assert [part["type"] for part in third["content"]] == ["audio_url", "image_url"]
    assert first["content"][0] == third["content"][0]
    reply = ask(ChatAudio(), engine(connection={"sees": False}), turns=turns)
    assert reply.status is ResponseStatus.unsupported
    assert "does not see" in reply.error


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=6), st.booleans())
def test_sound_in_any_pieces_is_the_same_sound(sizes, as_files):
    rng = np.random.default_rng(len(sizes))
    data = rng.integers(-9000, 9000, sum(sizes)).astype("<i2").tobytes()
    answer, at = fresh(), 0
    for size in sizes:
        piece = data[at : at + 2 * size]
        if as_files:
            answer.hear(wav_of(piece))
        else:  # raw PCM may be cut anywhere, also inside a sample
            answer.hear(piece[:1])
            answer.hear(piece[1:])
        at += 2 * size
    answer.settle()
    assert bytes(answer.final) == data


def test_a_change_of_rate_is_an_error(make_speech):
    answer = fresh()
    answer.hear(wav_bytes(make_speech(0.1, 24000)))
    answer.hear(wav_bytes(make_speech(0.1, 16000)))
    with pytest.raises(BadMessageError, match="from 24000 to 16000"):
        answer.settle()


def test_a_broken_file_is_an_error():
    answer = fresh()
    answer.hear(b"RIFF1234")
    with pytest.raises(BadMessageError, match="of no sound"):
        answer.settle()


def test_the_rate_of_a_file_is_kept(make_speech):
    answer = fresh()
    data = base64.b64encode(wav_bytes(make_speech(0.2, 22050))).decode()
    ChatReader(answer, RuntimeError).whole({"choices": [{"message": {"audio": {"data": data}}}]})
    assert answer.finish().audio.rate == 22050


def test_prompts_of_any_form(serve, ask, tmp_path):
    """Stereo, 8-bit, 24-bit, float, 8 kHz, 44.1 kHz, FLAC and a cut-off file all arrive as 16 kHz mono."""
    import soundfile

    fake = serve("chat_audio")
    t = np.arange(44100) / 44100
    tone = 0.3 * np.sin(2 * np.pi * 440 * t)
    cases = {
        "stereo": (np.stack([tone, tone], 1), 44100, "PCM_16"),
        "8bit": (tone, 44100, "PCM_U8"),
        "24bit": (tone, 44100, "PCM_24"),
        "float": (tone, 44100, "FLOAT"),
        "8khz": (tone[:8000], 8000, "PCM_16"),
        "48khz": (tone[:9600], 48000, "PCM_16"),
    }
    paths = []
    for name, (samples, rate, form) in cases.items():
        soundfile.write(tmp_path / f"{name}.wav", samples, rate, subtype=form)
        paths.append(tmp_path / f"{name}.wav")
    cut = tmp_path / "cut.wav"
    cut.write_bytes(paths[0].read_bytes()[:40000])
    for path in (*paths, cut):
        reply = ask(ChatAudio(), engine(), path)
        assert reply.status is ResponseStatus.ok, path.name
        part = fake.sessions[-1]["body"]["messages"][1]["content"][0]
        heard = read_audio(base64.b64decode(part["audio_url"]["url"].partition("base64,")[2]))
        assert heard.rate == 16000
        assert heard.seconds == pytest.approx(read_audio(path).seconds, abs=1e-3)
        assert 0.25 < heard.peak < 0.35, path.name


def test_a_prompt_of_ten_minutes(serve, ask, tmp_path):
    fake = serve("chat_audio", tls=False)
    path = tmp_path / "long.wav"
    write_wav(path, Clip(np.full(600 * 16000, 0.1, np.float32), 16000))
    reply = ask(ChatAudio(), engine(connection={"timeouts": {"first_audio": 30}}), path)
    assert reply.status is ResponseStatus.ok, reply.error
    (part,) = fake.sessions[-1]["body"]["messages"][1]["content"]
    assert len(part["audio_url"]["url"]) > 600 * 16000 * 2 * 4 / 3


def test_a_prompt_without_samples_or_that_is_no_sound(serve, ask, tmp_path):
    fake = serve("chat_audio")
    empty, junk = tmp_path / "empty.wav", tmp_path / "junk.wav"
    write_wav(empty, Clip(np.zeros(0, np.float32), 16000))
    junk.write_bytes(b"RIFF not a sound")
    for path, why in (
        (empty, "holds no samples"),
        (junk, "cannot be read as sound"),
        (tmp_path / "gone.wav", "no such"),
    ):
        with pytest.raises(InputError, match=why) as caught:
            ask(ChatAudio(), engine(), path)
        assert path.name in str(caught.value)
    assert fake.sessions == []
