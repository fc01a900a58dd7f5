"""When to ask again: one pure decision, without a clock, a loop or a connection, for sync and async callers."""

from __future__ import annotations

from dataclasses import dataclass

from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome
from vaeval_tasks.services.http.waits import clock_words, in_words

__all__ = [
    "LONGEST_ASKED_WAIT_S",
    "SAY_FROM_S",
    "RetryRule",
    "Return",
    "Stop",
    "Wait",
    "decide",
    "next_wait",
    "too_long",
]

LONGEST_ASKED_WAIT_S = 120.0
"""A server that asks for more ends the work with a word: nobody wants to find a program that slept for a day."""
SAY_FROM_S = 10.0
"""A wait from this many seconds on is told to whoever watches."""
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 60.0
_ODD_ANSWERS = 2
"""So often an empty or unreadable answer is asked for again: a model that says nothing twice will say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """How patient to be."""

    retries: int = 4
    """Further attempts after the first."""
    longest_asked_s: float = LONGEST_ASKED_WAIT_S
    """The longest wait a server may ask for, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Ask again after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Ask nothing more of this kind: every further request would meet the same."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """This outcome stands, good or bad; other requests may be asked."""


def next_wait(retry: int, at_least: float = 0.0) -> float:
    """Return the seconds before retry number ``retry`` (from 0): doubled each time, never less than was asked for."""
    return max(at_least, min(_FIRST_WAIT_S * 2.0 ** min(retry, 30), _LONGEST_WAIT_S))


def too_long(outcome: HttpOutcome, *, now: float, longest: float = LONGEST_ASKED_WAIT_S) -> str:
    """Return what to tell the user where a server asks for a longer wait than we make, "" where it does not."""
    if outcome.wait_s is None or outcome.wait_s <= longest:
        return ""
    when = clock_words(now + outcome.wait_s)
    after = f"run the same command again after {when}" if when else "it will not answer"
    return f"the server asks to wait {in_words(outcome.wait_s)} ({outcome.reason}); {after}"


def decide(attempt: int, outcome: HttpOutcome, rule: RetryRule, *, now: float) -> Wait | Stop | Return:
    """Return what to do after an attempt.

    Args:
        attempt: its number, from 1.
        outcome: what came of it.
        rule: how patient to be.
        now: seconds since 1970, for the message.

    Returns:
        ``Wait`` at most ``rule.retries`` times and never longer than ``max(rule.longest_asked_s, 60)`` seconds.
    """
    if outcome.meaning.for_all:
        return Stop(reason=outcome.reason)
    if not outcome.meaning.again:
        return Return()
    if reason := too_long(outcome, now=now, longest=rule.longest_asked_s):
        return Stop(reason=reason)
    odd = outcome.meaning in (HttpMeaning.empty, HttpMeaning.unreadable)
    if attempt > (min(rule.retries, _ODD_ANSWERS) if odd else rule.retries):
        return Return()
    return Wait(seconds=next_wait(attempt - 1, outcome.wait_s or 0.0))
