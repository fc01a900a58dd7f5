"""HTTP requests to a provider, with their failures named."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from vaeval_tasks.models.protocol import Retry
from vaeval_tasks.models.transport.record import scrub
from vaeval_tasks.models.transport.websocket import refusal, trust, unreachable
from vaeval_tasks.models.turn import Answer, Timeouts, TurnError
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

if TYPE_CHECKING:
    import httpx

__all__ = ["Http"]

_SETTINGS = ("model_not_found", "voice_not_found", "invalid_api_key", "quota_exceeded", "insufficient_quota")
"""Codes of a request that will be refused for every prompt."""


_POOLS = 16
"""A pool looks at each of its connections at each request; many small pools are quicker than a large one."""


class Http:
    """Clients that keep connections open between requests of one event loop."""

    def __init__(self) -> None:
        self._clients: list[httpx.AsyncClient] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._requests = 0

    def _next(self) -> httpx.AsyncClient:
        import httpx

        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._clients, self._loop = [], loop
        self._requests += 1
        if len(self._clients) < _POOLS:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
            self._clients.append(httpx.AsyncClient(limits=limits, verify=trust()))
            return self._clients[-1]
        return self._clients[self._requests % _POOLS]

    async def close(self) -> None:
        """Close the connections."""
        if self._loop is asyncio.get_running_loop():
            for client in self._clients:
                await client.aclose()
        self._clients, self._loop = [], None

    @asynccontextmanager
    async def post(
        self,
        url: str,
        *,
        config: ModelConfig,
        answer: Answer,
        timeouts: Timeouts,
        headers: Mapping[str, str] | None = None,
        **content: Any,
    ) -> AsyncIterator[httpx.Response]:
        """Send a POST and yield the response of status 200 before its body is read.

        Args:
            url: the address, without a key.
            config: the configuration that asks, for messages.
            answer: where the turn is collected.
            timeouts: ``connect`` and ``first_audio`` limit the wait.
            headers: their values may hold keys and are kept nowhere.
            content: ``content``, ``json``, ``data``, ``files`` or ``params`` of httpx.

        Raises:
            ServiceError: nobody is there (``retry`` is set), or the key, model or voice is refused.
            TurnError: the service is overloaded, refused this request, broke off or was too slow.
        """
        import httpx

        limits = httpx.Timeout(timeouts.first_audio, connect=timeouts.connect)
        try:
            async with self._next().stream("POST", url, headers=headers, timeout=limits, **content) as response:
                if response.status_code != 200:
                    body = (await response.aread()).decode("utf-8", "replace")
                    keys = [v.removeprefix("Bearer ") for k, v in (headers or {}).items() if k != "Content-Type"]
                    raise _refused(config, url, response, scrub(body, *keys))
                yield response
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise unreachable(config, url, error) from None
        except httpx.TimeoutException as error:
            raise TurnError(ResponseStatus.timeout, f"{url}: {type(error).__name__}") from None
        except httpx.TransportError as error:
            reason = f"{url} broke off ({type(error).__name__}: {error})"
            raise TurnError(ResponseStatus.error, reason, None if answer.begun else Retry()) from None


def _refused(config: ModelConfig, url: str, response: httpx.Response, body: str) -> Exception:
    status = response.status_code
    code = _code(body)
    if status in (401, 402, 403, 404) or code in _SETTINGS:
        return refusal(config, url, status, body)
    reason = f"HTTP {status} from {url}: {' '.join(body.split())[:300]}"
    if status == 429 or status >= 500:
        wait = response.headers.get("retry-after", "")
        after = float(wait) if wait.replace(".", "", 1).isdigit() else 0.0
        return TurnError(ResponseStatus.error, reason, Retry(after_s=after))
    return TurnError(ResponseStatus.error, reason)


def _code(body: str) -> str:
    """Return the error code of a body in OpenAI's or ElevenLabs' form."""
    try:
        content = json.loads(body)
    except json.JSONDecodeError:
        return ""
    content = content if isinstance(content, dict) else {}
    inner = content.get("error") or content.get("detail")
    if not isinstance(inner, dict):
        return ""
    if inner.get("param") in ("model", "voice", "speaker"):
        return f"{inner['param'].replace('speaker', 'voice')}_not_found"
    return str(inner.get("code") or inner.get("status") or inner.get("type") or "")
