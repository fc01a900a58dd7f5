"""A judge on loopback, and a run folder for it to judge."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, read_audio, write_wav
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Pair, Prompt, Response, ResponseStatus

CONFIGS = ("loud/default/x", "quiet/default/x", "soft/default/x")
LEVELS = {"loud/default/x": 0.8, "soft/default/x": 0.2, "quiet/default/x": 0.05}


def questions_of(body: dict[str, Any]) -> list[str]:
    """The keys the judge is asked for."""
    listed = body["messages"][0]["content"].partition("exactly these keys")[2]
    return [line.split('"')[1] for line in listed.splitlines() if line.startswith('"')]


def loudness_of(body: dict[str, Any]) -> list[float]:
    """The peaks of the three clips, in the order they were sent."""
    parts = body["messages"][1]["content"]
    data = [p["input_audio"]["data"] for p in parts if p["type"] == "input_audio"]
    data += [p["audio_url"]["url"].partition("base64,")[2] for p in parts if p["type"] == "audio_url"]
    return [read_audio(base64.b64decode(d)).peak for d in data]


def prefers_loud(body: dict[str, Any], bias: int = 0) -> dict[str, int]:
    """A verdict by loudness, moved by ``bias`` points towards the first response."""
    _, first, second = loudness_of(body)
    score = max(-3, min(3, round(4 * (first - second)) + bias))
    return dict.fromkeys(questions_of(body), score)


@dataclass
class FakeJudge:
    """Answers chat completions with ``reply(body, number of the request)``: (HTTP status, content, headers)."""

    reply: Callable[[dict[str, Any], int], tuple[int, str, dict[str, str]]]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def serving() -> Iterator[FakeJudge]:
    """Serve a fake judge on loopback."""
    fake = FakeJudge(reply=lambda body, _: (200, json.dumps(prefers_loud(body)), {}))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with fake.lock:
                fake.bodies.append(body)
                fake.keys.append(self.headers.get("Authorization", ""))
                number = len(fake.bodies)
            status, content, headers = fake.reply(body, number)
            answer = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
            data = json.dumps(answer if status == 200 else {"error": {"message": content}}).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    fake.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield fake
    server.shutdown()
    server.server_close()


@pytest.fixture
def fake_judge() -> Iterator[FakeJudge]:
    with serving() as fake:
        yield fake


@dataclass(frozen=True)
class Stage:
    """What a module needs to set a scene of its own."""

    make_run: Callable[[Path], RunDir]
    serving: Callable[[], AbstractContextManager[FakeJudge]]
    loudness_judge: Callable[[dict[str, Any], int], dict[str, int]]


@pytest.fixture(scope="session")
def stage() -> Stage:
    return Stage(make_run, serving, prefers_loud)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return make_run(tmp_path / "run")


def make_run(root: Path) -> RunDir:
    """Four prompts, three configurations of different loudness, every pair on every prompt."""
    run = RunDir(root)
    t = np.arange(1600) / 8000
    prompts, responses, pairs = [], [], []
    for i in range(4):
        path = f"audio/prompts/p{i}.wav"
        write_wav(run.root / path, Clip(np.float32(0.5) * np.sin(2000 * t).astype(np.float32), 8000))
        gates = ("reasoning",) if i == 0 else ()
        prompts.append(Prompt(prompt_id=f"p{i}", category="c", difficulty="L1", gates=gates, path=path))
        for config in CONFIGS:
            path = f"audio/responses/p{i}-{config.split('/')[0]}.wav"
            write_wav(run.root / path, Clip((LEVELS[config] * np.sin(3000 * t)).astype(np.float32), 8000))
            responses.append(
                Response(
                    response_id=f"p{i}:{config}",
                    prompt_id=f"p{i}",
                    config_id=config,
                    status=ResponseStatus.ok,
                    path=path,
                    seconds=0.2,
                )
            )
        pairs += [
            Pair(pair_id=f"p{i}:{a[0]}{b[0]}", prompt_id=f"p{i}", a=a, b=b)
            for a, b in ((CONFIGS[0], CONFIGS[1]), (CONFIGS[0], CONFIGS[2]), (CONFIGS[1], CONFIGS[2]))
        ]
    run.write("prompts", prompts, made_by="test")
    run.write("responses", responses, made_by="test")
    run.write("pairs", pairs, made_by="test")
    return run
