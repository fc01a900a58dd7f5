"""The same failure has the same fate in every adapter: errors inside HTTP 200, used-up quota, waits of a day."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.cascade import Cascade
from vaeval_tasks.models.adapters.chat_audio import ChatAudio
from vaeval_tasks.models.fate import FATES, Consequence, failure
from vaeval_tasks.models.protocol import Retry
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

KEY = "sk-loopback-0123456789"


@contextmanager
def answering(*replies: tuple[int, Any, dict[str, str]]) -> Iterator[str]:
    """Serve the replies in turn, the last one for good."""
    left = list(replies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, content, headers = left.pop(0) if len(left) > 1 else left[0]
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                **headers,
                "Content-Length": str(len(data)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def engine(url: str, **params: Any) -> ModelConfig:
    return ModelConfig(model="m", provider="chat_audio", params={"model": "m", **params}, connection={"base_url": url})


def sse(content: Any) -> tuple[int, bytes, dict[str, str]]:
    return 200, f"data: {json.dumps(content)}\n\n".encode(), {"Content-Type": "text/event-stream"}


CREDITS = {"error": {"code": 402, "message": "Insufficient credits"}}
LOADING = {"error": "model is loading"}
ARREARS = {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing."}


def error_event(content: Any) -> tuple[int, bytes, dict[str, str]]:
    data = b"id: 1\r\nevent: error\r\ndata: " + json.dumps(content).encode() + b"\r\n\r\n"
    return 200, data, {"Content-Type": "text/event-stream;charset=UTF-8"}


@pytest.mark.parametrize(
    ("reply", "stream", "why"),
    [
        ((200, CREDITS, {}), False, r"the quota is used up, said http://.*402.*Insufficient credits"),
        ((402, CREDITS, {}), False, "the quota is used up.*HTTP 402"),
        (sse(CREDITS), True, "the quota is used up.*in the stream .402"),
        ((200, b"data: " + json.dumps(CREDITS).encode(), {}), False, "the quota is used up"),
        ((200, ARREARS, {}), False, "the quota is used up.*Access denied"),
        (sse(ARREARS), True, "the quota is used up.*in the stream"),
        (error_event(ARREARS), True, "the quota is used up.*in the stream"),
        ((429, {"error": {"message": "daily"}}, {"Retry-After": "86400"}), False, "the server asks to wait 24 h"),
        ((503, b"maintenance", {"Retry-After": "3600"}), False, "the server asks to wait 60 min.*run the same command"),
        (
            (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, {}),
            False,
            r"the key was refused.*: \*\*\*",
        ),
    ],
)
def test_what_every_prompt_would_meet_stops_the_configuration(reply, stream, why, ask, short_prompt, monkeypatch):
    monkeypatch.setenv("VAEVAL_CHAT_API_KEY", KEY)
    with answering(reply) as url, pytest.raises(ServiceError, match=why) as caught:
        ask(ChatAudio(), engine(url, stream=stream), short_prompt)
    assert not caught.value.retry
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "stream", "status", "retry"),
    [
        ((200, LOADING, {}), False, ResponseStatus.error, Retry()),
        (sse(LOADING), True, ResponseStatus.error, Retry()),
        (error_event({"message": "the worker broke"}), True, ResponseStatus.error, Retry()),
        (error_event("the worker broke"), True, ResponseStatus.error, Retry()),
        ((200, b"<html>", {}), False, ResponseStatus.error, Retry()),
        ((200, [1], {}), False, ResponseStatus.error, Retry()),
        (
            (429, {"error": {"message": "Please try again in 41.2s."}}, {}),
            False,
            ResponseStatus.error,
            Retry(after_s=41.2),
        ),
        ((429, b"", {"Retry-After": "2"}), False, ResponseStatus.error, Retry(after_s=2.0)),
        ((400, {"error": {"message": "no", "param": "modalities"}}, {}), False, ResponseStatus.error, None),
        ((400, {"error": {"message": "no", "code": "content_filter"}}, {}), False, ResponseStatus.refused, None),
    ],
)
def test_what_one_prompt_meets_is_a_result(reply, stream, status, retry, ask, short_prompt):
    with answering(reply) as url:
        got = ask(ChatAudio(), engine(url, stream=stream), short_prompt)
    assert (got.status, got.retry) == (status, retry)
    assert got.error


def test_an_error_of_text_to_speech_is_no_sound(ask, config, short_prompt, monkeypatch):
    for name in ("ELEVENLABS_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    words = {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}],
    }
    for detail, expected in (("quota_exceeded", "the quota is used up"), ("odd", None)):
        spoken = {"detail": {"status": detail, "message": "no"}}
        with answering((200, {"text": "hello"}, {}), (200, words, {}), (200, spoken, {})) as url:
            asked = config("cascade/default/rachel")
            there = replace(asked, connection={**asked.connection, "elevenlabs_url": url, "openai_url": url})
            if expected:
                with pytest.raises(ServiceError, match=expected):
                    ask(Cascade(), there, short_prompt)
            else:
                got = ask(Cascade(), there, short_prompt)
                assert (got.status, got.audio) == (ResponseStatus.error, None)


@pytest.mark.parametrize("meaning", [m for m in HttpMeaning if m is not HttpMeaning.ok])
def test_every_meaning_is_one_error(meaning):
    outcome = HttpOutcome(meaning=meaning, reason="r", wait_s=5.0 if meaning.again else None)
    error = failure(engine("http://h"), "http://h/v1?key=secret", outcome)
    assert isinstance(error, ServiceError) == meaning.for_all
    assert "secret" not in str(error)
    assert isinstance(error, ServiceError) or error.status is FATES[meaning].status
    if FATES[meaning].consequence is Consequence.again:
        assert error.retry == Retry(after_s=5.0)
        assert failure(engine("http://h"), "http://h", outcome, begun=True).retry is None


@pytest.mark.parametrize("reply", [(200, {"error": f"bad key {KEY}"}, {}), (200, f"<html>{KEY}".encode(), {})])
def test_a_key_that_the_service_repeats_is_kept_nowhere(reply, ask, short_prompt, monkeypatch):
    monkeypatch.setenv("VAEVAL_CHAT_API_KEY", KEY)
    with answering(reply) as url:
        got = ask(ChatAudio(), engine(url), short_prompt)
    assert got.status is ResponseStatus.error
    assert len(got.events) == 2
    assert KEY not in repr(got)
