"""HTTP requests to a provider, with their failures named."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from vaeval_tasks.models.fate import failure, unreachable
from vaeval_tasks.models.transport.edge import BadMessageError, read_json, shortened
from vaeval_tasks.models.turn import Answer, Timeouts
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome, error_inside, json_body, of_error, of_response
from vaeval_tasks.services.http.secrets import keys_of, one_line, trust
from vaeval_tasks.store.schema import ModelConfig

if TYPE_CHECKING:
    import httpx

__all__ = ["Http", "error_in_reply", "json_of"]

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
        asks: bool = False,
        **content: Any,
    ) -> AsyncIterator[httpx.Response]:
        """Send a POST and yield the response of status 200 before its body is read.

        Args:
            url: the address, without a key.
            config: the configuration that asks, for messages.
            answer: where the turn is collected.
            timeouts: ``connect`` and ``first_audio`` limit the wait.
            headers: their values may hold keys and are kept nowhere.
            asks: whether this request is the end of the user's speech, which latency is measured from.
            content: ``content``, ``json``, ``data``, ``files`` or ``params`` of httpx.

        Raises:
            ServiceError: nobody is there (``retry`` is set), or the key, model or voice is refused.
            TurnError: the service is overloaded, refused this request, broke off or was too slow.
        """
        import httpx

        answer.recorder.keys = keys_of(headers)
        limits = httpx.Timeout(timeouts.first_audio, connect=timeouts.connect)

        async def trace(event: str, _: Any) -> None:
            if event.endswith("send_request_body.complete"):
                answer.recorder.asked()

        if asks:
            content["extensions"] = {"trace": trace}
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
            raise failure(config, url, _met(HttpMeaning.slow, error), begun=answer.begun) from None
        except httpx.DecodingError as error:
            raise failure(config, url, _met(HttpMeaning.unreadable, error), begun=answer.begun) from None
        except httpx.TransportError as error:
            raise failure(config, url, _met(HttpMeaning.broken, error), begun=answer.begun) from None


def _met(meaning: HttpMeaning, error: Exception) -> HttpOutcome:
    what = {HttpMeaning.slow: "no answer in time", HttpMeaning.unreadable: "an answer that cannot be unpacked"}
    said = what.get(meaning, "the connection broke off")
    return HttpOutcome(meaning=meaning, reason=f"{said} ({type(error).__name__}: {error})")


async def json_of(response: httpx.Response, *, config: ModelConfig, answer: Answer) -> dict[str, Any]:
    """Read a whole reply and return its JSON object, which is no error.

    Raises:
        ServiceError: it is an error that every prompt will meet, although it came with status 200.
        TurnError: it is another error, or no JSON object.
    """
    raw = await response.aread()
    try:
        body = read_json(raw)
    except BadMessageError as error:
        body = json_body(raw.decode("utf-8", "replace"))  # an event stream that nobody asked for may hold an error
        if error_inside(body) is None:
            keys = keys_of(response.request.headers)
            answer.recorder.received({"unreadable": shortened(repr(raw[:2000]))})
            said = one_line(f"the reply is not JSON ({error})", *keys)
            outcome = HttpOutcome(meaning=HttpMeaning.unreadable, reason=said)
            raise failure(config, str(response.url), outcome, begun=answer.begun) from None
    if (inside := error_inside(body)) is not None:
        answer.recorder.received({"error": shortened(inside)})
        raise error_in_reply(response, inside, config=config, where="an error inside HTTP 200", begun=answer.begun)
    if not isinstance(body, dict):
        answer.recorder.received({"unreadable": shortened(body)})
        outcome = HttpOutcome(meaning=HttpMeaning.unreadable, reason="the reply is not an object")
        raise failure(config, str(response.url), outcome, begun=answer.begun)
    return body


def error_in_reply(response: httpx.Response, error: Any, *, config: ModelConfig, where: str, begun: bool) -> Exception:
    """Return what an error means that stands inside a reply of status 200."""
    outcome = of_error(error, keys=keys_of(response.request.headers), now=time.time(), where=where)
    return failure(config, str(response.url), outcome, begun=begun)
