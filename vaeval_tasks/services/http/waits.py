"""How long a server asks to be left alone: one reading of headers, error details and error texts.

Sources: RFC 9110, 10.2.3 (Retry-After: seconds or a date); OpenAI and Azure (``retry-after-ms``,
``x-ms-retry-after-ms``, ``x-ratelimit-*``, "Please try again in 1m30s", "retry after 20 seconds");
``google.rpc.RetryInfo`` (``retryDelay: "37s"``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["asked_wait", "clock_words", "in_words", "read_duration"]

_UNIT = r"(?:milliseconds?|ms|minutes?|mins?|m|hours?|hrs?|h|days?|d|seconds?|secs?|s)(?![a-z])"
_PART = re.compile(rf"(\d+(?:\.\d+)?)\s*({_UNIT})", re.IGNORECASE)
_DURATION = rf"(?:\d+(?:\.\d+)?\s*{_UNIT}[\s,]*(?:and\s+)?)+"
_ASKS = re.compile(rf"\b(?:try again|retry|wait)\b[^.;\d]{{0,30}}?({_DURATION})", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_HINT_AT_MOST_S = 60.0
"""``x-ratelimit-reset-*`` says when the whole allowance is back; the next request may come long before."""


def _unit_seconds(unit: str) -> float:
    unit = unit.lower()
    if unit.startswith("mil") or unit == "ms":
        return 0.001
    return {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}[unit[0]]


def read_duration(text: str) -> float | None:
    """Return the seconds of ``41.2s``, ``1m30s``, ``120ms``, ``20 seconds`` or a bare number; None for others."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    if not re.fullmatch(_DURATION, text, re.IGNORECASE):
        return None
    return sum(float(number) * _unit_seconds(unit) for number, unit in _PART.findall(text))


def asked_wait(headers: Mapping[str, str], details: Iterable[Any], text: str, *, now: float) -> float | None:
    """Return the seconds that a server asks for, None where it asks for nothing that can be read.

    Args:
        headers: of the response; names in lower case, or a mapping that does not mind.
        details: the ``details`` of an error, where a ``retryDelay`` may be.
        text: the error's message.
        now: the time, in seconds since 1970; a server's own ``Date`` goes before it.

    Returns:
        Zero or more seconds, as asked: :func:`vaeval_tasks.services.http.retry.decide` knows what is too long.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if _NUMBER.fullmatch(value := headers.get(name, "").strip()):
            return float(value) / 1000
    for found in (_retry_after(headers, now), _retry_delay(details), _said(text), _hint(headers, now)):
        if found is not None:
            return found
    return None


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    value = headers.get("retry-after", "")
    found = read_duration(value)
    if found is not None or not value:
        return found
    at = _date(value)
    return None if at is None else max(0.0, at - (_date(headers.get("date", "")) or now))


def _date(value: str) -> float | None:
    try:
        at = parsedate_to_datetime(value)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _retry_delay(details: Iterable[Any]) -> float | None:
    for detail in details:
        if isinstance(detail, dict) and isinstance(delay := detail.get("retryDelay"), str):
            return read_duration(delay)
    return None


def _said(text: str) -> float | None:
    found = _ASKS.search(text[:2000])
    return sum(float(n) * _unit_seconds(unit) for n, unit in _PART.findall(found.group(1))) if found else None


def _hint(headers: Mapping[str, str], now: float) -> float | None:
    """Return when an allowance that is used up is back, at most a minute: a hint and no demand."""
    waits = [
        _reset(headers.get(f"x-ratelimit-reset{kind}", ""), now)
        for kind in ("", "-requests", "-tokens")
        if headers.get(f"x-ratelimit-remaining{kind}", "").strip() == "0"
    ]
    known = [min(wait, _HINT_AT_MOST_S) for wait in waits if wait is not None]
    return max(known) if known else None


def _reset(value: str, now: float) -> float | None:
    """Return the seconds until a reset that is given as a duration, or as the time in seconds or milliseconds."""
    wait = read_duration(value)
    if wait is None or wait < 1e9:
        return wait
    return max(0.0, (wait / 1000 if wait > 1e11 else wait) - now)


def in_words(seconds: float) -> str:
    """Return a duration as a person says it: ``41 s``, ``7 min``, ``24 h``, ``3 days``."""
    if not math.isfinite(seconds) or seconds > 1e9:
        return "for ever"
    for size, unit in ((172800.0, "days"), (7200.0, "h"), (120.0, "min")):
        if seconds >= size:
            return f"{math.ceil(seconds / {'days': 86400, 'h': 3600, 'min': 60}[unit])} {unit}"
    return f"{math.ceil(seconds)} s"


def clock_words(at: float) -> str:
    """Return a moment (seconds since 1970) as a date and time in UTC, "" for one that no calendar has."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ""
