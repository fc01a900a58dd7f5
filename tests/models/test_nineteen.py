"""Each of the 19 configurations answers through its fake, and asks what the paper says it asked."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
import soundfile
from fakes.published import Section, sections

from vaeval_tasks.audio import read_audio
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.configs import published
from vaeval_tasks.models.providers import create_model
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

PUBLISHED = sections()
NAMES = {
    "OpenAIGPT-Realtime-2.0-xhigh": "gpt-realtime-2.0/xhigh",
    "OpenAIGPT-Realtime-2.1-xhigh": "gpt-realtime-2.1/xhigh",
    "OpenAIGPT-Realtime-2.1-minimal": "gpt-realtime-2.1/minimal",
    "xAIGrok Voice Think Fast 2.0 - High": "grok-voice-think-fast-2.0/high",
    "xAIGrok Voice Think Fast 2.0 - None": "grok-voice-think-fast-2.0/none",
    "GoogleGemini 3.1 Flash Live Preview - thinking-high": "gemini-3.1-flash-live/high",
    "GoogleGemini 3.1 Flash Live Preview - thinking-minimal": "gemini-3.1-flash-live/minimal",
    "AmazonNova 2 Sonic": "nova-2-sonic/default",
    "Alibaba (self-hosted, Modal)Qwen3-Omni-30B-A3B-Instruct": "qwen3-omni-30b-a3b-instruct/default",
}


def name_of(section: Section) -> str:
    if section.title.endswith("Cascade"):
        return "cascade/default/rachel"
    family, _, voice = section.title.rpartition(" (")
    return f"{NAMES[family]}/{voice.rstrip(')').lower()}"


def by_path(mapping: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested keys as dotted ones, so that ``a: {b: 1}`` and ``a.b: 1`` are the same."""
    flat: dict[str, Any] = {}
    for key, value in mapping.items():
        inner = by_path(value, f"{prefix}{key}.") if isinstance(value, dict) and value else {f"{prefix}{key}": value}
        flat.update(inner)
    return flat


def openai(config: ModelConfig, log: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    (session,) = log["updates"]
    return {"model": log["model"], **session}


def xai(config: ModelConfig, log: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    (session,) = log["updates"]
    return {"model": log["model"], "session": session}


def gemini(config: ModelConfig, log: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    setup = dict(log["setup"])
    system = setup.pop("systemInstruction")
    assert system == {"parts": [{"text": system["parts"][0]["text"]}]}
    generation = setup.pop("generationConfig")
    mime = request["realtimeInput"]["audio"]["mimeType"]  # the fake refuses any other than it says itself
    return {
        **setup,
        **generation,
        "model": setup["model"].removeprefix("models/"),
        "systemInstruction": system["parts"][0]["text"],
        "realtimeInput": {"audio": {"data": "<b64>", "mimeType": mime}},
    }


def nova(config: ModelConfig, log: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    assert log["path"] == "/model/amazon.nova-2-sonic-v1%3A0/invoke-with-bidirectional-stream"
    events = [(name, body) for event in log["events"] for name, body in event.items()]
    (start,) = [body for name, body in events if name == "sessionStart"]
    (prompt,) = [body for name, body in events if name == "promptStart"]
    (words,) = [body["content"] for name, body in events if name == "textInput"]
    (audio,) = [body for name, body in events if name == "contentStart" and body["type"] == "AUDIO"]
    assert (audio["role"], audio["interactive"]) == ("USER", True)
    return {
        "model": request["model"],
        "sessionStart": start,
        "promptStart": {key: value for key, value in prompt.items() if key != "promptName"},
        "textInput": {"content": words},
        "contentStart": {"audioInputConfiguration": audio["audioInputConfiguration"]},
    }


def qwen(config: ModelConfig, log: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    body = log["body"]
    system, user = body["messages"]
    (text,), (part,) = system["content"], user["content"]
    assert text["text"] == config.system_prompt
    info = soundfile.info(io.BytesIO(base64.b64decode(part["audio_b64"])))
    assert (info.format, info.subtype, info.samplerate) == ("WAV", "PCM_16", 16000)
    shown = [
        {**system, "content": [{**text, "text": "<official prompt>"}]},
        {**user, "content": [{**part, "audio_b64": "<WAV b64>"}]},
    ]
    return {**body, "endpoint": config.connection["endpoint"], "messages": shown}


def cascade(config: ModelConfig, log: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    assert log["stt"] == {"model_id": "scribe_v2", "tag_audio_events": "false"}  # no language_code: auto
    assert (log["filename"], log["mime"]) == ("prompt.wav", "audio/wav")
    assert log["llm"] == {
        "model": "gpt-5.6-terra",
        "instructions": config.system_prompt,
        "input": [{"role": "user", "content": "What is two plus two?"}],
        "reasoning": {"effort": "low"},
    }
    assert log["tts"] == {
        "text": "It is four.",
        "model_id": "eleven_flash_v2_5",
        "voice": "21m00Tcm4TlvDq8ikWAM",
        "output_format": "pcm_24000",
    }
    (message,) = request["messages"]
    (part,) = message["content"]
    shown = {**message, "content": [{**part, "audio_b64": "<WAV b64>"}]}
    return {**request, "messages": [shown], "endpoint": config.connection["endpoint"]}


WIRE = {
    "openai_realtime": openai,
    "xai_realtime": xai,
    "gemini_live": gemini,
    "nova_sonic": nova,
    "chat_audio": qwen,
    "cascade": cascade,
}


def expected_audio(fake: Any, config: ModelConfig, log: dict[str, Any]) -> bytes:
    """Return what the fake says to this prompt, voice and effort."""
    if config.provider in ("openai_realtime", "xai_realtime"):
        settings = fake.defaults(log["model"])
        fake.update(settings, log["updates"][0])
        return fake.answer(log["audio"], log["model"], settings)
    if config.provider == "gemini_live":
        return fake.answer(log["audio"], config.voice, config.params["thinkingConfig"]["thinkingLevel"])
    if config.provider == "nova_sonic":
        return fake.answer(log["turns"][0], config.voice.lower())
    if config.provider == "chat_audio":
        return fake.answer(log["body"], config.voice.lower())
    return fake.answer("It is four.", "21m00Tcm4TlvDq8ikWAM")


def heard(config: ModelConfig, log: dict[str, Any]) -> tuple[np.ndarray, int]:
    """Return the prompt as the service got it."""
    if config.provider == "chat_audio":
        data = base64.b64decode(log["body"]["messages"][1]["content"][0]["audio_b64"])
        return soundfile.read(io.BytesIO(data), dtype="int16")
    if config.provider == "cascade":
        return soundfile.read(io.BytesIO(log["wav"]), dtype="int16")
    rate = 24000 if "realtime" in config.provider else 16000
    sound = log["turns"][0] if config.provider == "nova_sonic" else log["audio"]
    return np.frombuffer(sound, "<i2"), rate


def test_there_are_nineteen():
    assert len(PUBLISHED) == 19
    assert {name_of(s) for s in PUBLISHED} == set(published())


@pytest.mark.parametrize("section", PUBLISHED, ids=name_of)
def test_a_prompt_of_six_seconds_is_answered(section, serve, ask, prompt):
    config = published()[name_of(section)]
    fake = serve(config.provider)
    reply = ask(create_model(config), config, prompt, clock=Clock(25.0))
    log = fake.sessions[-1]

    assert reply.status is ResponseStatus.ok, reply.error
    assert reply.audio is not None
    assert reply.audio.rate == 24000
    assert reply.audio.pcm16() == expected_audio(fake, config, log)
    assert reply.provisional is None
    assert "four" in reply.text
    assert reply.first_audio_s is not None
    assert 0 <= reply.first_audio_s <= reply.total_s

    assert by_path(WIRE[config.provider](config, log, reply.request)) == by_path(section.parameters)
    assert config.system_prompt == section.system_prompt
    samples, rate = heard(config, log)
    assert samples.tobytes() == read_audio(prompt).at(rate).pcm16()
    assert len(samples) == pytest.approx(6 * rate, abs=2)


@pytest.mark.parametrize("section", PUBLISHED, ids=name_of)
def test_labels_agree_with_the_parameters(section):
    config = published()[name_of(section)]
    flat = {str(v).lower() for v in by_path(config.params).values()}
    assert f"Voice: {config.voice}" in section.simplified
    if config.provider != "cascade":
        assert config.voice.lower() in flat
    if config.thinking != "default":
        assert config.thinking in flat
    table_3 = {"F": "Zephyr Marin Ara Tiffany Rachel Chelsie", "M": "Iapetus Cedar Rex Matthew Ethan"}
    assert config.voice in table_3[config.voice_gender].split()
