"""Asks one system one unit: turn by turn, each as often as it takes, within a time limit, whatever the adapter does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.errors import ServiceError, VaevalError, fault
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Conversation, Reply, SpeechModel, Turn, TurnRole
from vaeval_tasks.models.providers import PROVIDERS
from vaeval_tasks.models.turn import Timeouts, unsupported
from vaeval_tasks.services.http.retry import LONGEST_ASKED_WAIT_S, next_wait
from vaeval_tasks.services.http.waits import in_words
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["Asked", "KeptAs", "hold", "in_process"]

_UNREACHABLE_RETRIES = 3
_GRACE_S = 30.0
"""What an adapter may take beyond its own limit of a turn, to say itself what was missing."""


class KeptAs(StrEnum):
    """What becomes of a reply."""

    answer = "answer"
    """It stands."""
    failed_attempt = "failed_attempt"
    """Another attempt follows it."""
    earlier_turn = "earlier_turn"
    """It answers a turn of a dialogue that goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A reply, and where in the asking it came."""

    reply: Reply
    attempts: int = 1
    """The number of the attempt: one more than have failed so far, in earlier runs too."""
    turn: int = 0
    """Of a dialogue the user turn, from 1; 0 where there is only one."""
    turn_texts: tuple[str, ...] = ()
    """The answers to every turn of a dialogue so far, this one included."""


Keep = Callable[[Asked, KeptAs], Awaitable[Path | None]]
"""Keeps a reply that does not stand, and returns the file of its sound, if it has one."""


def in_process(config: ModelConfig) -> bool:
    """Whether the system of a configuration runs in this process: it wants requests together and may take its time."""
    known = PROVIDERS.get(config.provider)
    return known is not None and not known.addresses


async def hold(model: SpeechModel, unit: AskingUnit, *, clock: Clock, keep: Keep) -> Asked:
    """Ask every turn of a unit and return what came of the last one.

    The history of a dialogue is the system's own earlier answers, text and sound. A turn that fails ends it: what
    came of that turn is not the answer to the last one.

    Args:
        model: the system.
        unit: what is asked.
        clock: measures waits and time limits.
        keep: keeps failed attempts and the answers to earlier turns.

    Raises:
        InputError: this unit can never be asked (an unreadable clip).
        VaevalError: this configuration can never be asked, or nobody was reached, also after waiting.
    """
    if any(turn.images for turn in unit.turns) and not model.sees:
        return Asked(reply=unsupported("the model does not take images"), attempts=unit.attempts + 1)
    turns: list[Turn] = []
    asked = Asked(reply=Reply(status=ResponseStatus.empty), attempts=unit.attempts + 1)
    for number, (question, seed) in enumerate(zip(unit.turns, unit.seeds, strict=True), 1):
        turns.append(question)
        conversation = Conversation(
            turns=tuple(turns), system_prompt=unit.system_prompt, role_audio=unit.role_audio, seed=seed
        )
        asked = replace(asked, turn=number if len(unit.turns) > 1 else 0)
        asked = await _persist(model, conversation, unit.config, asked, clock=clock, keep=keep)
        reply = asked.reply
        if number == len(unit.turns):
            return asked
        if reply.status is not ResponseStatus.ok:
            break
        sound = await keep(asked, KeptAs.earlier_turn)
        # for systems that take history as text: what the system itself heard
        turns[-1] = replace(question, text=reply.input_transcript)
        turns.append(Turn(role=TurnRole.assistant, audio=(sound,) if sound else (), text=asked.turn_texts[-1]))
    lost = replace(
        reply, text="", audio=None, output_transcript="", error=f"turn {number}: {reply.error}",
        provisional=reply.provisional or reply.audio,
    )  # fmt: skip
    return replace(asked, reply=lost)


async def _persist(
    model: SpeechModel, conversation: Conversation, config: ModelConfig, before: Asked, *, clock: Clock, keep: Keep
) -> Asked:
    """Ask one turn until an answer stands: in fresh sessions, after growing waits, a few times."""
    retries = 0
    while True:
        final: VaevalError | None = None
        try:
            reply = await _attempt(model, conversation, config, clock)
            again = reply.retry is not None and retries < reply.retry.at_most
            at_least = reply.retry.after_s if reply.retry is not None else 0.0
        except ServiceError as error:
            if not error.retry:
                raise
            reply, at_least, final = Reply(status=ResponseStatus.error, error=str(error)), 0.0, error
            again = retries < _UNREACHABLE_RETRIES
        if again and at_least > LONGEST_ASKED_WAIT_S:
            reply = replace(reply, error=f"{reply.error} (to be left alone for {in_words(at_least)}: not waited for)")
            again = False
        if final is not None and not again:
            raise final
        text = reply.text or reply.output_transcript
        asked = replace(before, reply=reply, turn_texts=(*before.turn_texts, text) if before.turn else ())
        if not again:
            return asked
        await keep(asked, KeptAs.failed_attempt)
        before = replace(before, attempts=before.attempts + 1)
        await clock.sleep(next_wait(retries, at_least))
        retries += 1


def _limit_s(config: ModelConfig) -> float | None:
    """How long an adapter may take for a turn, seconds; it has limits of its own, this one is for when they fail."""
    if in_process(config) and "turn" not in (config.connection.get("timeouts") or {}):
        return None  # it loads weights, and waits for others to make a batch
    return Timeouts.of(config).turn + _GRACE_S


async def _attempt(model: SpeechModel, conversation: Conversation, config: ModelConfig, clock: Clock) -> Reply:
    """Return what came of one session. Whatever else an adapter raises is a fault of this one attempt."""
    limit = _limit_s(config)
    try:
        async with clock.timeout(limit) if limit is not None else asyncio.timeout(None):
            reply = await model.respond(conversation, config)
    except VaevalError:
        raise
    except TimeoutError as error:
        why = str(error) or f"no end of the turn within {limit or 0:g} s"
        return Reply(status=ResponseStatus.timeout, error=why)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return Reply(
            status=ResponseStatus.error, error=f"unexpected {fault(error)}"
        )  # the adapter's own, not an end of the run
    except Exception as error:
        return Reply(status=ResponseStatus.error, error=f"unexpected {fault(error)}")
    if not isinstance(reply, Reply):
        return Reply(status=ResponseStatus.error, error=f"the adapter returned {type(reply).__name__}, not a Reply")
    return reply
