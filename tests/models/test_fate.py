"""One event, one fate: the same event gets the same status and the same consequence in every adapter."""

from __future__ import annotations

from typing import Any

import pytest

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.cascade import Cascade
from vaeval_tasks.models.adapters.chat_audio import ChatAudio
from vaeval_tasks.models.adapters.gemini_live import GeminiLive
from vaeval_tasks.models.adapters.nova_sonic import NovaSonic
from vaeval_tasks.models.adapters.openai_realtime import OpenAIRealtime
from vaeval_tasks.models.adapters.xai_realtime import XaiRealtime
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import FATES, Consequence
from vaeval_tasks.services.http.meaning import HttpMeaning, of_close, of_error
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

ADAPTERS: dict[str, tuple[Any, str]] = {
    "openai_realtime": (OpenAIRealtime, "gpt-realtime-2.1/xhigh/marin"),
    "xai_realtime": (XaiRealtime, "grok-voice-think-fast-2.0/high/ara"),
    "gemini_live": (GeminiLive, "gemini-3.1-flash-live/high/zephyr"),
    "nova_sonic": (NovaSonic, "nova-2-sonic/default/tiffany"),
    "cascade": (Cascade, "cascade/default/rachel"),
    "chat_audio": (ChatAudio, ""),
}
_REALTIME = ("openai_realtime", "xai_realtime")

EVENTS: dict[str, tuple[HttpMeaning, dict[str, tuple[str, ...]]]] = {
    "filtered or refused": (
        HttpMeaning.filtered,
        {
            **dict.fromkeys(_REALTIME, ("filtered",)),
            "gemini_live": ("rejected",),
            "nova_sonic": ("filtered",),
            "cascade": ("llm_refusal", "llm_filtered"),
            "chat_audio": ("filtered", "refusal", "sse_filtered"),
        },
    ),
    "cut at the limit": (
        HttpMeaning.cut,
        {
            **dict.fromkeys(_REALTIME, ("incomplete",)),
            "nova_sonic": ("cut",),
            "cascade": ("llm_incomplete",),
            "chat_audio": ("length",),
        },
    ),
    "quota used up": (
        HttpMeaning.quota,
        {
            **dict.fromkeys(_REALTIME, ("failed_quota", "http_quota")),
            "gemini_live": ("quota_1011",),
            "nova_sonic": ("quota", "http_quota"),
            "cascade": ("llm_quota", "tts_quota", "tts_quota_200", "tts_quota_as_sound"),
            "chat_audio": ("quota", "quota_200"),
        },
    ),
    "rate limit": (
        HttpMeaning.busy,
        {
            **dict.fromkeys(_REALTIME, ("rate_limit", "http_429")),
            "gemini_live": ("http_429",),
            "nova_sonic": ("throttling", "http_429"),
            "cascade": ("stt_busy", "llm_429", "tts_busy"),
            "chat_audio": ("http_429",),
        },
    ),
    "overloaded or broken": (
        HttpMeaning.broken,
        {
            **dict.fromkeys(_REALTIME, ("http_503", "close_1011", "close_1001", "close_1006", "failed")),
            "gemini_live": ("close_1011", "close_1001", "close_1006", "setup_1008"),
            "nova_sonic": ("unavailable", "stream_error", "abort", "http_503", "ends_early"),
            "cascade": ("stt_500", "stt_503", "llm_failed"),
            "chat_audio": ("http_500", "http_503", "error_200", "break"),
        },
    ),
    "bad request": (
        HttpMeaning.bad_request,
        {
            **dict.fromkeys(_REALTIME, ("bad_request",)),
            "gemini_live": ("close_1007",),
            "nova_sonic": ("bad_request",),
            "cascade": ("tts_too_long",),
            "chat_audio": ("http_400",),
        },
    ),
    "key refused": (
        HttpMeaning.refused,
        {**dict.fromkeys(ADAPTERS, ("happy",)), "nova_sonic": ("happy", "http_expired_token")},
    ),
    "session expired": (HttpMeaning.expired, {**dict.fromkeys(_REALTIME, ("expired",)), "gemini_live": ("expired",)}),
    "interrupted": (
        HttpMeaning.interrupted,
        {
            **dict.fromkeys(_REALTIME, ("cancelled",)),
            "gemini_live": ("interrupted_at_once", "interrupted"),
            "nova_sonic": ("interrupted",),
            "cascade": ("llm_cancelled",),
        },
    ),
    "too slow": (
        HttpMeaning.slow,
        {"nova_sonic": ("timed_out",), "cascade": ("slow_llm",), "chat_audio": ("no_answer",)},
    ),
    "not readable": (
        HttpMeaning.unreadable,
        {
            **dict.fromkeys(_REALTIME, ("not_json", "item_string")),
            "gemini_live": ("content_list",),
            "nova_sonic": ("broken_frame",),
            "cascade": ("stt_no_text", "stt_null"),
            "chat_audio": ("not_json", "choice_null"),
        },
    ),
    "an error that the session survives": (
        HttpMeaning.ok,
        {
            **dict.fromkeys(_REALTIME, ("error_before_audio", "error_after_audio")),
            "gemini_live": ("go_away", "tool_call", "plain_thoughts"),
            "nova_sonic": ("barge_in_word",),
        },
    ),
}
"""Each event, what it means, and how the services say it."""
KEYS = {
    "openai_realtime": "OPENAI_API_KEY",
    "xai_realtime": "XAI_API_KEY",
    "gemini_live": "GEMINI_API_KEY",
    "nova_sonic": "AWS_SECRET_ACCESS_KEY",
    "cascade": "ELEVENLABS_API_KEY",
    "chat_audio": "VAEVAL_CHAT_API_KEY",
}
CASES = [
    pytest.param(event, provider, behaviour, id=f"{event}-{provider}-{behaviour}".replace(" ", "_"))
    for event, (_, found) in EVENTS.items()
    for provider, behaviours in found.items()
    for behaviour in behaviours
]


@pytest.mark.parametrize(("event", "provider", "behaviour"), CASES)
def test_the_same_event_has_the_same_fate(event, provider, behaviour, serve, ask, config, short_prompt, monkeypatch):
    meaning = EVENTS[event][0]
    adapter, name = ADAPTERS[provider]
    fake = serve(provider, tls=provider == "nova_sonic")
    fake.behave(behaviour)
    fake.needs_key = True
    monkeypatch.setenv("VAEVAL_CHAT_API_KEY", "sk-loopback-0123456789abcdef")
    if event == "key refused":
        monkeypatch.setenv(KEYS[provider], "sk-wrong-key-value")
    patience = 0.4 if event == "too slow" and provider != "nova_sonic" else 60.0
    limits = {"first_audio": patience, "idle": patience, "turn": 600.0}
    if name:
        asked = config(name, timeouts=limits)
    else:
        params = {"model": "gpt-audio", "stream": behaviour.startswith("sse_")}
        asked = ModelConfig(model="m", provider="chat_audio", params=params, connection={"timeouts": limits})
    clock = Clock(25.0) if provider == "nova_sonic" else None
    fate = FATES.get(meaning)
    if fate is not None and fate.consequence is Consequence.stop:
        with pytest.raises(ServiceError, match=fate.stops_because) as caught:
            ask(adapter(), asked, short_prompt, clock=clock)
        assert not caught.value.retry
        assert "sk-wrong-key-value" not in str(caught.value)
        return
    reply = ask(adapter(), asked, short_prompt, clock=clock)
    assert reply.status is (fate.status if fate else ResponseStatus.ok), reply.error
    begun = reply.provisional is not None
    assert (reply.retry is not None) == (fate is not None and fate.consequence is Consequence.again and not begun)
    if reply.status is ResponseStatus.ok:
        assert reply.audio is not None
        assert ("cut at the length limit" in reply.error) == (meaning is HttpMeaning.cut)
    else:
        assert reply.audio is None
        assert reply.error
        assert "\n" not in reply.error


def test_every_meaning_has_a_fate():
    assert FATES.keys() == set(HttpMeaning) - {HttpMeaning.ok}
    for fate in FATES.values():
        assert bool(fate.stops_because) == (fate.consequence is Consequence.stop)


def test_the_events_cover_the_adapters():
    """Of the events that a protocol can have none is left out of the table above."""
    whole = {"filtered or refused", "quota used up", "rate limit", "overloaded or broken", "bad request", "key refused"}
    for event in whole | {"not readable"}:
        assert EVENTS[event][1].keys() == ADAPTERS.keys(), event


@pytest.mark.parametrize(
    ("code", "reason", "meaning"),
    [
        (1000, "", HttpMeaning.broken),
        (1001, "going away", HttpMeaning.broken),
        (1006, "no close frame", HttpMeaning.broken),
        (1007, "Request contains an invalid argument.", HttpMeaning.bad_request),
        (1007, "API key not valid. Please pass a valid API key.", HttpMeaning.refused),
        (1008, "Operation is not implemented, or supported, or enabled.", HttpMeaning.broken),
        (1008, "models/x is not found for API version v1beta", HttpMeaning.absent),
        (1009, "message too big", HttpMeaning.bad_request),
        (1011, "Internal error encountered.", HttpMeaning.broken),
        (1011, "You exceeded your current quota, please check your plan and billing details.", HttpMeaning.quota),
        (1011, "You exceeded your current quota. Please retry in 41.2s.", HttpMeaning.busy),
        (1011, "RESOURCE_EXHAUSTED", HttpMeaning.busy),
        (1013, "try again later", HttpMeaning.busy),
        (3000, "unauthorized", HttpMeaning.refused),
        (3003, "forbidden", HttpMeaning.refused),
        (4401, "", HttpMeaning.refused),
        (4429, "", HttpMeaning.busy),
        (4402, "", HttpMeaning.quota),
        (4000, "session_expired", HttpMeaning.expired),
        (4000, "insufficient_quota", HttpMeaning.quota),
    ],
)
def test_what_a_close_code_means(code, reason, meaning):
    found = of_close(code, reason, now=0)
    assert found.meaning is meaning
    assert str(code) in found.reason


@pytest.mark.parametrize(
    ("kind", "message", "meaning"),
    [
        ("throttlingException", "Too many requests, please wait before trying again.", HttpMeaning.busy),
        ("throttlingException", "Too many tokens per day, please wait before trying again.", HttpMeaning.quota),
        ("ServiceQuotaExceededException", "quota", HttpMeaning.quota),
        ("validationException", "Invalid input request", HttpMeaning.bad_request),
        ("validationException", "Invalid voiceId nobody", HttpMeaning.absent),
        ("modelTimeoutException", "Model has timed out in processing the request.", HttpMeaning.slow),
        ("modelStreamErrorException", "broke", HttpMeaning.broken),
        ("internalServerException", "broke", HttpMeaning.broken),
        ("serviceUnavailableException", "try again", HttpMeaning.broken),
        ("AccessDeniedException", "You don't have access to the model", HttpMeaning.refused),
        ("ExpiredTokenException", "expired", HttpMeaning.refused),
        ("modelNotReadyException", "try again", HttpMeaning.busy),
    ],
)
def test_what_an_exception_of_bedrock_means(kind, message, meaning):
    assert of_error({"code": kind, "message": message}, now=0, where=kind).meaning is meaning
