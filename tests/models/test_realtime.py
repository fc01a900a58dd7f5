"""OpenAI and xAI realtime: every way a session can go."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vaeval_tasks.asking.kept import exchange_line
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.models.adapters.openai_realtime import OpenAIRealtime
from vaeval_tasks.models.adapters.realtime import differences
from vaeval_tasks.models.adapters.xai_realtime import XaiRealtime
from vaeval_tasks.models.protocol import Retry, Turn
from vaeval_tasks.models.transport.record import audio_stub
from vaeval_tasks.store.schema import Response, ResponseStatus
from vaeval_tasks.testing.server import KEY, answer_pcm

CASES = [("openai_realtime", OpenAIRealtime, "gpt-realtime-2.1/xhigh/marin")]
BOTH = [*CASES, ("xai_realtime", XaiRealtime, "grok-voice-think-fast-2.0/high/ara")]
SHORT = {"first_audio": 0.4, "idle": 0.4, "turn": 5}


def expected(fake: Any) -> bytes:
    log = fake.sessions[-1]
    settings = fake.defaults(log["model"])
    fake.update(settings, log["updates"][0])
    return fake.answer(log["audio"], log["model"], settings, len(log.get("items", ())))


@pytest.mark.parametrize("behaviour", ["happy", "two_items", "late_transcript", "odd_chunks", "slow", "commentary"])
@pytest.mark.parametrize(("provider", "adapter", "name"), BOTH)
def test_the_final_audio_comes_back_to_the_sample(provider, adapter, name, behaviour, serve, ask, config, short_prompt):
    fake = serve(provider)
    fake.behave(behaviour)
    reply = ask(adapter(), config(name), short_prompt)
    assert (reply.status, reply.error, reply.retry) == (ResponseStatus.ok, "", None)
    assert reply.audio.pcm16() == expected(fake)
    assert reply.output_transcript == reply.text == "It is four."
    assert reply.usage["total_tokens"] == 30
    assert (reply.provisional is not None) == (behaviour == "commentary")


def test_commentary_is_kept_apart(serve, ask, config, short_prompt):
    serve("openai_realtime").behave("commentary")
    reply = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), short_prompt)
    assert reply.provisional.pcm16() == answer_pcm("preamble")


@pytest.mark.parametrize(
    ("behaviour", "status", "why", "retry"),
    [
        ("only_commentary", ResponseStatus.empty, "only provisional", None),
        ("no_audio", ResponseStatus.empty, "no audio", None),
        ("silent", ResponseStatus.degenerate, "silent", None),
        ("wordless", ResponseStatus.degenerate, "transcript", None),
        ("failed", ResponseStatus.error, "server_error", Retry()),
        ("rate_limit", ResponseStatus.error, "rate_limit_exceeded", Retry()),
        ("failed_late", ResponseStatus.error, "server_error", None),
        ("incomplete", ResponseStatus.ok, "cut at the length limit", None),
        ("filtered", ResponseStatus.refused, "content_filter", None),
        ("cancelled", ResponseStatus.error, "cancelled", Retry()),
        ("expired", ResponseStatus.error, "session_expired", Retry()),
        ("close_1001", ResponseStatus.error, "1001", Retry()),
        ("close_1006", ResponseStatus.error, "1006", Retry()),
        ("close_1011", ResponseStatus.error, "1011", Retry()),
        ("close_1011_late", ResponseStatus.error, "1011", None),
        ("http_429", ResponseStatus.error, "429", Retry(after_s=0.01)),
        ("http_503", ResponseStatus.error, "503", Retry(after_s=0.01)),
        ("not_json", ResponseStatus.error, "not JSON", Retry()),
        ("no_end", ResponseStatus.timeout, "no further event", None),
        ("no_answer", ResponseStatus.timeout, "no audio", None),
    ],
)
def test_each_failure_has_its_status(behaviour, status, why, retry, serve, ask, config, short_prompt):
    serve("openai_realtime").behave(behaviour)
    reply = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin", timeouts=SHORT), short_prompt)
    assert (reply.status, reply.retry) == (status, retry)
    assert why in reply.error
    late = behaviour in ("failed_late", "close_1011_late", "no_end", "only_commentary")
    assert (reply.provisional is not None) == late, "sound of a failed turn is provisional"
    if status in (ResponseStatus.error, ResponseStatus.timeout, ResponseStatus.refused):
        assert reply.audio is None
        assert reply.first_audio_s is None


def test_only_xai_may_ask_again_after_silence(serve, ask, config, short_prompt):
    serve("xai_realtime").behave("no_answer")
    reply = ask(XaiRealtime(), config("grok-voice-think-fast-2.0/high/ara", timeouts=SHORT), short_prompt)
    assert (reply.status, reply.retry) == (ResponseStatus.timeout, Retry(at_most=1))


def test_a_turn_has_a_hard_limit(serve, ask, config, prompt):
    serve("openai_realtime").behave("slow")
    limit = {"turn": 0.1}
    reply = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin", timeouts=limit), prompt)
    assert reply.status is ResponseStatus.timeout
    assert "0.1 s" in reply.error


@pytest.mark.parametrize("behaviour", ["keeps_vad", "changes_voice"])
@pytest.mark.parametrize(("provider", "adapter", "name"), BOTH)
def test_changed_settings_are_noticed_before_anything_is_asked(
    provider, adapter, name, behaviour, serve, ask, config, short_prompt
):
    fake = serve(provider)
    fake.behave(behaviour)
    with pytest.raises(ServiceError, match=r"changed the settings .*asked for"):
        ask(adapter(), config(name), short_prompt)
    assert fake.sessions[-1]["events"] == ["session.update"]


@pytest.mark.parametrize(("provider", "adapter", "name"), BOTH)
def test_a_refused_voice_is_one_clear_line(provider, adapter, name, serve, ask, config, short_prompt):
    serve(provider)
    wrong = config(name)
    inner = wrong.params.get("session", wrong.params)
    params = {**inner, "voice": "nobody"} if "session" in wrong.params else inner
    if "session" in wrong.params:
        params = {**wrong.params, "session": params}
    else:
        output = {**inner["audio"]["output"], "voice": "nobody"}
        params = {**inner, "audio": {**inner["audio"], "output": output}}
    with pytest.raises(ServiceError, match=r"refused the settings .*nobody"):
        ask(adapter(), config(name, params=params), short_prompt)


def test_an_unknown_model_is_refused(serve, ask, config, short_prompt):
    serve("openai_realtime")
    wrong = config("gpt-realtime-2.1/xhigh/marin")
    with pytest.raises(ServiceError, match="model_not_found"):
        ask(OpenAIRealtime(), config(wrong.config_id, params={**wrong.params, "model": "gpt-9"}), short_prompt)


def test_a_wrong_key_is_named_but_not_shown(serve, ask, config, short_prompt, monkeypatch):
    serve("openai_realtime")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key-value")
    with pytest.raises(ServiceError, match="key was refused") as caught:
        ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), short_prompt)
    assert "sk-wrong-key-value" not in str(caught.value)
    assert not caught.value.retry


def test_a_missing_key_is_named(ask, config, short_prompt, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="OPENAI_API_KEY is not set"):
        ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), short_prompt)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://no-such-host.invalid"])
def test_an_unreachable_host_may_be_tried_again(url, ask, config, short_prompt):
    there = config("gpt-realtime-2.1/xhigh/marin", connection={"base_url": url})
    with pytest.raises(ServiceError, match="cannot be reached") as caught:
        ask(OpenAIRealtime(), there, short_prompt)
    assert caught.value.retry


def test_a_host_that_is_no_realtime_service(ask, config, short_prompt, serve):
    fake = serve("chat_audio")
    there = config("gpt-realtime-2.1/xhigh/marin", connection={"base_url": fake.url})
    with pytest.raises(ServiceError, match="HTTP 404"):
        ask(OpenAIRealtime(), there, short_prompt)


def test_the_record_has_every_event_and_no_audio_and_no_key(serve, ask, config, short_prompt):
    fake = serve("openai_realtime")
    reply = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), short_prompt)
    sent = [e["message"] for e in reply.events if e["direction"] == "sent"]
    assert [m["type"] for m in sent] == fake.sessions[0]["events"]
    audio = [m["audio"] for m in sent if m["type"] == "input_audio_buffer.append"]
    assert sum(a["bytes"] for a in audio) == 24000  # 0.5 s of 16-bit samples at 24 kHz
    deltas = [e["message"] for e in reply.events if e["message"]["type"] == "response.output_audio.delta"]
    assert b"".join(m["delta"] for m in deltas) == reply.audio.pcm16()
    response = Response(response_id="r", prompt_id="p", config_id="c", status=reply.status)
    written = [e["message"] for e in json.loads(exchange_line(response, reply))["events"]]
    stubs = [m["delta"] for m in written if m["type"] == "response.output_audio.delta"]
    assert stubs == [audio_stub(m["delta"]) for m in deltas]
    assert [e["ns"] for e in reply.events] == sorted(e["ns"] for e in reply.events)
    assert KEY not in repr(reply.events) + repr(reply.request)


def test_a_dialogue_carries_the_models_own_answers(serve, ask, config, short_prompt, prompt):
    fake = serve("openai_realtime")
    turns = (
        Turn(role="user", audio=(short_prompt,)),
        Turn(role="assistant", text="It is four."),
        Turn(role="user", audio=(prompt, short_prompt)),
    )
    reply = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), turns=turns)
    log = fake.sessions[-1]
    first, second = log["items"]
    assert first["content"][0]["type"] == "input_audio"
    assert second == {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "It is four."}],
    }
    assert len(log["audio"]) == 6.5 * 48000
    assert reply.audio.pcm16() == expected(fake)


def test_images_go_in_before_the_question(serve, ask, config, short_prompt, tmp_path):
    image = tmp_path / "see.png"
    image.write_bytes(b"\x89PNG\r\n\x1a\n")
    fake = serve("openai_realtime")
    turns = (Turn(role="user", audio=(short_prompt,), images=(image,)),)
    reply = ask(OpenAIRealtime(), config("gpt-realtime-2.1/xhigh/marin"), turns=turns)
    (item,) = fake.sessions[-1]["items"]
    assert item["content"][0]["image_url"].startswith("data:image/png;base64,")
    assert reply.request["items"][0]["content"][0]["image_url"].keys() == {"bytes", "sha256"}


def test_a_task_may_bring_its_own_prompt(serve, ask, config, short_prompt):
    fake = serve("openai_realtime")
    name = "gpt-realtime-2.1/xhigh/marin"
    ask(OpenAIRealtime(), config(name), short_prompt, system_prompt="You are a pirate. <audio>")
    assert fake.sessions[-1]["updates"][0]["instructions"] == "You are a pirate."


def test_the_fake_answers_by_itself_when_turn_detection_is_left_on(serve, ask, config, prompt):
    """A client that forgets the switch gets an answer it did not ask for, and an error for its commit."""

    class Forgetful(OpenAIRealtime):
        def session(self, config, conversation):
            asked = super().session(config, conversation)
            asked["audio"] = {**asked["audio"], "input": {"format": asked["audio"]["input"]["format"]}}
            return asked

    fake = serve("openai_realtime")
    reply = ask(Forgetful(), config("gpt-realtime-2.1/xhigh/marin"), prompt)
    assert "response.create" not in fake.sessions[-1]["events"][:6]
    assert fake.sessions[-1]["audio"] if reply.status is ResponseStatus.error else reply.audio


@pytest.mark.parametrize(
    ("asked", "got", "found"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"voice": "ara"}, {"voice": "Ara"}, []),
        ({"turn_detection": {"type": None}}, {"turn_detection": None}, []),
        ({"turn_detection": None}, {"turn_detection": {"type": "server_vad"}}, ["session.turn_detection"]),
        ({"audio": {"rate": 24000}}, {"audio": {"rate": 16000}}, ["session.audio.rate"]),
        ({"effort": "high"}, {}, []),
    ],
)
def test_differences(asked, got, found):
    assert [line.split(":")[0] for line in differences(asked, got)] == found


def test_words_that_come_twice_are_one_transcript():
    """Once as deltas, once in the finished item, at another place among its parts."""
    from models.turns import realtime, replay_all

    turn = realtime()
    turn[6]["item"]["content"].insert(0, {"type": "text", "text": "Four."})
    turn[7]["response"]["output"] = [turn[6]["item"]]
    (reply,) = replay_all("realtime", [[json.dumps(event).encode() for event in turn]])
    assert (reply.status, reply.text) == (ResponseStatus.ok, "Four.")
