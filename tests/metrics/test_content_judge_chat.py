"""The judge's client against a fake OpenAI-compatible server on loopback."""

import socket
import time
from dataclasses import replace

import pytest

from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.metrics.backends import JudgeItem
from vaeval_tasks.metrics.content_judge_chat import DEFAULT_OPTIONS, ChatContentJudge
from vaeval_tasks.services.http.retry import RetryRule


def says(content, finish="stop", **message):
    return 200, {"choices": [{"message": {"content": content, **message}, "finish_reason": finish}]}, {}


def error(status, message="no", headers=None, **more):
    return status, {"error": {"message": message, **more}}, headers or {}


def items(*answers, task="listening_general"):
    return [JudgeItem(task=task, question="q", answer=answer, references=("r",)) for answer in answers]


def judge(fake, *, url=None, retries=2, **options):
    waits = []
    chosen = replace(DEFAULT_OPTIONS, retry=RetryRule(retries=retries), **{"timeout_s": 5, **options})
    return ChatContentJudge(url or fake.url, chosen, sleep=waits.append), waits


def down(fake, status=503, message="gone"):
    """Let the whole endpoint answer nothing but errors, our own small question included."""
    fake.reply = lambda path, headers, body: fake.requests.append((path, headers, body)) or error(status, message)


@pytest.mark.parametrize(
    ("reply", "value", "detail"),
    [
        (says("[Correct]"), 1, ""),
        (says("Let me think. [Incorrect]? The words differ but mean the same.\n\n[Correct]"), 1, ""),
        (says("[Correct] at first sight, yet [Incorrect]"), None, "not stated for sure"),
        (says("Please choose: [Correct] or [Incorrect]"), None, "not stated for sure"),
        (says("<think>so it is [Correct]"), None, "its reasoning has no end"),
        (says("I think it is right."), None, "no verdict in the judge's answer (it names none): I think it is right."),
        (says("[Good]"), None, "no verdict"),
        (says("[Correct] or", finish="length"), None, "cut off at the token limit (max_tokens)"),
        (says(None, refusal="I can't judge this."), None, "the model refused: I can't judge this."),
        (says(None, finish="content_filter"), None, "filtered"),
        (error(400, "blocked", code="content_filter"), None, "HTTP 400: blocked"),
        (error(400, "context length exceeded"), None, "HTTP 400: context length exceeded"),
        ((200, {"error": {"code": 400, "message": "maximum context length"}}, {}), None, "HTTP 200 (400): maximum"),
    ],
)
def test_what_one_reply_means(fake, reply, value, detail):
    fake.script["odd"] = [reply]
    made, waits = judge(fake)
    odd, good = made.judge(items("odd", "fine"))
    assert odd.value == value
    assert detail in odd.detail
    assert good.value == 1
    assert waits == []


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (says(None), "an empty answer"),
        (says("", reasoning_content="[Correct]"), "an empty answer"),
        ((200, b"<html>", {}), "not a chat completion: <html>"),
        ((200, {"choices": []}, {}), "not a chat completion"),
        ((200, {"choices": [None]}, {}), "not a chat completion"),
        ((200, {"error": "model is loading"}, {}), "inside HTTP 200: model is loading"),
        ((200, b'data: {"error": {"message": "out of memory"}}\n\n', {}), "out of memory"),
    ],
)
def test_an_odd_reply_is_asked_for_again_and_then_left(fake, reply, detail):
    fake.script["once"] = [reply, says("[Correct]")]
    fake.script["always"] = [reply]
    made, waits = judge(fake)
    once, always, good = made.judge(items("once", "always", "fine"))
    assert (once.value, always.value, good.value) == (1, None, 1)
    assert detail in always.detail
    assert sorted(waits) == [1.0, 1.0, 2.0]


def test_the_request_is_what_the_endpoint_expects(fake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-second")
    monkeypatch.setenv("VAEVAL_JUDGE_API_KEY", "sk-first")
    made, _ = judge(fake, model="my-judge")
    made.judge(items("fine"))
    ((path, headers, body),) = fake.requests
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer sk-first"
    assert (body["model"], body["temperature"]) == ("my-judge", 0)
    assert body["max_tokens"] >= 4096
    assert [m["role"] for m in body["messages"]] == ["user"]


def test_no_key_sends_no_header(fake):
    made, _ = judge(fake)
    made.judge(items("fine"))
    assert "Authorization" not in fake.requests[0][1]


def test_429_waits_as_long_as_the_server_says(fake):
    fake.script["a"] = [
        error(429, headers={"Retry-After": "7"}),
        error(429, headers={"Retry-After": "soon"}),
        says("[Correct]"),
    ]
    made, waits = judge(fake)
    assert [s.value for s in made.judge(items("a"))] == [1]
    assert waits == [7.0, 2.0]  # the second header is nonsense: 2 ** 1 s


def test_500_is_tried_again_and_then_left_without_a_verdict(fake):
    fake.script["a"] = [error(500, "boom")]
    made, waits = judge(fake)
    a, b = made.judge(items("a", "b"))
    assert (a.value, a.detail) == (None, "HTTP 500: boom")
    assert b.value == 1
    assert waits == [1.0, 2.0]
    assert len(fake.requests) == 5  # and one small question: is it the item, or the judge?


def test_a_time_out_is_one_items_trouble_while_others_succeed(fake):
    def slow():
        time.sleep(0.5)
        return says("[Correct]")

    fake.script["a"] = [slow]
    made, waits = judge(fake, timeout_s=0.15, retries=1)
    a, b = made.judge(items("a", "b"))
    assert a.value is None
    assert "no answer within 0.15 s (ReadTimeout)" in a.detail
    assert b.value == 1
    assert waits == [1.0]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_or_address_ends_the_batch_at_once(fake, status, monkeypatch):
    monkeypatch.setenv("VAEVAL_JUDGE_API_KEY", "sk-secret")
    fake.script["a"] = [error(status, "go away, sk-secret")]
    made, waits = judge(fake)
    with pytest.raises(ServiceError, match=rf"refused: HTTP {status}: go away, \*\*\*") as caught:
        made.judge(items("a"))
    assert waits == []
    assert "sk-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_refused_connection_ends_in_one_line_after_retries():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made, waits = judge(None, url=f"http://127.0.0.1:{port}/v1", concurrency=1)
    with pytest.raises(
        ServiceError, match=rf"the judge at http://127.0.0.1:{port}/v1/chat/completions gave no answer"
    ) as e:
        made.judge(items(*"abcdef"))
    assert "\n" not in str(e.value)
    assert waits == [1.0, 2.0]  # only the first item is tried


def test_when_nothing_is_answered_the_batch_raises(fake):
    down(fake, message="overloaded")
    made, _ = judge(fake)
    with pytest.raises(ServiceError, match="HTTP 503: overloaded"):
        made.judge(items("a"))


def test_a_judge_that_dies_half_way_leaves_the_rest_unjudged(fake, caplog):
    fake.script["c"] = [lambda: (down(fake), error(503, "gone"))[1]]
    made, _ = judge(fake, concurrency=1, retries=0)
    values = made.judge(items(*"abcdefghijklmn"))
    assert [s.value for s in values] == [1, 1] + [None] * 12
    assert "not asked, the judge had stopped answering (HTTP 503: gone)" in values[-1].detail
    assert len(fake.requests) == 11  # two answers, eight failures in a row, and one small question
    assert "12 items have no verdict: HTTP 503: gone" in caplog.text


def test_items_that_the_judge_cannot_digest_are_not_a_judge_that_is_gone(fake):
    bad = [f"bad{i}" for i in range(12)]
    for name in bad:
        fake.script[name] = [error(500, "boom")]
    made, _ = judge(fake, concurrency=1, retries=0)
    values = made.judge(items(*bad, *(f"good{i}" for i in range(20))))
    assert [s.value for s in values] == [None] * 12 + [1] * 20
    assert [s.value for s in made.judge(items(*bad))] == [None] * 12  # the same items alone, as in a second run


@pytest.mark.parametrize(
    "hopeless",
    [
        error(400, "This model's maximum context length is 8192 tokens", code="context_length_exceeded"),
        error(400, "blocked", code="content_filter"),
        error(413, "too large"),
        error(422, "cannot be"),
        error(500, "boom"),
        says("I think it is right."),
        says(None),
        (200, b"<html>", {}),
    ],
)
def test_a_run_of_hopeless_leftovers_ends_as_the_first_run_did(fake, hopeless):
    fake.script["long"] = [hopeless]
    for batch in (["long", "fine"], ["long"], ["long"]):
        made, _ = judge(fake)
        values = made.judge(items(*batch))
        assert (values[0].value, bool(values[0].detail)) == (None, True)


def test_even_where_all_that_is_asked_is_bad_the_judge_is_there(fake):
    down(fake, 400, "maximum context length")
    made, _ = judge(fake)
    assert [s.value for s in made.judge(items(*"abcdefghijkl"))] == [None] * 12


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (error(429, "You exceeded your current quota", code="insufficient_quota"), "refused: HTTP 429: You exceeded"),
        ((200, {"error": {"code": 402, "message": "Insufficient credits"}}, {}), "refused: an error inside HTTP 200"),
        (error(429, "daily quota", headers={"Retry-After": "86400"}), r"the server asks to wait 24 h .*after 20\d\d-"),
    ],
)
def test_what_every_item_would_meet_stops_the_batch_and_keeps_what_was_answered(fake, reply, why):
    fake.script["c"] = [reply]
    made, waits = judge(fake, concurrency=1)
    values = made.judge(items(*"abcde"))
    assert [s.value for s in values] == [1, 1, None, None, None]
    assert "not asked" in values[4].detail
    assert len(fake.requests) == 3
    with pytest.raises(ServiceError, match=why):
        made.judge(items(*"cde"))
    assert waits == []


def test_requests_run_side_by_side_within_the_bound_and_keep_their_order(fake):
    def slow(verdict):
        def reply():
            time.sleep(0.05)
            return says(verdict)

        return reply

    for i in range(12):
        fake.script[f"a{i}"] = [slow("[Correct]" if i % 3 else "[Incorrect]")]
    made, _ = judge(fake, concurrency=3)
    values = [s.value for s in made.judge(items(*(f"a{i}" for i in range(12))))]
    assert values == [float(bool(i % 3)) for i in range(12)]
    assert 2 <= fake.most_active <= 3


def test_no_items_ask_nothing(fake):
    made, _ = judge(fake)
    assert made.judge([]) == []
    assert fake.requests == []


def test_families_have_their_own_verdicts(fake):
    fake.script["odd"] = [says("[Good]")]
    fake.script["two"] = [says("[Correct] [Good]")]
    fake.script["other"] = [says("[Correct]")]
    made, _ = judge(fake)
    found = made.judge(items("odd", "two", "other", task="speaking_assistant"))
    assert [scored.value for scored in found] == [1, None, None]


def test_the_signature_names_model_and_prompts_not_the_address(fake, tmp_path):
    made, _ = judge(fake)
    assert made.signature.startswith("judge-llm|model:gpt-oss-20b|prompts:")
    assert "127.0.0.1" not in made.signature
    assert ChatContentJudge("http://127.0.0.1:1/v1").signature == made.signature


def test_an_address_without_scheme_is_refused():
    with pytest.raises(InputError, match="must start with http"):
        ChatContentJudge("localhost:8000/v1")


@pytest.mark.parametrize("url", ["http://[::1", "http://localhost:port/v1"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(InputError, match="is no URL"):
        ChatContentJudge(url)


def test_a_key_that_cannot_be_sent_is_refused_unseen(fake, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-gehe\u00efm")
    made, _ = judge(fake)
    with pytest.raises(InputError, match=r"the key in \$OPENAI_API_KEY") as caught:
        made.judge(items("a"))
    assert "gehe" not in str(caught.value)
