"""HTTP requests to a provider, with their failures named."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from vaeval_tasks.models.protocol import Retry
from vaeval_tasks.models.transport.failure import failure, unreachable
from vaeval_tasks.models.turn import Answer, Timeouts, TurnError
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome, error_inside, json_body, of_error, of_response
from vaeval_tasks.services.http.secrets import keys_of, trust
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

if TYPE_CHECKING:
    import httpx

__all__ = ["Http", "json_of"]

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
                    found = of_response(
                        response.status_code, response.headers, body, keys=keys_of(headers), now=time.time()
                    )
                    raise failure(config, url, found)
                yield response
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise unreachable(config, url, error) from None
        except httpx.TimeoutException as error:
            raise TurnError(ResponseStatus.timeout, f"{url}: {type(error).__name__}") from None
        except httpx.TransportError as error:
            reason = f"{url} broke off ({type(error).__name__}: {error})"
            raise TurnError(ResponseStatus.error, reason, None if answer.begun else Retry()) from None


async def json_of(response: httpx.Response, *, config: ModelConfig) -> dict[str, Any]:
    """Read a whole reply and return its JSON object, which is no error.

    Raises:
        ServiceError: it is an error that every prompt will meet, although it came with status 200.
        TurnError: it is another error, or no JSON object.
    """
    await response.aread()
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = json_body(response.text)  # an event stream that nobody asked for may hold an error
    keys = keys_of(response.request.headers)
    if (error := error_inside(body)) is not None:
        raise failure(config, str(response.url), of_error(error, keys=keys, now=time.time()))
    if not isinstance(body, dict):
        what = "is not JSON" if body is None else "is not an object"
        raise failure(
            config, str(response.url), HttpOutcome(meaning=HttpMeaning.unreadable, reason=f"the reply {what}")
        )
    return body
