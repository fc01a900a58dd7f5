"""Ask again where that is allowed: in a fresh session, after a growing wait, a few times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Conversation, Reply, SpeechModel
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["Asked", "Patient", "ask"]

_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 60.0
_UNREACHABLE_RETRIES = 3

OnFailed = Callable[[int, Reply], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The reply that stands, and how many sessions it took."""

    reply: Reply
    attempts: int


def _wait(retry: int, at_least: float) -> float:
    """Seconds before retry number ``retry`` (from 0): doubled each time, and never less than the provider wants."""
    return max(at_least, min(_FIRST_WAIT_S * 2.0**retry, _LONGEST_WAIT_S))


async def ask(
    model: SpeechModel,
    conversation: Conversation,
    config: ModelConfig,
    *,
    clock: Clock | None = None,
    on_failed: OnFailed | None = None,
) -> Asked:
    """Ask until an answer stands.

    Args:
        model: the adapter.
        conversation: what is asked.
        config: the configuration.
        clock: measures the waits.
        on_failed: gets the number and the reply of each attempt that will be followed by another.

    Raises:
        ServiceError: nobody was reached, also after waiting, or the configuration is refused.
        VaevalError: see :class:`vaeval_tasks.models.protocol.SpeechModel`.
    """
    clock = clock or Clock()
    retries = 0
    while True:
        try:
            reply = await model.respond(conversation, config)
        except ServiceError as error:
            if not error.retry or retries >= _UNREACHABLE_RETRIES:
                raise
            await clock.sleep(_wait(retries, 0.0))
        else:
            if reply.retry is None or retries >= reply.retry.at_most:
                return Asked(reply=reply, attempts=retries + 1)
            if on_failed is not None:
                await on_failed(retries + 1, reply)
            await clock.sleep(_wait(retries, reply.retry.after_s))
        retries += 1


class Patient:
    """A speech model that asks again where that is allowed."""

    def __init__(self, model: SpeechModel, clock: Clock | None = None) -> None:
        self._model, self._clock = model, clock

    @property
    def sees(self) -> bool:
        """Whether the model takes images."""
        return self._model.sees

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn; see :func:`ask`."""
        return (await ask(self._model, conversation, config, clock=self._clock)).reply

    async def close(self) -> None:
        """Close the model."""
        await asyncio.shield(self._model.close())
