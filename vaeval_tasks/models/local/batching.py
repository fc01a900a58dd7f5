"""Lets requests that arrive together be answered together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

__all__ = ["Batcher"]

X = TypeVar("X")
Y = TypeVar("Y")


@dataclass(slots=True)
class _Batch:
    requests: list[Any] = field(default_factory=list)
    answers: asyncio.Task[list[Any]] | None = None


class Batcher(Generic[X, Y]):
    """Collects requests into batches and answers one batch at a time, in a thread.

    Args:
        work: answers a batch, one result for each request; what it raises is raised to all of them.
        size: the largest batch.
        wait_s: how long the first request waits for company, in seconds.
    """

    def __init__(self, work: Callable[[list[X]], list[Y]], size: int, wait_s: float = 0.02) -> None:
        self._work, self._size, self._wait_s = work, size, wait_s
        self._open: _Batch | None = None
        self._turn = asyncio.Lock()

    async def submit(self, request: X) -> Y:
        """Return the answer to a request."""
        if self._open is None:
            self._open = _Batch()
            self._open.answers = asyncio.create_task(self._run(self._open))
        batch, number = self._open, len(self._open.requests)
        batch.requests.append(request)
        if len(batch.requests) == self._size:
            self._open = None
        assert batch.answers is not None  # noqa: S101 - set where the batch is made
        answer: Y = (await asyncio.shield(batch.answers))[number]
        return answer

    async def _run(self, batch: _Batch) -> list[Y]:
        if self._size > 1:
            await asyncio.sleep(self._wait_s)
        async with self._turn:  # a batch stays open for others while it waits for the one before
            if self._open is batch:
                self._open = None
            return await asyncio.to_thread(self._work, batch.requests)
