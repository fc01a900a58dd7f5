"""The cascade: each leg, and every way it can fail."""

from __future__ import annotations

import pytest

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.cascade import Cascade
from vaeval_tasks.models.protocol import Retry, Turn
from vaeval_tasks.store.schema import ResponseStatus

NAME = "cascade/default/rachel"


@pytest.mark.parametrize("behaviour", ["happy", "odd_chunks", "llm_commentary"])
def test_the_answer_comes_back_to_the_sample(behaviour, serve, ask, config, short_prompt):
    fake = serve("cascade")
    fake.behave(behaviour)
    reply = ask(Cascade(), config(NAME), short_prompt)
    assert (reply.status, reply.error) == (ResponseStatus.ok, "")
    assert reply.audio.pcm16() == fake.answer()
    assert (reply.input_transcript, reply.text) == ("What is two plus two?", "It is four.")
    assert reply.usage["llm"]["total_tokens"] == 7
    legs = [next(iter(e["message"])) for e in reply.events if e["direction"] == "sent"]
    assert legs == ["speech-to-text", "responses", "text-to-speech"]


def test_a_system_turn_is_refused(serve, ask, config, short_prompt):
    fake = serve("cascade")
    reply = ask(Cascade(), config(NAME), short_prompt, system_prompt="You are a pirate.")
    assert reply.status is ResponseStatus.refused
    assert "400" in reply.error
    assert fake.sessions == []


@pytest.mark.parametrize(
    ("behaviour", "status", "why", "retry"),
    [
        ("no_words", ResponseStatus.empty, "heard no words", None),
        ("wordless", ResponseStatus.empty, "without words", None),
        ("stt_busy", ResponseStatus.error, "too_many_concurrent_requests", Retry()),
        ("stt_500", ResponseStatus.error, "500", Retry()),
        ("llm_429", ResponseStatus.error, "rate_limit_exceeded", Retry(after_s=0.01)),
        ("llm_incomplete", ResponseStatus.ok, "cut at the length limit", None),
        ("llm_refusal", ResponseStatus.refused, "I cannot help with that", None),
        ("tts_too_long", ResponseStatus.error, "max_character_limit_exceeded", None),
        ("tts_busy", ResponseStatus.error, "system_busy", Retry()),
        ("tts_break", ResponseStatus.error, "broke off", None),
        ("slow_llm", ResponseStatus.timeout, "ReadTimeout", None),
    ],
)
def test_each_failure_has_its_status(behaviour, status, why, retry, serve, ask, config, short_prompt):
    fake = serve("cascade")
    fake.behave(behaviour)
    reply = ask(Cascade(), config(NAME, timeouts={"first_audio": 0.5}), short_prompt)
    assert (reply.status, reply.retry) == (status, retry)
    assert why in reply.error
    if behaviour == "no_words":
        assert "llm" not in fake.sessions[-1], "the language model is not asked blindly"
    if behaviour == "tts_break":
        assert reply.provisional is not None


def test_a_retired_voice_ends_the_configuration(serve, ask, config, short_prompt):
    serve("cascade").behave("tts_voice_gone")
    with pytest.raises(ServiceError, match="voice_not_found"):
        ask(Cascade(), config(NAME), short_prompt)


@pytest.mark.parametrize("variable", ["ELEVENLABS_API_KEY", "OPENAI_API_KEY"])
def test_a_wrong_key_is_named_but_not_shown(variable, serve, ask, config, short_prompt, monkeypatch):
    serve("cascade")
    monkeypatch.setenv(variable, "wrong-key-value")
    with pytest.raises(ServiceError, match="key was refused") as caught:
        ask(Cascade(), config(NAME), short_prompt)
    assert "wrong-key-value" not in str(caught.value)


def test_an_unknown_language_model_ends_the_configuration(serve, ask, config, short_prompt):
    serve("cascade")
    params = {**config(NAME).params, "llm_model": "gpt-9"}
    with pytest.raises(ServiceError, match="model_not_found"):
        ask(Cascade(), config(NAME, params=params), short_prompt)


def test_earlier_turns_are_written_down_too(serve, ask, config, short_prompt, prompt):
    fake = serve("cascade")
    turns = (
        Turn(role="user", audio=(short_prompt,)),
        Turn(role="assistant", text="It is four."),
        Turn(role="user", audio=(prompt, short_prompt)),
    )
    ask(Cascade(), config(NAME), turns=turns)
    words = "What is two plus two?"
    assert fake.sessions[-1]["llm"]["input"] == [
        {"role": "user", "content": words},
        {"role": "assistant", "content": "It is four."},
        {"role": "user", "content": f"{words} {words}"},
    ]
