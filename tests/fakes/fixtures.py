"""Fixtures of every test that speaks to a fake service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.configs import published
from vaeval_tasks.models.protocol import Conversation, Reply, Turn
from vaeval_tasks.store.schema import ModelConfig
from vaeval_tasks.testing.bedrock import ACCESS_KEY, BedrockFake
from vaeval_tasks.testing.chat import ChatFake
from vaeval_tasks.testing.eleven import CascadeFake
from vaeval_tasks.testing.gemini import GeminiFake
from vaeval_tasks.testing.realtime import RealtimeFake
from vaeval_tasks.testing.server import KEY, Authority, Fake
from vaeval_tasks.testing.xai import XaiFake

FAKES = {
    "openai_realtime": (RealtimeFake, "VAEVAL_OPENAI_URL"),
    "xai_realtime": (XaiFake, "VAEVAL_XAI_URL"),
    "gemini_live": (GeminiFake, "VAEVAL_GEMINI_URL"),
    "nova_sonic": (BedrockFake, "VAEVAL_BEDROCK_URL"),
    "cascade": (CascadeFake, "VAEVAL_ELEVENLABS_URL"),
    "chat_audio": (ChatFake, "VAEVAL_CHAT_URL"),
}
SPEED = 25.0
"""How much faster than life Nova's clock runs."""


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("ca"))


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, authority: Authority) -> None:
    """Keys and trust as a user sets them; no address of a real service is left."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.bundle))
    for name in ("OPENAI_API_KEY", "XAI_API_KEY", "GEMINI_API_KEY", "ELEVENLABS_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    for _, variable in FAKES.values():
        monkeypatch.setenv(variable, "http://127.0.0.1:9")


@pytest.fixture
def serve(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Start the fake of a provider, with TLS, and point the provider's variable at it."""
    running: list[Fake] = []

    def start(provider: str, *, tls: bool = True, **settings: Any) -> Any:
        kind, variable = FAKES[provider]
        if provider == "nova_sonic":
            settings.setdefault("speed", SPEED)
        fake = kind(authority if tls else None, **settings)
        fake.__enter__()
        running.append(fake)
        monkeypatch.setenv(variable, fake.url)
        if provider == "cascade":
            monkeypatch.setenv("VAEVAL_OPENAI_URL", fake.url + "/v1")
        return fake

    yield start
    for fake in running:
        fake.__exit__()


def speech(seconds: float = 6.0, rate: int = 16000, seed: int = 0) -> Clip:
    """Return a clip with energy all the way through, as speech to an endpointer."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    samples = 0.2 * np.sin(2 * np.pi * 180 * t) + rng.normal(0, 0.02, len(t))
    return Clip(samples.astype(np.float32), rate)


@pytest.fixture
def make_speech() -> Callable[..., Clip]:
    return speech


@pytest.fixture(scope="session")
def prompt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prompt of 6 s at 16 kHz."""
    path = tmp_path_factory.mktemp("prompt") / "prompt.wav"
    write_wav(path, speech())
    return path


@pytest.fixture(scope="session")
def short_prompt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prompt of half a second."""
    path = tmp_path_factory.mktemp("prompt") / "short.wav"
    write_wav(path, speech(0.5))
    return path


@pytest.fixture
def config() -> Callable[..., ModelConfig]:
    """Return a published configuration by name, with short time limits and changed fields."""

    def get(name: str, *, timeouts: dict[str, float] | None = None, **changes: Any) -> ModelConfig:
        found = published()[name]
        connection = {**found.connection, **changes.pop("connection", {})}
        if timeouts is not None:
            connection["timeouts"] = timeouts
        return replace(found, connection=connection, **changes)

    return get


@pytest.fixture
def ask() -> Callable[..., Reply]:
    """Ask an adapter about a clip and wait for the reply."""

    def run(model: Any, config: ModelConfig, *audio: Path, clock: Clock | None = None, **more: Any) -> Reply:
        if clock is not None:
            model._clock = clock
        turns = more.pop("turns", None) or (Turn(role="user", audio=audio),)

        async def once() -> Reply:
            try:
                return await model.respond(Conversation(turns=turns, **more), config)
            finally:
                await model.close()

        return asyncio.run(once())

    return run
