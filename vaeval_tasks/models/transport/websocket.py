"""A WebSocket session with a provider, with its failures named."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vaeval_tasks.errors import MissingDependencyError, ServiceError
from vaeval_tasks.models.clock import Alarm
from vaeval_tasks.models.protocol import Retry
from vaeval_tasks.models.transport.failure import failure, unreachable
from vaeval_tasks.models.transport.record import Message
from vaeval_tasks.models.turn import Answer, Timeouts, TurnError
from vaeval_tasks.services.http.meaning import HttpMeaning, of_response
from vaeval_tasks.services.http.secrets import keys_of, trust
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

__all__ = ["RETRY_CLOSES", "ClosedError", "Socket", "connect"]

RETRY_CLOSES = (1001, 1006, 1011, 1012, 1013)
"""Close codes of a service that is going away, broke down or is overloaded."""

_WRITE_BYTES = 1 << 18
"""Messages that are sent together go out in writes of about this size: each one is a call to the system."""


class Socket:
    """One open session: JSON messages out, kept in the answer's record, and in, kept there by the caller."""

    def __init__(self, socket: ClientConnection, answer: Answer, timeouts: Timeouts) -> None:
        from websockets.exceptions import ConnectionClosed  # once: looking it up for each event takes a while

        self._gone = ConnectionClosed
        self._socket, self._answer, self._timeouts = socket, answer, timeouts
        self._clock = answer.recorder.clock
        self._alarm = Alarm()

    async def send(self, *messages: Message) -> None:
        """Send messages. A session that has closed is left to :meth:`receive`, which reads why first."""
        pending = deque(messages)
        with suppress(self._gone):
            while pending:
                async with self._socket.send_context():
                    frames: list[bytes] = []
                    while pending and sum(map(len, frames)) < _WRITE_BYTES:
                        message = pending.popleft()
                        self._answer.recorder.sent(message.shown)
                        self._socket.protocol.send_text(message.wire)
                        frames += self._socket.protocol.data_to_send()
                    self._socket.transport.write(b"".join(frames))

    async def receive(self) -> dict[str, Any]:
        """Return the next message, from a text or a binary frame.

        Raises:
            TurnError: the session closed, nothing came in time, or it was not JSON.
        """
        try:
            with self._alarm.within(self._clock.on_the_wall(self._patience())):
                raw = await self._socket.recv()
        except TimeoutError:
            what = "no further event" if self._answer.begun else "no audio"
            raise TurnError(ResponseStatus.timeout, f"{what} in time") from None
        except self._gone as error:
            raise self._closed(error) from None
        try:
            message = json.loads(raw)
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise TurnError(ResponseStatus.error, f"a message that is not JSON: {raw[:60]!r}") from None
        if not isinstance(message, dict):
            raise TurnError(ResponseStatus.error, f"a message that is not an object: {raw[:60]!r}")
        return message

    async def close(self) -> None:
        """End the session."""
        self._alarm.stop()
        await asyncio.shield(self._socket.close())

    def _patience(self) -> float:
        record = self._answer.recorder
        if record.asked_at is None or self._answer.begun:
            return self._timeouts.idle
        return self._timeouts.first_audio - (self._clock.now() - record.asked_at)

    def _closed(self, error: Any) -> TurnError:
        code = error.rcvd.code if error.rcvd is not None else 1006
        reason = error.rcvd.reason if error.rcvd is not None else "no close frame"
        again = code in RETRY_CLOSES and not self._answer.begun
        return ClosedError(code, reason, Retry() if again else None)


class ClosedError(TurnError):
    """The provider closed the session before the turn had ended."""

    def __init__(self, code: int, reason: str, retry: Retry | None) -> None:
        super().__init__(ResponseStatus.error, f"the session was closed ({code} {reason})".rstrip(), retry)
        self.code = code


@asynccontextmanager
async def connect(
    url: str, headers: Mapping[str, str], *, config: ModelConfig, answer: Answer, timeouts: Timeouts
) -> AsyncIterator[Socket]:
    """Open a session.

    Args:
        url: ``ws`` or ``wss`` address, without a key.
        headers: sent at the upgrade; their values may hold keys and are kept nowhere.
        config: the configuration that asks, for messages.
        answer: where the turn is collected.
        timeouts: ``connect`` limits the upgrade.

    Raises:
        ServiceError: nobody is there (``retry`` is set), or the key, model or address is refused.
        TurnError: the service is overloaded.
    """
    socket = Socket(await _dial(url, headers, config, timeouts), answer, timeouts)
    try:
        yield socket
    finally:
        await socket.close()


async def _dial(url: str, headers: Mapping[str, str], config: ModelConfig, timeouts: Timeouts) -> ClientConnection:
    try:
        from websockets.asyncio.client import connect as dial
    except ImportError:
        raise MissingDependencyError(config.provider, "websockets", extra="realtime") from None
    from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI

    try:
        # max_size: an answer may come in one frame; compression costs more time than audio gains
        return await dial(
            url,
            additional_headers=dict(headers),
            max_size=None,
            compression=None,
            ssl=trust() if url.startswith("wss:") else None,
            open_timeout=timeouts.connect,
            ping_timeout=90,
            close_timeout=0.5,
            logger=_quiet(),
            proxy=_proxy(url),
        )
    except InvalidStatus as error:
        body = bytes(error.response.body or b"").decode("utf-8", "replace")
        got = error.response
        found = of_response(got.status_code, got.headers, body, keys=keys_of(headers), now=time.time())
        if not found.meaning.again and not found.meaning.for_all:  # no prompt was sent: it is the settings
            found = replace(found, meaning=HttpMeaning.absent)
        raise failure(config, url, found) from None
    except (OSError, TimeoutError, InvalidMessage) as error:
        raise unreachable(config, url, error) from None
    except (InvalidURI, InvalidHandshake) as error:
        raise ServiceError(f"{config.config_id}: {url} is not a realtime service ({error})") from None


@lru_cache(maxsize=64)
def _proxy(url: str) -> str | None:
    """Return the proxy the environment names for an address; looking takes longer than the whole handshake."""
    from websockets.proxy import get_proxy
    from websockets.uri import parse_uri

    return get_proxy(parse_uri(url))


@lru_cache(maxsize=1)
def _quiet() -> logging.Logger:
    """Return a logger that stays silent where everything is logged: at DEBUG the library prints the key's header."""
    logger = logging.getLogger("vaeval.websockets")
    logger.setLevel(logging.INFO)
    return logger
