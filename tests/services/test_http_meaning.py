"""The table of errors, and the reading of waits, on what providers are documented and reported to send."""

from __future__ import annotations

import json

import pytest

from vaeval_tasks.services.http.meaning import HttpMeaning as M
from vaeval_tasks.services.http.meaning import error_inside, json_body, of_error, of_response
from vaeval_tasks.services.http.secrets import keys_of, one_line, scrub, shown_url
from vaeval_tasks.services.http.waits import asked_wait, clock_words, in_words, read_duration

NOW = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


def openai(message="no", **more):
    return json.dumps({"error": {"message": message, **more}})


def google(code, status, message, *details):
    return json.dumps({"error": {"code": code, "status": status, "message": message, "details": list(details)}})


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
PER_DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}


@pytest.mark.parametrize(
    ("status", "body", "meaning"),
    [
        (200, "{}", M.ok),
        (200, openai(code=402), M.quota),
        (200, openai(code=429), M.busy),
        (200, openai(code="502"), M.broken),
        (200, '{"error": "model is loading"}', M.broken),
        (200, '{"error": {}, "choices": []}', M.ok),
        (200, '{"error": null}', M.ok),
        (200, 'data: {"error": {"code": "model_not_found"}}\n\n', M.absent),
        (200, ': OPENROUTER PROCESSING\n\ndata: {"choices": []}\n\ndata: {"error": {"code": 401}}\n\n', M.refused),
        (200, '{"choices": [{"finish_reason": "error", "error": {"code": 503, "message": "x"}}]}', M.broken),
        (200, '{"detail": {"status": "quota_exceeded", "message": "x"}}', M.quota),
        (200, '{"object": "error", "type": "NotFoundError", "message": "no model", "code": 404}', M.absent),
        (200, '[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}]', M.busy),
        (307, "", M.absent),
        (400, openai(), M.bad_request),
        (400, openai(param="voice", code="invalid_value"), M.absent),
        (400, openai("too long", param="messages", code="context_length_exceeded"), M.bad_request),
        (400, openai("blocked", code="content_filter"), M.filtered),
        (400, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), M.refused),
        (400, openai("Your credit balance is too low", type="invalid_request_error"), M.quota),
        (400, openai("gone", code="model_decommissioned"), M.absent),
        (401, openai(code="invalid_api_key"), M.refused),
        (402, "", M.quota),
        (403, "", M.refused),
        (403, openai("Your input was flagged", code=403), M.filtered),  # OpenRouter's moderation
        (404, "", M.absent),
        (408, "", M.busy),
        (413, "<html>", M.bad_request),
        (422, '{"detail": [{"loc": ["body", "audio"], "msg": "extra"}]}', M.bad_request),
        (429, openai(), M.busy),
        (429, openai("You exceeded your current quota", type="insufficient_quota", code="insufficient_quota"), M.quota),
        (429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", RETRY), M.busy),
        (429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota"), M.quota),
        (429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", PER_DAY, RETRY), M.quota),
        (429, '{"detail": {"status": "too_many_concurrent_requests"}}', M.busy),
        (500, "", M.broken),
        (502, "<html>Bad gateway</html>", M.broken),
        (529, '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}', M.busy),
    ],
)
def test_what_an_answer_means(status, body, meaning):
    found = of_response(status, {}, body, now=NOW)
    assert found.meaning is meaning
    assert bool(found.reason) == (meaning is not M.ok)
    assert "\n" not in found.reason


@pytest.mark.parametrize("odd", [None, 7, [], ["x"], "boom", {}, {"code": None}, {"code": [1]}, {"details": "x"}])
def test_an_error_of_any_shape_has_a_meaning(odd):
    assert of_error(odd, now=NOW).meaning in M
    assert of_response(500, {}, json.dumps({"error": odd}), now=NOW).meaning is M.broken


def test_a_body_of_any_shape_is_read():
    for text in ("", "null", "[]", "[null]", '{"choices": [null]}', '{"choices": 3}', "[" * 100_000, "data: {"):
        error_inside(json_body(text))
        assert of_response(200, {}, text, now=NOW).meaning is M.ok  # whether it is an answer, others decide


def test_the_same_event_has_the_same_meaning_with_a_status_inside_200_and_as_an_event():
    error = {"code": "insufficient_quota", "message": "You exceeded your current quota"}
    body = json.dumps({"error": error})
    found = [of_response(429, {}, body, now=NOW), of_response(200, {}, body, now=NOW), of_error(error, now=NOW)]
    assert {one.meaning for one in found} == {M.quota}


def test_what_the_provider_behind_a_gateway_said_is_told():
    raw = {"message": "Provider returned error", "code": 400, "metadata": {"raw": "must contain the word 'json'"}}
    assert "must contain the word 'json'" in of_error(raw, now=NOW).reason


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after": "0.25"}, "", 0.25),
        ({"retry-after": " 3 "}, "", 3.0),
        ({"retry-after": "86400"}, "", 86400.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:14:20 GMT"}, "", 60.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:12:20 GMT"}, "", 0.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:14:20 GMT", "date": "Tue, 14 Nov 2023 22:14:00 GMT"}, "", 20.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, "", 1.5),
        ({"x-ms-retry-after-ms": "250"}, "", 0.25),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-5"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({"retry-after": "9" * 400}, "", float("inf")),
        ({"retry-after": "soon"}, "Please try again in 41.2s.", 41.2),
        ({}, "Limit 200, Used 200. Please try again in 7m12s. Visit", 432.0),
        ({}, "Please try again in 1m30s", 90.0),
        ({}, "Please try again in 120ms.", 0.12),
        ({}, "Please retry after 20 seconds.", 20.0),
        ({}, "Please retry in 37.588s.", 37.588),
        ({}, "wait 2 minutes and 5 seconds before", 125.0),
        ({}, "try again later", None),
        ({}, "try again 3 times", None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "12ms"}, "", 0.012),
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "12s"}, "", None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "8h12m"}, "", 60.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000030000"}, "", 30.0),
        ({}, "", None),
    ],
)
def test_a_wait_is_read_in_every_form(headers, text, seconds):
    assert asked_wait(headers, (), text, now=NOW) == pytest.approx(seconds)


def test_googles_retry_info_is_read():
    found = of_response(429, {}, google(429, "RESOURCE_EXHAUSTED", "slow down", RETRY), now=NOW)
    assert found.wait_s == 37.0


def test_durations_in_words():
    assert [in_words(s) for s in (0.2, 41.2, 432, 86400, 300000, float("inf"))] == [
        "1 s", "42 s", "8 min", "24 h", "4 days", "for ever",
    ]  # fmt: skip
    assert clock_words(NOW) == "2023-11-14 22:13 UTC"
    assert clock_words(1e18) == ""
    assert read_duration("two") is None


def test_keys_are_taken_out_before_a_message_is_cut():
    key = "sk-abcdefgh/1"
    assert scrub(f"a {key} b sk-abcdefgh%2F1", key, "") == "a *** b ***"
    line = one_line("x" * 295 + key, key)
    assert "sk-" not in line
    found = of_response(401, {}, openai(f"Incorrect API key provided: {key}\n"), keys=(key,), now=NOW)
    assert found.reason == "HTTP 401: Incorrect API key provided: ***"
    headers = {"Authorization": f"Bearer {key}", "xi-api-key": "k-12345", "Host": "h.example", "Content-Type": "json"}
    assert keys_of(headers) == (key, "k-12345")
    assert shown_url("https://me:secret@h.example:8/v1?key=secret") == "https://h.example:8/v1"
