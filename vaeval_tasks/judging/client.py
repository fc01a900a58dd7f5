"""Ask an OpenAI-compatible ``/chat/completions`` endpoint, patiently."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.metrics.chat_http import (
    HOPELESS,
    MAX_WAIT_S,
    TRY_AGAIN,
    api_key,
    json_object,
    retry_after,
    said,
    shown,
)

__all__ = ["Answer", "ChatClient"]


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
        InputError: the address is not HTTP, or the key cannot be sent.
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
        key = api_key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(headers=headers, timeout=timeout, limits=httpx.Limits(max_connections=concurrency))

    def ask(self, body: dict[str, Any]) -> Answer:
        """Post one request, again where that can help.

        Raises:
            ServiceError: the endpoint refuses the key, the model or the address.
        """
        reason = ""
        for attempt in range(1, self._retries + 2):
            wait = min(2.0 ** (attempt - 1), MAX_WAIT_S)
            try:
                response = self._http.post(self.url, json=body)
            except httpx.TransportError as error:
                reason = f"{type(error).__name__} ({error})"
            else:
                if response.status_code in HOPELESS:
                    raise ServiceError(f"the judge at {self.url} refused: {said(response)}")
                if response.status_code not in TRY_AGAIN and response.status_code < 500:
                    return _read(response, attempt)
                reason = said(response)
                wait = retry_after(response, wait)
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


def _read(response: httpx.Response, attempts: int) -> Answer:
    if response.status_code != httpx.codes.OK:
        return Answer(reason=said(response), attempts=attempts)
    try:
        choice = json_object(response)["choices"][0]
        content, refusal = choice["message"].get("content"), choice["message"].get("refusal")
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        return Answer(reason=f"not a chat completion: {shown(response, response.text)}", attempts=attempts)
    if refusal:
        return Answer(reason=f"refused: {refusal}", attempts=attempts)
    if finish == "length":
        return Answer(reason="cut off; raise --max-tokens", attempts=attempts)
    if not isinstance(content, str) or not content.strip():
        return Answer(reason=f"an empty answer (finish_reason {finish})", attempts=attempts)
    return Answer(text=content, attempts=attempts)
