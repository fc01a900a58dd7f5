"""Addresses and headers: Azure, Vertex AI, gateways, and engines behind chat completions, as they take them."""

from __future__ import annotations

from typing import Any

import pytest

from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.models.adapters.chat_audio import ChatAudio
from vaeval_tasks.models.adapters.gemini_live import GeminiLive
from vaeval_tasks.models.adapters.openai_realtime import OpenAIRealtime
from vaeval_tasks.models.configs import published
from vaeval_tasks.models.providers import check_access
from vaeval_tasks.models.transport.endpoint import endpoint, request_headers
from vaeval_tasks.store.schema import ModelConfig
from vaeval_tasks.testing.server import KEY

MARIN = "gpt-realtime-2.1/minimal/marin"


def chat(**connection: Any) -> ModelConfig:
    return ModelConfig(model="m", provider="chat_audio", params={"model": "gpt-audio"}, connection=connection)


@pytest.mark.parametrize(
    ("base", "socket", "query", "expected"),
    [
        ("https://r.openai.azure.com/openai/v1", True, {}, "wss://r.openai.azure.com/openai/v1/go?model=a%20b%2Fc"),
        ("wss://host/v1/", True, {}, "wss://host/v1/go?model=a%20b%2Fc"),
        ("ws://host", True, {}, "ws://host/go?model=a%20b%2Fc"),
        ("wss://host", False, {}, "https://host/go?model=a%20b%2Fc"),
        ("http://h:8000/v1?api-version=1&x=", False, {}, "http://h:8000/v1/go?api-version=1&x=&model=a%20b%2Fc"),
        ("https://h/v1?a=1", True, {"a": "2", "b": "ü"}, "wss://h/v1/go?a=2&b=%C3%BC&model=a%20b%2Fc"),
        ("https://h/v1?", True, {}, "wss://h/v1/go?model=a%20b%2Fc"),
    ],
)
def test_an_address_keeps_its_query_and_what_goes_into_it_is_quoted(
    base: str, socket: bool, query: dict[str, str], expected: str
) -> None:
    config = chat(base_url=base, query=query)
    assert endpoint(config, "/go", socket=socket, query={"model": "a b/c"}) == expected


def test_headers_come_beside_the_key_or_instead_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "own")
    monkeypatch.setenv("TEAM_TOKEN", "t0ken")
    ask = ("Authorization", "OPENAI_API_KEY", "Bearer {}")
    assert request_headers(chat(headers={"X-Team": "speech"}), *ask) == {
        "Authorization": "Bearer own",
        "X-Team": "speech",
    }
    for name in ("api-key", "Authorization", "x-goog-api-key"):
        assert request_headers(chat(headers={name: "Bearer $TEAM_TOKEN"}), *ask) == {name: "Bearer t0ken"}
    assert request_headers(chat(headers={"X": "5 $$"}), *ask)["X"] == "5 $"


@pytest.mark.parametrize(
    ("value", "why"), [("$NOT_SET_HERE", "NOT_SET_HERE is not set"), ("a $ b", r"write \$NAME of a variable")]
)
def test_a_header_that_cannot_be_filled_stops_before_anything_is_asked(value: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        check_access(chat(base_url="http://h", headers={"x": value}))


def test_azure(serve: Any, ask: Any, config: Any, short_prompt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = serve("openai_realtime")
    base = fake.url.removesuffix("/v1") + "/openai/v1"
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY")
    azure = config(MARIN, connection={"base_url": base, "headers": {"api-key": "$AZURE_OPENAI_API_KEY"}})
    check_access(azure)
    reply = ask(OpenAIRealtime(), azure, short_prompt)
    assert reply.status == "ok", reply.error
    assert KEY not in str(reply.events) + str(reply.request)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "another")
    with pytest.raises(ServiceError) as refused:
        ask(OpenAIRealtime(), azure, short_prompt)
    assert "another" not in str(refused.value)


def test_vertex(serve: Any, ask: Any, config: Any, short_prompt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = serve("gemini_live")
    monkeypatch.setenv("GOOGLE_ACCESS_TOKEN", KEY)
    monkeypatch.delenv("GEMINI_API_KEY")
    name = next(name for name in published() if name.startswith("gemini"))
    model = f"projects/p/locations/l/publishers/google/models/{published()[name].params['model']}"
    about = {"base_url": fake.url, "headers": {"Authorization": "Bearer $GOOGLE_ACCESS_TOKEN"}}
    vertex = config(name, connection=about, params={**published()[name].params, "model": model})
    check_access(vertex)
    reply = ask(GeminiLive(), vertex, short_prompt)
    assert reply.status == "ok", reply.error
    assert "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent" in reply.request["url"]
    assert reply.request["setup"]["model"] == model


def test_dashscope(serve: Any, ask: Any, short_prompt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = serve("chat_audio")
    fake.engine = "dashscope"
    fake.behave("sse_dashscope")
    params = {
        "model": "qwen3-omni-flash",
        "modalities": ["text", "audio"],
        "audio": {"voice": "cherry", "format": "wav"},
    }
    asked = ModelConfig(model="q", provider="chat_audio", params=params, connection={"engine": "dashscope"})
    reply = ask(ChatAudio(), asked, short_prompt)
    assert reply.status == "ok", reply.error
    (clip,) = [p for m in fake.sessions[0]["body"]["messages"] for p in m["content"] if p["type"] == "input_audio"]
    assert clip["input_audio"]["data"].startswith("data:;base64,UklGR")
    assert "UklGR" not in str(reply.request), "what is kept holds no sound"
    plain = ModelConfig(model="q", provider="chat_audio", params=params)
    reply = ask(ChatAudio(), plain, short_prompt)
    assert reply.status == "error"
    assert "stream mode" in reply.error


@pytest.mark.parametrize("engine", ["sglang_omni", "dashscope", "openai"])
@pytest.mark.parametrize("key", ["speaker", "voice"])
def test_a_voice_that_the_engine_would_pass_over_stops_the_configuration(
    engine: str, key: str, serve: Any, ask: Any, short_prompt: Any
) -> None:
    fake = serve("chat_audio")
    asked = ModelConfig(
        model="q", provider="chat_audio", params={"model": "gpt-audio", key: "ethan"}, connection={"engine": engine}
    )
    with pytest.raises(ServiceError, match=f"{engine} passes over '{key}'.*write audio: "):
        ask(ChatAudio(), asked, short_prompt)
    assert not fake.sessions


def test_two_voices_of_sglang_omni_are_two(serve: Any, ask: Any, short_prompt: Any) -> None:
    fake = serve("chat_audio")
    fake.engine = "sglang_omni"
    sounds = set()
    for voice in ("ethan", "chelsie"):
        params = {"model": "gpt-audio", "audio": {"voice": voice, "format": "wav"}}
        asked = ModelConfig(model="q", provider="chat_audio", params=params, connection={"engine": "sglang_omni"})
        reply = ask(ChatAudio(), asked, short_prompt)
        sounds.add(reply.audio.sha256)
    assert len(sounds) == 2


@pytest.mark.parametrize(
    ("connection", "params", "why"),
    [
        ({"engine": "vlm_omni"}, {}, "unknown engine 'vlm_omni'. Did you mean 'vllm_omni'"),
        ({"audio_part": "audio"}, {}, "unknown audio_part 'audio'"),
        ({"engine": "dashscope"}, {"stream": False}, "dashscope answers streams only"),
    ],
)
def test_an_engine_that_cannot_be_stops_the_configuration(
    connection: dict[str, str], params: dict[str, Any], why: str, serve: Any, ask: Any, short_prompt: Any
) -> None:
    fake = serve("chat_audio")
    asked = ModelConfig(
        model="q", provider="chat_audio", params={"model": "gpt-audio", **params}, connection=connection
    )
    with pytest.raises(ServiceError, match=why):
        ask(ChatAudio(), asked, short_prompt)
    assert not fake.sessions
