"""Time as the adapters see it; a faster clock makes a real-time protocol quick to test."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

__all__ = ["Alarm", "Clock"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds that pass ``speed`` times as fast as on the wall."""

    speed: float = 1.0

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        return time.monotonic() * self.speed

    async def sleep(self, seconds: float) -> None:
        """Sleep for that many of this clock's seconds."""
        await asyncio.sleep(self.on_the_wall(seconds))

    def on_the_wall(self, seconds: float) -> float:
        """Return how long that many of this clock's seconds take, from 0."""
        return max(0.0, seconds) / self.speed

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Return a context that raises ``TimeoutError`` after that many of this clock's seconds."""
        return asyncio.timeout(self.on_the_wall(seconds))


class Alarm:
    """Limits many short waits of one task after another, like ``asyncio.timeout``, with one timer for all of them.

    A timer for each wait costs more than reading the message that was waited for::

        with alarm.within(60.0):
            await ...  # TimeoutError after 60 s
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._due = 0.0
        self._rang = False

    def within(self, seconds: float) -> Self:
        """Set the limit, in seconds, of the block that follows."""
        self._due = self._loop.time() + seconds
        return self

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling() if self._task is not None else 0
        if self._timer is None or self._timer.when() > self._due:
            self._arm()

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        task, self._task = self._task, None
        if self._rang and task is not None:
            self._rang = False
            if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
                raise TimeoutError

    def stop(self) -> None:
        """Put the timer away."""
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        self.stop()
        self._timer = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._task is None:  # nobody waits; the next wait sets the timer
            return
        if self._loop.time() < self._due:  # another wait than the one the timer was set for
            self._arm()
            return
        self._rang = True
        self._task.cancel()
