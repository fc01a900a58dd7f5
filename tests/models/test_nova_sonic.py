"""Nova Sonic: every way a stream can go, on a clock that runs 25 times as fast."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.nova_sonic import NovaSonic
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Retry, Turn
from vaeval_tasks.models.transport.bedrock_stream import BedrockStream, StreamError
from vaeval_tasks.models.transport.sigv4 import Credentials
from vaeval_tasks.store.schema import ResponseStatus
from vaeval_tasks.testing.bedrock import ACCESS_KEY
from vaeval_tasks.testing.server import KEY, answer_pcm

NAME = "nova-2-sonic/default/tiffany"
FAST = Clock(25.0)


def expected(fake, turn=-1):
    return fake.answer(fake.sessions[-1]["turns"][turn], "tiffany")


@pytest.fixture
def paused(tmp_path, make_speech):
    """Speech, a pause of 2.5 s that the model takes for the end, and more speech."""
    first, second = make_speech(0.6).samples, make_speech(0.9, seed=1).samples
    path = tmp_path / "paused.wav"
    write_wav(path, Clip(np.concatenate([first, np.zeros(40000, np.float32), second]), 16000))
    return path


@pytest.mark.parametrize("behaviour", ["happy", "two_sentences", "odd_chunks"])
def test_the_final_audio_comes_back_to_the_sample(behaviour, serve, ask, config, short_prompt):
    fake = serve("nova_sonic")
    fake.behave(behaviour)
    reply = ask(NovaSonic(), config(NAME), short_prompt, clock=FAST)
    assert (reply.status, reply.error) == (ResponseStatus.ok, "")
    assert reply.audio.pcm16() == expected(fake)
    assert reply.output_transcript == "It is four.", "the final text, not the planned one"
    assert reply.input_transcript == "what is two and two"
    assert reply.provisional is None
    # the pause is 2 s of the scaled clock; a busy machine marks the end of the prompt late
    assert reply.first_audio_s >= 1.0, "the endpointing pause is part of the latency"
    log = fake.sessions[-1]
    assert log["verified"] > 70
    silence = len(log["audio"]) - len(log["turns"][0])
    assert silence >= 2 * 16000 * 2, "zeros go on at the same pace until the answer is complete"


def test_an_answer_at_an_inner_pause_is_provisional(serve, ask, config, paused):
    fake = serve("nova_sonic")
    reply = ask(NovaSonic(), config(NAME), paused, clock=FAST)
    first, second = fake.sessions[-1]["turns"]
    assert reply.status is ResponseStatus.ok
    assert "pause inside the prompt" in reply.error
    assert reply.provisional.pcm16() == fake.answer(first, "tiffany")
    assert reply.audio.pcm16() == fake.answer(second, "tiffany")
    assert reply.output_transcript == "It is four."


def test_an_early_answer_that_goes_on_after_the_prompt_stays_provisional(serve, ask, config, paused):
    fake = serve("nova_sonic")
    fake.behave("long_early_answer")
    reply = ask(NovaSonic(), config(NAME), paused, clock=FAST)
    assert reply.provisional.pcm16() == answer_pcm("early one") + answer_pcm("early two")
    assert reply.audio.pcm16() == expected(fake)


@pytest.mark.parametrize(
    ("behaviour", "status", "why", "retry"),
    [
        ("interrupted", ResponseStatus.error, "interrupted", None),
        ("no_answer", ResponseStatus.timeout, "no end of the answer", None),
        ("abort", ResponseStatus.error, "connection", Retry()),
        ("throttling", ResponseStatus.error, "throttlingException", Retry()),
        ("unavailable", ResponseStatus.error, "serviceUnavailableException", Retry()),
        ("internal_late", ResponseStatus.error, "internalServerException", None),
        ("stream_error", ResponseStatus.error, "modelStreamErrorException", Retry()),
        ("http_429", ResponseStatus.error, "429", Retry()),
        ("http_503", ResponseStatus.error, "503", Retry()),
    ],
)
def test_each_failure_has_its_status(behaviour, status, why, retry, serve, ask, config, short_prompt):
    serve("nova_sonic").behave(behaviour)
    patience = 5 if behaviour == "no_answer" else 600  # the others must be told apart however slow the machine is
    timeouts = {"first_audio": patience, "idle": patience, "turn": 900}
    reply = ask(NovaSonic(), config(NAME, timeouts=timeouts), short_prompt, clock=FAST)
    assert (reply.status, reply.retry) == (status, retry), reply.error
    assert why in reply.error
    assert reply.audio is None
    assert (reply.provisional is not None) == (behaviour in ("interrupted", "internal_late"))


def test_a_connection_lasts_eight_minutes(serve, ask, config, short_prompt):
    serve("nova_sonic", speed=400).behave("no_answer")
    patient = {"connect": 6000, "first_audio": 600, "turn": 900}  # the handshake takes real time, 400 times as long
    reply = ask(NovaSonic(), config(NAME, timeouts=patient), short_prompt, clock=Clock(400))
    assert reply.status is ResponseStatus.timeout
    assert "modelTimeoutException" in reply.error
    assert 470 < reply.total_s < 600


def test_a_prompt_that_does_not_fit_is_refused_unsent(serve, ask, config, tmp_path):
    fake = serve("nova_sonic")
    path = tmp_path / "long.wav"
    write_wav(path, Clip(np.full(600 * 8000, 0.1, np.float32), 8000))
    reply = ask(NovaSonic(), config(NAME), path, clock=FAST)
    assert reply.status is ResponseStatus.unsupported
    assert "600 s" in reply.error
    assert fake.sessions == []


def test_a_stream_without_audio_is_ended_by_the_service(serve, config):
    fake = serve("nova_sonic", speed=400)

    async def idle() -> None:
        stream = BedrockStream(fake.url, "amazon.nova-2-sonic-v1:0", Credentials(ACCESS_KEY, KEY))
        await stream.open()
        await stream.send({"sessionStart": {}})
        try:
            await stream.receive()
        finally:
            await stream.close()

    with pytest.raises(StreamError, match="531"):
        asyncio.run(idle())


@pytest.mark.parametrize(
    ("variable", "value"), [("AWS_SECRET_ACCESS_KEY", "wrong-secret-value"), ("AWS_ACCESS_KEY_ID", "AKIDNOBODY")]
)
def test_a_wrong_key_is_named_but_not_shown(variable, value, serve, ask, config, short_prompt, monkeypatch):
    serve("nova_sonic")
    monkeypatch.setenv(variable, value)
    with pytest.raises(ServiceError, match="key was refused") as caught:
        ask(NovaSonic(), config(NAME), short_prompt, clock=FAST)
    assert value not in str(caught.value)


def test_a_session_token_is_signed_too(serve, ask, config, short_prompt, monkeypatch):
    serve("nova_sonic")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-token")
    assert ask(NovaSonic(), config(NAME), short_prompt, clock=FAST).status is ResponseStatus.ok


def test_a_refused_voice_and_model(serve, ask, config, short_prompt):
    serve("nova_sonic")
    params = config(NAME).params
    output = {**params["promptStart"]["audioOutputConfiguration"], "voiceId": "nobody"}
    wrong = {**params, "promptStart": {**params["promptStart"], "audioOutputConfiguration": output}}
    with pytest.raises(ServiceError, match="Invalid voiceId nobody"):
        ask(NovaSonic(), config(NAME, params=wrong), short_prompt, clock=FAST)
    with pytest.raises(ServiceError, match="404"):
        ask(NovaSonic(), config(NAME, params={**params, "model": "amazon.nova-9"}), short_prompt, clock=FAST)


def test_nobody_there(ask, config, short_prompt, monkeypatch):
    monkeypatch.setenv("VAEVAL_BEDROCK_URL", "https://127.0.0.1:9")
    with pytest.raises(ServiceError, match="cannot be reached") as caught:
        ask(NovaSonic(), config(NAME), short_prompt, clock=FAST)
    assert caught.value.retry


def test_earlier_turns_go_in_as_text(serve, ask, config, short_prompt):
    fake = serve("nova_sonic")
    turns = (
        Turn(role="user", audio=(short_prompt,), text="What is two and two?"),
        Turn(role="assistant", text="It is four."),
        Turn(role="user", audio=(short_prompt,)),
    )
    ask(NovaSonic(), config(NAME), turns=turns, clock=FAST)
    events = fake.sessions[-1]["events"]
    assert [e["contentStart"]["role"] for e in events if "contentStart" in e] == ["SYSTEM", "USER", "ASSISTANT", "USER"]
    mute = (Turn(role="user", audio=(short_prompt,)), *turns[1:])
    reply = ask(NovaSonic(), config(NAME), turns=mute, clock=FAST)
    assert reply.status is ResponseStatus.unsupported
    assert "turn 1 has none" in reply.error
