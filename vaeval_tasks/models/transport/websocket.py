"""A WebSocket session with a provider, with its failures named."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vaeval_tasks.errors import MissingDependencyError, ServiceError
from vaeval_tasks.models.clock import Alarm
from vaeval_tasks.models.fate import TurnError, failure, settings_refused, unreachable
from vaeval_tasks.models.transport.edge import BadMessageError, read_object, shortened
from vaeval_tasks.models.transport.record import Message
from vaeval_tasks.models.turn import Answer, Timeouts
from vaeval_tasks.services.http.meaning import HttpOutcome, of_close, of_response
from vaeval_tasks.services.http.secrets import keys_of, one_line, trust
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus, SpeechPace

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

    from vaeval_tasks.models.speech_in import Speech

__all__ = ["ClosedError", "Socket", "connect"]

_WRITE_BYTES = 1 << 18
"""Messages that are sent together go out in writes of about this size: each one is a call to the system."""


class Socket:
    """One open session: JSON messages out, kept in the answer's record, and in, kept there by the caller."""

    def __init__(
        self, socket: ClientConnection, answer: Answer, timeouts: Timeouts, keys: tuple[str, ...] = ()
    ) -> None:
        from websockets.exceptions import ConnectionClosed  # once: looking it up for each event takes a while

        self._gone = ConnectionClosed
        self._socket, self._answer, self._timeouts, self._keys = socket, answer, timeouts, keys
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

    async def speak(self, sound: Speech, pace: SpeechPace) -> None:
        """Send speech as fast as it goes, or each piece when its last sample has been spoken, as a microphone does."""
        if pace is SpeechPace.whole:
            await self.send(*sound.messages)
            return
        begin = self._clock.now()
        self._answer.recorder.speaking_until = begin + sound.seconds
        for number, piece in enumerate(sound.messages, 1):
            due = begin + min(number * sound.piece_s, sound.seconds)
            await self._clock.sleep(due - self._clock.now())
            await self.send(piece)

    async def sent(self) -> None:
        """Wait until all that was sent has left this program's buffers: only then is it on its way."""
        with suppress(self._gone):
            while not self._socket.transport.is_closing() and self._socket.transport.get_write_buffer_size():
                await asyncio.sleep(0.002)

    async def receive(self, within: float | None = None) -> dict[str, Any] | None:
        """Return the next message, from a text or a binary frame.

        Args:
            within: seconds to wait; None is as long as the turn's limits allow.

        Returns:
            The message, None where ``within`` has passed without one.

        Raises:
            ClosedError: the session closed.
            TurnError: nothing came in time.
            BadMessageError: it was no JSON object.
        """
        try:
            with self._alarm.within(self._clock.on_the_wall(self._patience() if within is None else within)):
                raw = await self._socket.recv(decode=False)
        except TimeoutError:
            if within is not None:
                return None
            what = "no further event" if self._answer.begun else "no audio"
            raise TurnError(ResponseStatus.timeout, f"{what} in time") from None
        except self._gone as error:
            raise self._closed(error) from None
        try:
            return read_object(raw)
        except BadMessageError as error:
            self._answer.recorder.received({"unreadable": shortened(repr(raw[:2000]))})
            raise BadMessageError(one_line(str(error), *self._keys)) from None

    async def close(self) -> None:
        """End the session."""
        self._alarm.stop()
        await asyncio.shield(self._socket.close())

    def _patience(self) -> float:
        record = self._answer.recorder
        if record.asked_at is None or self._answer.begun:
            speaking = (record.speaking_until or 0.0) - self._clock.now()
            return self._timeouts.idle + max(0.0, speaking)
        return self._timeouts.first_audio - (self._clock.now() - record.asked_at)

    def _closed(self, error: Any) -> ClosedError:
        code = error.rcvd.code if error.rcvd is not None else 1006
        reason = error.rcvd.reason if error.rcvd is not None else "no close frame"
        return ClosedError(of_close(code, reason, keys=self._keys, now=time.time()))


class ClosedError(Exception):
    """The provider closed the session; ``outcome`` is what that means if the turn had not ended."""

    def __init__(self, outcome: HttpOutcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


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
        TurnError: the service is overloaded, or closed the session before the turn had ended.
    """
    answer.recorder.keys = keys_of(headers)
    socket = Socket(await _dial(url, headers, config, timeouts), answer, timeouts, keys_of(headers))
    try:
        yield socket
    except ClosedError as error:
        raise failure(config, url, error.outcome, begun=answer.begun) from None
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
        raise settings_refused(config, url, found) from None
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
