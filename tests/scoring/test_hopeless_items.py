"""A run folder with an item that the judge always refuses scores the same at every run; a judge that is gone raises."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.metrics.content_judge_chat import DEFAULT_OPTIONS, ChatContentJudge
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.scoring.scores import score_responses, scoring_jobs
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus

TASK = "speaking_safety"


class Endpoint:
    """Refuses prompts that hold "hopeless" with ``status``, and everything where it is ``down``."""

    def __init__(self) -> None:
        self.status, self.down, self.url = 400, False, ""
        self.requests = 0
        self.last: int | None = None
        """After so many requests it is down."""

    def answer(self, prompt: str) -> tuple[int, Any]:
        self.requests += 1
        if self.down or (self.last is not None and self.requests > self.last):
            return 503, {"error": {"message": "gone"}}
        if "hopeless" in prompt and self.status != 200:
            return self.status, {"error": {"message": "This model's maximum context length is 8192 tokens"}}
        return 200, {"choices": [{"message": {"content": "[Good]"}, "finish_reason": "stop"}]}


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.delenv("VAEVAL_JUDGE_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    made = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, content = made.answer(body["messages"][0]["content"])
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    made.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield made
    server.shutdown()
    server.server_close()


def score(folder: Path, endpoint: Endpoint, *texts: str, retry: bool = False) -> list[float | None]:
    """Score a run folder with a fresh judge, as another process would, and return the verdicts in order."""
    items = [Item(item_id=f"i{n}", task=TASK, question="q") for n in range(len(texts))]
    responses = [
        Response(
            response_id=f"r{n}", prompt_id=f"i{n}", config_id="m/d/d", task=TASK, status=ResponseStatus.ok, text=text
        )
        for n, text in enumerate(texts)
    ]
    judge = ChatContentJudge(endpoint.url, replace(DEFAULT_OPTIONS, concurrency=1), sleep=lambda _: None)
    scorers = Scorers(judge=judge, speech=None, recogniser=None, speaker=None, emotion=None)
    run = RunDir(folder)
    score_responses(run, scoring_jobs(responses, items), scorers, retry_unjudged=retry)
    found = {s.response_id: s.value for s in run.scores() if s.metric == "content"}
    return [found[f"r{n}"] for n in range(len(texts))]


@pytest.mark.parametrize("status", [400, 413, 422, 500, 503])
def test_every_run_of_the_folder_ends_as_the_first_did(tmp_path: Path, endpoint: Endpoint, status: int) -> None:
    endpoint.status = status
    for _ in range(3):
        assert score(tmp_path, endpoint, "fine", "hopeless") == [1.0, None]


def test_a_judge_that_is_gone_is_an_error_and_its_verdicts_of_before_are_kept(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    assert score(tmp_path, endpoint, "fine", "hopeless") == [1.0, None]
    endpoint.down = True
    assert score(tmp_path, endpoint, "fine", "hopeless") == [1.0, None], "nothing is left to ask"
    with pytest.raises(ServiceError, match="gave no answer: HTTP 503: gone"):
        score(tmp_path, endpoint, "fine", "hopeless", "new")
    with pytest.raises(ServiceError, match="gave no answer: HTTP 503: gone"):
        score(tmp_path, endpoint, "fine", "hopeless", retry=True)
    endpoint.down = False
    assert score(tmp_path, endpoint, "fine", "hopeless", "new") == [1.0, None, 1.0]


@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_hopeless_item_costs_nothing_until_somebody_asks(tmp_path: Path, endpoint: Endpoint, status: int) -> None:
    endpoint.status = status
    score(tmp_path, endpoint, "fine", "hopeless")
    before = endpoint.requests
    assert score(tmp_path, endpoint, "fine", "hopeless") == [1.0, None]
    assert endpoint.requests == before
    (kept,) = (s for s in RunDir(tmp_path).scores() if s.metric == "content" and s.value is None)
    assert (f"HTTP {status}" in kept.detail, kept.again) == (True, False)
    endpoint.status = 200
    assert score(tmp_path, endpoint, "fine", "hopeless", retry=True) == [1.0, 1.0]
    assert endpoint.requests == before + 1


def test_what_a_judge_that_went_away_was_not_asked_is_asked_by_the_next_run(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.last = 3
    found = score(tmp_path, endpoint, *(f"fine {n}" for n in range(20)))
    assert found.count(1.0) == 3
    assert {s.again for s in RunDir(tmp_path).scores() if s.metric == "content" and s.value is None} == {True}
    endpoint.last = None
    assert score(tmp_path, endpoint, *(f"fine {n}" for n in range(20))) == [1.0] * 20


def test_a_limit_of_requests_is_no_hopeless_item(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.status = 429
    assert score(tmp_path, endpoint, "fine", "hopeless") == [1.0, None]
    endpoint.status = 200
    assert score(tmp_path, endpoint, "fine", "hopeless") == [1.0, 1.0]
