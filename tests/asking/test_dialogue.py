"""Asking one unit: again where that is allowed, turn by turn, and whatever an adapter does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from vaeval_tasks.asking.dialogue import Asked, KeptAs, hold
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Reply, Retry, Turn
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

CONFIG = ModelConfig(model="m", provider="chat_audio")


class Scripted:
    """Answers with these replies, or raises these errors, in turn."""

    sees = True

    def __init__(self, *script) -> None:
        self.script = list(script)
        self.asked = []

    async def respond(self, conversation, config):
        self.asked.append(conversation)
        found = self.script.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found

    async def close(self) -> None:
        pass


OK = Reply(status=ResponseStatus.ok, text="four")
BUSY = Reply(status=ResponseStatus.error, error="busy", retry=Retry())
ONCE = Reply(status=ResponseStatus.timeout, retry=Retry(at_most=1))
GONE = ServiceError("nobody there", retry=True)


def ask(*script, turns: int = 1, attempts: int = 0, clock: Clock | None = None):
    """Ask a unit; return what stands, what was kept on the way, and the system."""
    system = Scripted(*script)
    kept: list[tuple[KeptAs, int, int, str]] = []

    async def keep(asked: Asked, kept_as: KeptAs) -> Path | None:
        kept.append((kept_as, asked.turn, asked.attempts, asked.reply.error))
        return None

    unit = AskingUnit(
        response_id="r",
        prompt_id="p",
        config=CONFIG,
        turns=(Turn(role="user"),) * turns,
        seeds=(0,) * turns,
        attempts=attempts,
    )
    return asyncio.run(hold(system, unit, clock=clock or Clock(1000), keep=keep)), kept, system


@pytest.mark.parametrize(
    ("script", "attempts", "status"),
    [
        ([OK], 1, ResponseStatus.ok),
        ([BUSY, BUSY, OK], 3, ResponseStatus.ok),
        ([BUSY] * 4, 4, ResponseStatus.error),
        ([ONCE, ONCE], 2, ResponseStatus.timeout),
        ([GONE, OK], 2, ResponseStatus.ok),
        ([Reply(status=ResponseStatus.degenerate)], 1, ResponseStatus.degenerate),
    ],
)
def test_asking_again(script, attempts, status):
    asked, kept, system = ask(*script)
    assert (asked.attempts, asked.reply.status, system.script) == (attempts, status, [])
    assert [(a, b, c) for a, b, c, _ in kept] == [(KeptAs.failed_attempt, 0, n) for n in range(1, attempts)]


@pytest.mark.parametrize("script", [[GONE] * 4, [ServiceError("refused")], [InputError("bad clip")]])
def test_errors_that_stay(script):
    with pytest.raises((ServiceError, InputError)):
        ask(*script)


def test_every_failed_attempt_of_a_dialogue_is_kept_with_its_turn():
    asked, kept, system = ask(BUSY, OK, OK, GONE, BUSY, OK, turns=3, attempts=2)
    assert (asked.turn, asked.attempts, asked.turn_texts) == (3, 6, ("four",) * 3)
    assert kept == [
        (KeptAs.failed_attempt, 1, 3, "busy"),
        (KeptAs.earlier_turn, 1, 4, ""),
        (KeptAs.earlier_turn, 2, 4, ""),
        (KeptAs.failed_attempt, 3, 4, "nobody there"),
        (KeptAs.failed_attempt, 3, 5, "busy"),
    ]
    assert [len(c.turns) for c in system.asked] == [1, 1, 3, 5, 5, 5]


@pytest.mark.parametrize(
    "defect",
    [
        AttributeError("'str' object has no attribute 'get'"),
        asyncio.CancelledError("of the adapter's own"),
        MemoryError("too large"),
        ExceptionGroup("two", [KeyError("a")]),
    ],
)
def test_whatever_an_adapter_raises_is_the_fault_of_one_turn(defect):
    asked, _, _ = ask(OK, defect, turns=3)
    assert (asked.reply.status, asked.turn) == (ResponseStatus.error, 2)
    assert asked.reply.error.startswith(f"turn 2: unexpected {type(defect).__name__}: ")
    assert "(test_dialogue.py, line " in asked.reply.error


def test_what_is_no_reply_is_an_error():
    asked, _, _ = ask(None)
    assert (asked.reply.status, asked.reply.error) == (
        ResponseStatus.error,
        "the adapter returned NoneType, not a Reply",
    )


class Waits(Clock):
    """A clock that writes its sleeps down instead of sleeping."""

    __slots__ = ("slept",)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def waits() -> Waits:
    clock = Waits()
    object.__setattr__(clock, "slept", [])
    return clock


def test_waits_grow_and_respect_the_provider():
    clock = waits()
    ask(BUSY, BUSY, Reply(status=ResponseStatus.error, retry=Retry(after_s=30)), OK, clock=clock)
    assert clock.slept == [1.0, 2.0, 30.0], "doubled each time, and never less than the provider wants"


def test_a_provider_that_wants_a_day_is_not_waited_for():
    clock = waits()
    asked, _, _ = ask(Reply(status=ResponseStatus.error, error="HTTP 429", retry=Retry(after_s=86400)), clock=clock)
    assert clock.slept == []
    assert asked.reply.error == "HTTP 429 (to be left alone for 24 h: not waited for)"
