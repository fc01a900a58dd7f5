"""Gemini Live: every way a session can go."""

from __future__ import annotations

import pytest

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.gemini_events import rate_of
from vaeval_tasks.models.adapters.gemini_live import GeminiLive
from vaeval_tasks.models.protocol import Retry, Turn
from vaeval_tasks.store.schema import ResponseStatus
from vaeval_tasks.testing.server import answer_pcm

NAME = "gemini-3.1-flash-live/high/zephyr"
SHORT = {"first_audio": 0.4, "idle": 0.4, "turn": 5}


def expected(fake):
    log = fake.sessions[-1]
    return fake.answer(log["audio"], "Zephyr", "HIGH", len(log.get("turns", ())))


@pytest.mark.parametrize(
    "behaviour", ["happy", "no_status", "thoughts", "provisional", "many_fields", "late_transcript", "odd_chunks"]
)
def test_the_final_audio_comes_back_to_the_sample(behaviour, serve, ask, config, short_prompt):
    fake = serve("gemini_live")
    fake.behave(behaviour)
    reply = ask(GeminiLive(), config(NAME), short_prompt)
    assert (reply.status, reply.error) == (ResponseStatus.ok, "")
    assert reply.audio.pcm16() == expected(fake)
    assert reply.output_transcript == "It is four."
    assert bool(reply.thoughts) == (behaviour in ("thoughts", "many_fields"))
    if behaviour == "provisional":
        assert reply.provisional.pcm16() == answer_pcm("provisional")
    else:
        assert reply.provisional is None
    if behaviour != "late_transcript":
        assert reply.usage["totalTokenCount"] == 9


@pytest.mark.parametrize(
    ("behaviour", "status", "why", "retry"),
    [
        ("premature", ResponseStatus.empty, "no audio", None),
        ("interrupted", ResponseStatus.error, "interrupted", None),
        ("no_end", ResponseStatus.timeout, "no further event", None),
        ("no_answer", ResponseStatus.timeout, "no audio", None),
        ("close_1001", ResponseStatus.error, "1001", Retry()),
        ("close_1006", ResponseStatus.error, "1006", Retry()),
        ("close_1011", ResponseStatus.error, "currently unavailable", Retry()),
        ("close_1011_late", ResponseStatus.error, "1011", None),
        ("http_429", ResponseStatus.error, "429", Retry()),
    ],
)
def test_each_failure_has_its_status(behaviour, status, why, retry, serve, ask, config, short_prompt):
    serve("gemini_live").behave(behaviour)
    reply = ask(GeminiLive(), config(NAME, timeouts=SHORT), short_prompt)
    assert (reply.status, reply.retry) == (status, retry)
    assert why in reply.error
    assert reply.audio is None
    assert (reply.provisional is not None) == (behaviour in ("interrupted", "no_end", "close_1011_late"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "gemini-nine"}, "is not found"),
        ({"speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Nobody"}}}}, "voice Nobody"),
        ({"thinkingConfig": {"thinkingLevel": "XHIGH"}}, "thinkingLevel XHIGH"),
    ],
)
def test_a_refused_setup_is_one_clear_line(change, why, serve, ask, config, short_prompt):
    serve("gemini_live")
    params = {**config(NAME).params, **change}
    with pytest.raises(ServiceError, match=f"refused.*{why}"):
        ask(GeminiLive(), config(NAME, params=params), short_prompt)


def test_a_wrong_key_is_named_but_not_shown(serve, ask, config, short_prompt, monkeypatch):
    serve("gemini_live")
    monkeypatch.setenv("GEMINI_API_KEY", "wrong-key-value")
    with pytest.raises(ServiceError, match="key was refused") as caught:
        ask(GeminiLive(), config(NAME), short_prompt)
    assert "wrong-key-value" not in str(caught.value)


def test_a_client_that_leaves_detection_on_gets_no_answer(serve, ask, config, short_prompt):
    serve("gemini_live")
    params = {k: v for k, v in config(NAME).params.items() if k != "realtimeInputConfig"}
    reply = ask(GeminiLive(), config(NAME, params=params, timeouts=SHORT), short_prompt)
    assert reply.status is ResponseStatus.timeout


def test_the_version_is_a_setting(serve, ask, config, short_prompt):
    serve("gemini_live")
    reply = ask(GeminiLive(), config(NAME, connection={"api_version": "v1"}), short_prompt)
    assert ".v1.GenerativeService" in reply.request["url"]


def test_history_and_images(serve, ask, config, short_prompt, tmp_path):
    image = tmp_path / "see.jpg"
    image.write_bytes(b"\xff\xd8\xff")
    fake = serve("gemini_live")
    turns = (
        Turn(role="user", audio=(short_prompt,)),
        Turn(role="assistant", text="It is four."),
        Turn(role="user", audio=(short_prompt,), images=(image,)),
    )
    reply = ask(GeminiLive(), config(NAME), turns=turns)
    log = fake.sessions[-1]
    assert log["setup"]["historyConfig"] == {"initialHistoryInClientContent": True}
    assert [t["role"] for t in log["turns"]] == ["user", "model"]
    assert log["turns"][1]["parts"] == [{"text": "It is four."}]
    assert reply.audio.pcm16() == expected(fake)
    assert reply.request["turns"][0]["parts"][0]["inlineData"]["data"]["bytes"] == 16000


@pytest.mark.parametrize(
    ("mime", "rate"), [("audio/pcm;rate=16000", 16000), ("audio/pcm", 24000), ("audio/pcm; rate=8000", 8000)]
)
def test_rate_of(mime, rate):
    assert rate_of(mime, 24000) == rate
