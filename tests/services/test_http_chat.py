"""The chat client against a server on loopback that misbehaves."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from vaeval_tasks.errors import InputError
from vaeval_tasks.services.http.chat import ChatClient, ChatOptions
from vaeval_tasks.services.http.meaning import HttpMeaning
from vaeval_tasks.services.http.retry import RetryRule
from vaeval_tasks.services.http.secrets import trust

ASK = [{"role": "user", "content": "q"}]
GOOD = (200, {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}, {})
OPTIONS = ChatOptions(model="m", max_tokens=100, timeout_s=5.0, retry=RetryRule(retries=2))


def error(status: int, message: str = "no", headers: dict[str, str] | None = None, **more: Any) -> Any:
    return status, {"error": {"message": message, **more}}, headers or {}


def client_of(bad: Any, options: ChatOptions = OPTIONS, **more: Any) -> tuple[ChatClient, list[float], list[str]]:
    waits: list[float] = []
    said: list[str] = []
    return ChatClient(bad.url, options, sleep=waits.append, say=said.append, **more), waits, said


def unknown(name: str, message: str, code: str = "unsupported_parameter") -> Any:
    """Refuse the request while it has the field."""
    return lambda body: error(400, message, param=name, code=code) if name in body else GOOD


NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)
NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)


def test_newer_models_are_asked_in_their_own_words_from_then_on(bad):
    bad.plan = [
        lambda body: (
            unknown("max_tokens", NO_MAX_TOKENS)(body)
            if "max_tokens" in body
            else unknown("temperature", NO_TEMPERATURE, "unsupported_value")(body)
        )
    ]
    client, waits, _ = client_of(bad)
    assert client.ask(ASK).text == "yes"
    assert [sorted(set(b) - {"model", "messages"}) for b in bad.bodies] == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
    ]
    client.close()
    assert client.ask(ASK).text == "yes"
    assert len(bad.bodies) == 4  # remembered, also after closing
    assert bad.bodies[-1]["max_completion_tokens"] == 100
    assert client.probe().meaning is HttpMeaning.ok
    assert bad.bodies[-1]["max_completion_tokens"] == 16
    assert waits == []
    client.close()


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens; max_tokens is too large: 100000",
        "max_tokens is too large: 100000. This model supports at most 4096 completion tokens",
        "temperature must be between 0 and 2",
        "Unsupported content in message 3. The text was: set the temperature to 20 degrees",
    ],
)
def test_another_refusal_teaches_nothing(bad, message):
    bad.plan = [error(400, message)]
    client, _, _ = client_of(bad)
    assert client.ask(ASK).outcome.meaning is HttpMeaning.bad_request
    assert len(bad.bodies) == 1
    client.close()


def test_many_threads_learn_once_and_for_all(bad):
    bad.plan = [unknown("max_tokens", NO_MAX_TOKENS)]
    client, _, _ = client_of(bad, replace(OPTIONS, concurrency=4))
    with ThreadPoolExecutor(4) as pool:
        assert [a.text for a in pool.map(lambda _: client.ask(ASK), range(12))] == ["yes"] * 12
    assert len(bad.bodies) <= 16
    client.close()


def test_the_request_says_what_the_options_say(bad, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-second")
    monkeypatch.setenv("VAEVAL_JUDGE_API_KEY", "sk-first")
    bad.plan = [GOOD]
    options = ChatOptions(model="m", temperature=None, reasoning_effort="low", extra={"seed": 1, "model": "other"})
    client, _, _ = client_of(bad, options)
    client.ask(ASK, modalities=["text"])
    assert bad.bodies == [
        {"model": "other", "messages": ASK, "reasoning_effort": "low", "modalities": ["text"], "seed": 1}
    ]
    assert bad.headers[0]["Authorization"] == "Bearer sk-first"
    client.close()
    client, _, _ = client_of(bad, ChatOptions(), keys=())
    client.ask(ASK)
    assert "Authorization" not in bad.headers[-1]
    assert set(bad.bodies[-1]) == {"messages", "temperature"}
    client.close()


def test_a_query_of_the_address_stays_and_no_part_of_it_is_shown(bad, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    bad.plan = [lambda body: error(401, f"refused {bad.headers[-1]['Authorization']} for secret-pw and abcdef")]
    host = bad.url.removeprefix("http://")
    client = ChatClient(f"http://me:secret-pw@{host}?api-version=2026-01-01&sig-key=abcdef", OPTIONS)
    assert client.url == f"http://{host}/chat/completions"
    answer = client.ask(ASK)
    assert bad.paths == ["/v1/chat/completions?api-version=2026-01-01&sig-key=abcdef"]
    shown = f"{answer!r} {client.refusal(answer)}"
    assert "sk-0123456789" not in shown
    assert "secret-pw" not in shown
    assert answer.stop == "HTTP 401: refused Basic *** for *** and ***"
    client.close()


def test_a_server_that_asks_for_a_pause_gets_it_and_a_long_one_is_announced(bad):
    bad.plan = [error(429, headers={"Retry-After": "2"}), error(429, "Please try again in 41.2s."), GOOD]
    client, waits, said = client_of(bad)
    answer = client.ask(ASK)
    assert (answer.text, answer.attempts, waits) == ("yes", 3, [2.0, 41.2])
    assert said == ["the judge: waiting 42 s before asking again (HTTP 429: Please try again in 41.2s.)"]
    client.close()


@pytest.mark.parametrize("headers", [{"Retry-After": "86400"}, {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}])
def test_a_server_that_asks_for_a_day_stops_us_with_a_word(bad, headers):
    bad.plan = [error(429, "daily quota", headers)]
    client, waits, _ = client_of(bad)
    answer = client.ask(ASK)
    assert answer.stop.startswith("the server asks to wait ")
    assert "run the same command again after " in answer.stop
    assert not answer.reached
    assert str(client.refusal(answer)) == f"the judge at {client.url}: {answer.stop}"
    assert waits == []
    client.close()


@pytest.mark.parametrize(
    ("reply", "meaning", "waits"),
    [
        (error(503), HttpMeaning.broken, [1.0, 2.0]),
        (lambda body: None, HttpMeaning.broken, [1.0, 2.0]),
        ((200, b"\xff\xfe", {}), HttpMeaning.unreadable, [1.0, 2.0]),
        ((200, b"not zipped", {"Content-Encoding": "gzip"}), HttpMeaning.unreadable, [1.0, 2.0]),
        ((200, [1], {}), HttpMeaning.unreadable, [1.0, 2.0]),
        ((200, {"choices": [{"message": None}]}, {}), HttpMeaning.unreadable, [1.0, 2.0]),
        ((200, {"choices": [{"message": {"content": " "}}]}, {}), HttpMeaning.empty, [1.0, 2.0]),
        ((200, {"choices": [{"message": {"content": 7}}]}, {}), HttpMeaning.empty, [1.0, 2.0]),
        ((200, {"error": "model is loading"}, {}), HttpMeaning.broken, [1.0, 2.0]),
        ((200, {"error": {"code": 402, "message": "credits"}}, {}), HttpMeaning.quota, []),
        ((307, b"", {"Location": "http://elsewhere"}), HttpMeaning.absent, []),
        (error(400), HttpMeaning.bad_request, []),
        ((200, {"choices": [{"message": {"refusal": "no"}}]}, {}), HttpMeaning.filtered, []),
        ((204, b"", {}), HttpMeaning.unreadable, [1.0, 2.0]),
    ],
)
def test_what_is_asked_again_and_what_is_not(bad, reply, meaning, waits):
    bad.plan = [reply]
    client, slept, _ = client_of(bad)
    answer = client.ask(ASK)
    assert (answer.outcome.meaning, slept, answer.text) == (meaning, waits, "")
    assert answer.reason
    client.close()


def test_an_answer_in_parts_is_joined_and_a_cut_one_is_kept(bad):
    parts = [{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}, None]
    cut = {"choices": [{"message": {"content": "ye"}, "finish_reason": "length"}]}
    bad.plan = [(200, {"choices": [{"message": {"content": parts}}]}, {}), (200, cut, {})]
    client, _, _ = client_of(bad)
    assert client.ask(ASK).text == "yes"
    answer = client.ask(ASK)
    assert (answer.text, answer.ok, answer.outcome.meaning) == ("ye", False, HttpMeaning.cut)
    client.close()


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_the_candidates_of_the_first_token_are_kept(bad, finish):
    top = [{"token": "Yes", "logprob": -0.25, "id": 1}, {"token": "No", "logprob": -1.5}]
    choice = {"message": {"content": "Yes"}, "finish_reason": finish, "logprobs": {"content": [{"top_logprobs": top}]}}
    bad.plan = [(200, {"choices": [choice]}, {})]
    client, _, _ = client_of(bad)
    assert client.ask(ASK, logprobs=True, top_logprobs=2).first_token == {"Yes": -0.25, "No": -1.5}


@pytest.mark.parametrize("logprobs", [None, {}, {"content": []}, {"content": None}, {"content": [{"top_logprobs": 3}]}])
def test_an_answer_without_probabilities_has_no_candidates(bad, logprobs):
    choice = {"message": {"content": "Yes"}, "finish_reason": "stop", "logprobs": logprobs}
    bad.plan = [(200, {"choices": [choice]}, {})]
    answer = client_of(bad)[0].ask(ASK)
    assert (answer.ok, answer.first_token) == (True, {})


def test_a_slow_server_and_one_that_is_not_there(bad):
    bad.plan = [lambda body: time.sleep(1.0) or GOOD]
    client, waits, _ = client_of(bad, replace(OPTIONS, timeout_s=0.1, retry=RetryRule(retries=1)))
    answer = client.ask(ASK)
    assert (answer.outcome.meaning, answer.reached, waits) == (HttpMeaning.slow, False, [1.0])
    client.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        gone = ChatClient(f"http://127.0.0.1:{free.getsockname()[1]}/v1", OPTIONS, sleep=waits.append)
        assert gone.ask(ASK).outcome.meaning is HttpMeaning.unreachable
        assert gone.probe().meaning is HttpMeaning.unreachable
    gone.close()


def test_to_stop_ends_a_pause(bad):
    bad.plan = [error(429, headers={"Retry-After": "100"})]
    client = ChatClient(bad.url, OPTIONS, say=lambda _: waiting.set())
    waiting = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.ask, ASK)
        assert waiting.wait(30)
        client.close()
        assert asked.result(30).outcome.meaning in (HttpMeaning.busy, HttpMeaning.broken)


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://x", "http://[::1", "http://localhost:port/v1"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(InputError, match="the address of the judge"):
        ChatClient(url, OPTIONS)


def test_a_key_that_cannot_be_sent_is_refused_unseen(bad, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-gehe\u00efm")
    with pytest.raises(InputError, match=r"the key in \$OPENAI_API_KEY") as caught:
        ChatClient(bad.url, OPTIONS).ask(ASK)
    assert "gehe" not in str(caught.value)


def test_the_certificates_are_read_once(monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert trust() is trust()
