"""Time as the adapters see it; a faster clock makes a real-time protocol quick to test."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

__all__ = ["Clock"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds that pass ``speed`` times as fast as on the wall."""

    speed: float = 1.0

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        return time.monotonic() * self.speed

    async def sleep(self, seconds: float) -> None:
        """Sleep for that many of this clock's seconds."""
        await asyncio.sleep(max(0.0, seconds) / self.speed)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Return a context that raises ``TimeoutError`` after that many of this clock's seconds."""
        return asyncio.timeout(max(0.0, seconds) / self.speed)
