"""One bidirectional Bedrock stream over HTTP/2, in pure Python: signed events out, events in."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import time
from functools import lru_cache
from os import environ
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import msgspec

from vaeval_tasks.errors import fault
from vaeval_tasks.models.transport import sigv4
from vaeval_tasks.models.transport.edge import BadMessageError, fit, read_json
from vaeval_tasks.models.transport.encoded import decode_base64
from vaeval_tasks.models.transport.eventstream import (
    Frame,
    FrameError,
    FrameReader,
    date_header,
    encode,
    encode_headers,
)
from vaeval_tasks.models.transport.sigv4 import Credentials
from vaeval_tasks.models.transport.tunnel import open_secure
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome, json_body, of_error, of_response

if TYPE_CHECKING:
    from h2.connection import H2Connection

__all__ = ["BedrockStream", "StreamError"]

EVENT_STREAM = "application/vnd.amazon.eventstream"
_CHUNK = encode_headers({":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"})


class StreamError(Exception):
    """The stream failed, or was refused before it opened."""

    def __init__(self, outcome: HttpOutcome, *, refused: bool = False) -> None:
        super().__init__(outcome.reason)
        self.outcome, self.refused = outcome, refused


def _broke(reason: str) -> StreamError:
    return StreamError(HttpOutcome(meaning=HttpMeaning.broken, reason=f"connection: {reason}"))


@lru_cache(maxsize=4)
def _trust(_bundle: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    return context


class _Chunk(msgspec.Struct, frozen=True):
    bytes: str


class _Inside(msgspec.Struct, frozen=True):
    event: dict[str, Any]


class BedrockStream:
    """One request whose body and answer are both event streams. Open it, send, receive, end, close."""

    def __init__(self, endpoint: str, model: str, credentials: Credentials) -> None:
        self._url = urlsplit(endpoint)
        self._path = f"/model/{quote(model, safe='')}/invoke-with-bidirectional-stream"
        self._credentials = credentials
        self._events: asyncio.Queue[dict[str, Any] | StreamError | BadMessageError | None] = asyncio.Queue()
        self._frames = FrameReader()
        self._room = asyncio.Event()
        self._refusal = b""
        self._headers: dict[str, str] = {}
        self._keys = (credentials.secret_key, credentials.access_key, credentials.token)
        self._status = 0
        self._prior = ""

    async def open(self) -> None:
        """Connect and send the signed request.

        Raises:
            OSError: nobody is there, or the certificate is not trusted.
            StreamError: the server does not speak HTTP/2.
        """
        import h2.config
        import h2.connection

        host, port = self._url.hostname or "", self._url.port or 443
        self._reader, self._writer = await open_secure(host, port, _trust(environ.get("SSL_CERT_FILE", "")))
        if self._writer.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            self._writer.close()
            raise StreamError(
                HttpOutcome(meaning=HttpMeaning.absent, reason="the server does not speak HTTP/2"), refused=True
            )
        self._h2: H2Connection = h2.connection.H2Connection(
            config=h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        )
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(2**24)
        self._stream = self._h2.get_next_available_stream_id()
        self._h2.send_headers(self._stream, self._request_headers())
        await self._flush()
        self._reading = asyncio.create_task(self._read())

    def _request_headers(self) -> list[tuple[str, str]]:
        when = sigv4.stamp(int(time.time() * 1000))
        signed = {
            "content-type": EVENT_STREAM,
            "host": self._url.netloc,
            "x-amz-content-sha256": sigv4.STREAMING,
            "x-amz-date": when,
        }
        if self._credentials.token:
            signed["x-amz-security-token"] = self._credentials.token
        self._prior = sigv4.request_signature(self._credentials, self._path, signed, when)
        authorization = (
            f"AWS4-HMAC-SHA256 Credential={self._credentials.access_key}/{sigv4.scope(self._credentials, when)}, "
            f"SignedHeaders={';'.join(sorted(signed))}, Signature={self._prior}"
        )
        pseudo = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", self._url.netloc),
            (":path", self._path),
        ]
        rest = [(name, value) for name, value in signed.items() if name != "host"]
        return [*pseudo, *rest, ("authorization", authorization)]

    async def send(self, event: dict[str, Any]) -> None:
        """Sign and send one event.

        Raises:
            StreamError: the stream has ended.
        """
        inner = json.dumps({"bytes": base64.b64encode(json.dumps({"event": event}).encode()).decode()}).encode()
        await self._write(self._signed(encode(_CHUNK, inner)))

    async def end(self) -> None:
        """Close our side: a signed frame without a payload, then the end of the stream."""
        await self._write(self._signed(b""))
        self._h2.end_stream(self._stream)
        await self._flush()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next event, or None when the service has ended the stream.

        Raises:
            StreamError: the service reported a failure, or the connection broke.
            BadMessageError: a frame holds no event.
        """
        found = await self._events.get()
        if isinstance(found, StreamError | BadMessageError):
            raise found
        return found

    async def close(self) -> None:
        """Drop the connection."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._writer.close()

    def _signed(self, payload: bytes) -> bytes:
        now = int(time.time() * 1000)
        signature = sigv4.event_signature(self._credentials, self._prior, now, payload)
        self._prior = signature.hex()
        return encode(date_header(now) + encode_headers({":chunk-signature": signature}), payload)

    async def _write(self, data: bytes) -> None:
        import h2.exceptions

        while data:
            try:
                window = self._h2.local_flow_control_window(self._stream)
                size = min(len(data), window, self._h2.max_outbound_frame_size)
                if size > 0:
                    self._h2.send_data(self._stream, data[:size])
            except h2.exceptions.ProtocolError as error:
                raise _broke(f"the stream has ended ({type(error).__name__})") from None
            if size > 0:
                data = data[size:]
                await self._flush()
            else:
                self._room.clear()
                await self._room.wait()

    async def _flush(self) -> None:
        try:
            self._writer.write(self._h2.data_to_send())
            await self._writer.drain()
        except ConnectionError as error:
            raise _broke(str(error) or type(error).__name__) from None

    async def _read(self) -> None:
        import h2.exceptions

        try:
            while data := await self._reader.read(65536):
                for event in self._h2.receive_data(data):
                    self._on(event)
                await self._flush()
        except (OSError, FrameError, h2.exceptions.ProtocolError) as error:
            self._events.put_nowait(_broke(str(error) or type(error).__name__))
        except StreamError as error:
            self._events.put_nowait(error)
        except Exception as error:  # a server that is none: the turn must hear of it
            self._events.put_nowait(_broke(f"unexpected {fault(error)}"))
        self._events.put_nowait(_broke("the connection was closed"))
        self._room.set()

    def _on(self, event: Any) -> None:
        import h2.events

        if isinstance(event, h2.events.ResponseReceived):
            self._headers = {_plain(name).lower(): _plain(value) for name, value in event.headers}
            self._status = int(self._headers.get(":status", "0"))
        elif isinstance(event, h2.events.DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if self._status == 200:
                for frame in self._frames.feed(event.data):
                    self._events.put_nowait(self._event(frame))
            else:
                self._refusal += event.data
        elif isinstance(event, h2.events.StreamEnded):
            self._events.put_nowait(self._refused() if self._status != 200 else None)
        elif isinstance(event, h2.events.StreamReset | h2.events.ConnectionTerminated):
            self._events.put_nowait(_broke(f"the service broke off (code {event.error_code})"))
        elif isinstance(event, h2.events.WindowUpdated):
            self._room.set()

    def _refused(self) -> StreamError:
        headers, text = self._headers, self._refusal.decode("utf-8", "replace")
        kind = headers.get("x-amzn-errortype", "").partition(":")[0]
        body = json_body(text)
        if kind and isinstance(body, dict):
            text = json.dumps({"error": {**body, "code": kind}})
        return StreamError(of_response(self._status, headers, text, keys=self._keys, now=time.time()), refused=True)

    def _event(self, frame: Frame) -> dict[str, Any] | StreamError | BadMessageError:
        """Read a frame of the answer; keys beside ``bytes`` (such as padding) are of no concern."""
        if frame.headers.get(":message-type") != "event":
            kind = str(frame.headers.get(":exception-type") or frame.headers.get(":error-code") or "error")
            said = json_body(frame.payload.decode("utf-8", "replace"))
            words = said.get("message") if isinstance(said, dict) else None
            words = words or str(frame.headers.get(":error-message") or frame.payload[:200])
            error = {"code": kind, "message": words if isinstance(words, str) else json.dumps(words)}
            return StreamError(of_error(error, keys=self._keys, now=time.time(), where=kind))
        try:
            chunk = fit(read_json(frame.payload), _Chunk, "chunk")
            return fit(read_json(decode_base64(chunk.bytes)), _Inside, "chunk").event
        except BadMessageError as error:
            return error


def _plain(text: str | bytes) -> str:
    return text.decode("latin-1") if isinstance(text, bytes) else str(text)
