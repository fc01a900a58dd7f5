"""The server's clock: the time of day at the start plus a monotonic clock, so that it never jumps."""

from __future__ import annotations

import time

__all__ = ["MINUTE", "SECOND", "now_ms"]

SECOND = 1000
MINUTE = 60 * SECOND

_START_MS = time.time_ns() // 1_000_000
_START_MONOTONIC_MS = time.monotonic_ns() // 1_000_000


def now_ms() -> int:
    """Return whole ms since 1970 (UTC). Listening times are differences of it, so it must not be set back."""
    return _START_MS + time.monotonic_ns() // 1_000_000 - _START_MONOTONIC_MS
