"""Ask an OpenAI-compatible ``/chat/completions`` endpoint, patiently."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from vaeval_tasks.errors import InputError, ServiceError

__all__ = ["KEYS", "Answer", "ChatClient"]

KEYS = ("VAEVAL_JUDGE_API_KEY", "OPENAI_API_KEY")
"""Where the key is read from; it is sent and never shown."""
_HOPELESS = {401, 403, 404}
_AGAIN = {408, 409, 425, 429}
_MAX_WAIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back: the text, or the reason there is none."""

    text: str = ""
    reason: str = ""
    reached: bool = True
    """False where no usable HTTP answer came after all attempts: to be asked again another time."""
    attempts: int = 1


class ChatClient:
    """A connection to the judge. Thread-safe.

    Args:
        url: the endpoint's base, such as ``http://localhost:8000/v1``.
        timeout: seconds for one request.
        retries: further attempts after HTTP 429, 5xx, time-outs and lost connections.
        concurrency: connections at a time.
        sleep: waits between attempts, in seconds; by default until :meth:`stop` at the latest.

    Raises:
        InputError: the address is not HTTP.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 180.0,
        retries: int = 5,
        concurrency: int = 4,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"the judge's address must start with http:// or https://, got {url!r}")
        base = url.rstrip("/")
        self.url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._retries = retries
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait
        key = next((os.environ[name] for name in KEYS if os.environ.get(name)), "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(headers=headers, timeout=timeout, limits=httpx.Limits(max_connections=concurrency))

    def ask(self, body: dict[str, Any]) -> Answer:
        """Post one request, again where that can help.

        Raises:
            ServiceError: the endpoint refuses the key, the model or the address.
        """
        reason = ""
        for attempt in range(1, self._retries + 2):
            wait = min(2.0 ** (attempt - 1), _MAX_WAIT_S)
            try:
                response = self._http.post(self.url, json=body)
            except httpx.TransportError as error:
                reason = f"{type(error).__name__} ({error})"
            else:
                if response.status_code in _HOPELESS:
                    raise ServiceError(f"the judge at {self.url} refused: {_said(response)}")
                if response.status_code not in _AGAIN and response.status_code < 500:
                    return _read(response, attempt)
                reason = _said(response)
                wait = _retry_after(response, wait)
            if self._stopped.is_set() or attempt > self._retries:
                break
            self._sleep(wait)
        return Answer(reason=reason, reached=False, attempts=attempt)

    def stop(self) -> None:
        """Let requests under way end without another attempt."""
        self._stopped.set()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _retry_after(response: httpx.Response, default: float) -> float:
    """Return the seconds the server asks to wait, at most a minute; a date or nonsense gives the default."""
    try:
        return min(max(float(response.headers["Retry-After"]), 0.0), _MAX_WAIT_S)
    except (KeyError, ValueError):
        return default


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        data = response.json()
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _said(response: httpx.Response) -> str:
    """Return ``HTTP 404: what the server says``, on one line."""
    error = _json(response).get("error")
    text = error.get("message") if isinstance(error, dict) else error
    return f"HTTP {response.status_code}: {' '.join(str(text or response.text).split())[:200]}"


def _read(response: httpx.Response, attempts: int) -> Answer:
    if response.status_code != httpx.codes.OK:
        return Answer(reason=_said(response), attempts=attempts)
    try:
        choice = _json(response)["choices"][0]
        content, refusal = choice["message"].get("content"), choice["message"].get("refusal")
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        return Answer(reason=f"not a chat completion: {response.text[:200]}", attempts=attempts)
    if refusal:
        return Answer(reason=f"refused: {refusal}", attempts=attempts)
    if finish == "length":
        return Answer(reason="cut off; raise --max-tokens", attempts=attempts)
    if not isinstance(content, str) or not content.strip():
        return Answer(reason=f"an empty answer (finish_reason {finish})", attempts=attempts)
    return Answer(text=content, attempts=attempts)
