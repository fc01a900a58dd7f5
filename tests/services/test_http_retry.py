"""The decision to ask again: it always ends, and never waits longer than it may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.services.http.breaker import Breaker
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome
from vaeval_tasks.services.http.retry import LONGEST_ASKED_WAIT_S, RetryRule, Return, Stop, Wait, decide, next_wait

outcomes = st.builds(
    HttpOutcome,
    meaning=st.sampled_from(HttpMeaning),
    reason=st.text(max_size=20),
    wait_s=st.none() | st.floats(min_value=0, allow_nan=False, allow_infinity=True),
)
rules = st.builds(
    RetryRule, retries=st.integers(min_value=0, max_value=50), longest_asked_s=st.floats(min_value=0, max_value=1e6)
)


@given(st.lists(outcomes, min_size=52, max_size=52), rules, st.floats(min_value=0, max_value=4e9))
def test_it_always_ends_and_never_waits_longer_than_the_cap(seen, rule, now):
    for attempt, outcome in enumerate(seen, 1):
        step = decide(attempt, outcome, rule, now=now)
        if not isinstance(step, Wait):
            break
        assert 0 < step.seconds <= max(rule.longest_asked_s, 60.0)
        assert step.seconds >= (outcome.wait_s or 0.0)
        assert outcome.meaning.again
    assert attempt <= rule.retries + 1
    assert not isinstance(step, Wait)
    if isinstance(step, Stop):
        assert outcome.meaning.for_all or (outcome.wait_s or 0.0) > rule.longest_asked_s


@pytest.mark.parametrize("meaning", list(HttpMeaning))
def test_every_meaning_is_decided_at_the_first_attempt(meaning):
    step = decide(1, HttpOutcome(meaning=meaning, reason="r"), RetryRule(), now=0.0)
    wanted = {"refused": Stop, "absent": Stop, "setting": Stop, "quota": Stop}
    again = {"busy", "broken", "slow", "unreachable", "unreadable", "empty", "interrupted", "expired"}
    assert type(step) is wanted.get(meaning, Wait if meaning in again else Return)


def test_a_wait_that_is_too_long_is_said_and_not_slept():
    asks = HttpOutcome(meaning=HttpMeaning.busy, reason="HTTP 429: daily limit", wait_s=86400.0)
    step = decide(1, asks, RetryRule(), now=1_700_000_000.0)
    assert step == Stop(
        reason="the server asks to wait 24 h (HTTP 429: daily limit); "
        "run the same command again after 2023-11-15 22:13 UTC"
    )
    assert decide(1, asks, RetryRule(longest_asked_s=1e5), now=0.0) == Wait(seconds=86400.0)
    at_the_cap = HttpOutcome(meaning=HttpMeaning.busy, wait_s=LONGEST_ASKED_WAIT_S)
    assert decide(1, at_the_cap, RetryRule(), now=0.0) == Wait(seconds=LONGEST_ASKED_WAIT_S)


def test_waits_grow_to_a_minute_and_are_never_shorter_than_asked():
    assert [next_wait(n) for n in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert next_wait(10**9) == 60
    assert [next_wait(0, 7.0), next_wait(5, 7.0)] == [7.0, 32.0]


def made(meaning: HttpMeaning) -> HttpOutcome:
    return HttpOutcome(meaning=meaning, reason=meaning.value)


def test_only_a_probe_that_fails_opens_the_breaker():
    answers = [made(HttpMeaning.ok), made(HttpMeaning.bad_request), made(HttpMeaning.broken)]
    asked: list[HttpOutcome] = []

    def probe() -> HttpOutcome:
        asked.append(answers[len(asked)])
        return asked[-1]

    breaker = Breaker(probe, after=3)
    for meaning in (HttpMeaning.broken, HttpMeaning.slow, HttpMeaning.ok, HttpMeaning.broken, HttpMeaning.broken):
        breaker.note(made(meaning))
    assert asked == []  # an answer between them
    breaker.note(made(HttpMeaning.broken))
    assert (len(asked), breaker.reason) == (1, "")  # it is there, although it broke three times
    breaker.note(made(HttpMeaning.unreachable))
    assert (len(asked), breaker.reason) == (2, "")  # HTTP 400 is an answer
    for _ in range(20):
        breaker.note(made(HttpMeaning.filtered))
    for _ in range(3):
        breaker.note(made(HttpMeaning.broken))
    assert (len(asked), breaker.reason) == (3, "broken")
    assert breaker.gone() == "broken"
    assert len(asked) == 3
