"""What any OpenAI-compatible endpoint has in common: our key, its pauses, and what it says."""

from __future__ import annotations

import os
from typing import Any

import httpx

from vaeval_tasks.errors import InputError

__all__ = ["HOPELESS", "KEYS", "MAX_WAIT_S", "TRY_AGAIN", "api_key", "json_object", "retry_after", "said", "shown"]

KEYS = ("VAEVAL_JUDGE_API_KEY", "OPENAI_API_KEY")
"""Where a judge's key is read from; it is sent and never shown."""
HOPELESS = frozenset({401, 403, 404})
"""HTTP states that no further attempt mends."""
TRY_AGAIN = frozenset({408, 409, 425, 429})
"""HTTP states below 500 that call for another attempt."""
MAX_WAIT_S = 60.0


def api_key() -> str:
    """Return the first key that is set, "" without one.

    Raises:
        InputError: it cannot be sent in a header; the message does not show it.
    """
    for name in KEYS:
        if key := os.environ.get(name, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise InputError(f"the key in ${name} holds characters that no key has; set it again")
            return key
    return ""


def retry_after(response: httpx.Response, default: float) -> float:
    """Return the seconds the server asks to wait, at most a minute; a date or nonsense gives the default."""
    try:
        return min(max(float(response.headers["Retry-After"]), 0.0), MAX_WAIT_S)
    except (KeyError, ValueError):
        return default


def said(response: httpx.Response) -> str:
    """Return ``HTTP 404: what the server says``, on one line."""
    error = json_object(response).get("error")
    text = error.get("message") if isinstance(error, dict) else error
    return f"HTTP {response.status_code}: {shown(response, str(text or response.text))}"


def shown(response: httpx.Response, text: str) -> str:
    """Return what a server says on one line, without our key, should it echo it."""
    key = response.request.headers.get("Authorization", "").removeprefix("Bearer ")
    line = " ".join((text.replace(key, "(key)") if key else text).split())
    return line if len(line) <= 200 else f"{line[:200]}…"


def json_object(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of a reply, an empty one where there is none."""
    try:
        data = response.json()
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
