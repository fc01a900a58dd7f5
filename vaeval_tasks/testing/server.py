"""What all fake services share: a loop in a thread, a port on loopback, TLS, and a plan of how to behave."""

from __future__ import annotations

import asyncio
import hashlib
import io
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import trustme
from aiohttp import web

KEY = "sk-loopback-0123456789abcdef"
"""The one key every fake takes; tests look for it in everything that is written."""


@dataclass(frozen=True)
class Authority:
    """A certificate authority of the test session. Clients trust it through ``SSL_CERT_FILE``."""

    server: ssl.SSLContext
    """Serves HTTP/1.1 and WebSockets."""
    server_h2: ssl.SSLContext
    """Serves HTTP/2."""
    bundle: Path
    """The certificate that clients are to trust, PEM."""

    @classmethod
    def make(cls, folder: Path) -> Authority:
        """Make an authority and write its certificate into a folder."""
        ca = trustme.CA()
        certificate = ca.issue_cert("localhost", "127.0.0.1")
        bundle = folder / "ca.pem"
        ca.cert_pem.write_to_path(str(bundle))

        def context(protocol: str) -> ssl.SSLContext:
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            certificate.configure_cert(made)
            made.set_alpn_protocols([protocol])
            return made

        return cls(context("http/1.1"), context("h2"), bundle)


def answer_pcm(*parts: Any, rate: int = 24000, seconds: float | None = None, amplitude: float = 0.3) -> bytes:
    """Return 16-bit mono PCM that depends on everything the answer depends on: prompt, voice, effort, model.

    Args:
        parts: what it depends on; their ``repr`` chooses pitch and length.
        rate: Hz.
        seconds: the length, by default between 0.3 and 0.8 s.
        amplitude: of the tone, 0 to 1.
    """
    digest = hashlib.sha256(repr(parts).encode()).digest()
    length = seconds if seconds is not None else 0.3 + digest[0] / 512
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    n = int(length * rate)
    tone = np.sin(2 * np.pi * (150 + digest[1]) * np.arange(n) / rate) * amplitude + rng.normal(0, 0.01, n)
    return (np.clip(tone, -1, 1) * 32767).astype("<i2").tobytes()


def sound_file(pcm: bytes, kind: str, rate: int = 24000) -> bytes:
    """Return 16-bit mono PCM as a sound file: ``WAV``, ``FLAC``, ``OGG``, ``MP3`` …, as libsndfile names them."""
    import soundfile

    buffer = io.BytesIO()
    subtype = "OPUS" if kind == "OPUS" else None
    samples = np.frombuffer(pcm, "<i2")
    soundfile.write(buffer, samples, rate, format="OGG" if kind == "OPUS" else kind, subtype=subtype)
    return buffer.getvalue()


def pieces(data: bytes, size: int = 4800) -> list[bytes]:
    """Return the bytes in pieces of a size; the last may be shorter."""
    return [data[i : i + size] for i in range(0, len(data), size)]


def abort(ws: web.WebSocketResponse) -> None:
    """Drop a connection without a closing frame, as a lost network does."""
    if ws._req is not None and ws._req.transport is not None:
        ws._req.transport.abort()


class Fake:
    """A service on loopback. Use as a context manager; ``url`` is its base address.

    ``plan`` names the behaviour of each session or request in order; the last one repeats.

    Args:
        authority: serves over TLS; None: without.
        delay: seconds before each answer.
        speed: how much faster than life the service's own clock runs.
    """

    behaviours: ClassVar[frozenset[str]] = frozenset()
    """What :meth:`behave` takes."""

    def __init__(self, authority: Authority | None = None, *, delay: float = 0.0, speed: float = 1.0) -> None:
        self.authority, self.delay, self.speed = authority, delay, speed
        self.seconds: float | None = None
        """The length of each answer, where it is not to depend on the question."""
        self.plan: list[str] = ["happy"]
        self.sessions: list[dict[str, Any]] = []
        """What each session was asked, in order of arrival."""
        self.url = ""
        self._lost: set[str] = set()
        self._held: dict[str, float] = {}
        self._instead: dict[str, tuple[Any, ...]] = {}
        self._before: dict[str, tuple[Any, ...]] = {}
        self._late: set[asyncio.Future[None]] = set()
        self._lock = threading.Lock()

    def behave(self, *plan: str) -> None:
        """Set the plan.

        Raises:
            ValueError: the fake has no such behaviour.
        """
        unknown = set(plan) - self.behaviours
        if unknown:
            raise ValueError(f"{type(self).__name__} cannot behave as {unknown}; it can as {sorted(self.behaviours)}")
        self.plan = list(plan)

    def lose(self, *names: str) -> None:
        """Never send these events; of an HTTP service, never answer."""
        self._lost.update(names)

    def hold(self, name: str, seconds: float) -> None:
        """Send an event so many seconds later than its time: what comes after it overtakes it."""
        self._held[name] = seconds

    def instead(self, name: str, *contents: Any) -> None:
        """Send something else in place of an event: JSON, or a text or bytes as they are.

        Args:
            name: of the event, the message's field, or the leg of an HTTP service.
            contents: one after another; without any, nothing is sent.
        """
        self._instead[name] = contents

    def inject(self, name: str, *contents: Any) -> None:
        """Send something, as :meth:`instead` does, before an event."""
        self._before[name] = contents

    def restore(self) -> None:
        """Lose, hold, replace and add nothing any more."""
        for changes in (self._lost, self._held, self._instead, self._before):
            changes.clear()

    async def deliver(self, names: Iterable[str], message: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        """Send a message as it is to be sent by what was set for any of its names."""
        names = set(names)
        for name in names & self._before.keys():
            for extra in self._before[name]:
                await send(extra)
        if names & self._lost:
            return
        contents = next((self._instead[name] for name in names if name in self._instead), (message,))
        wait = max((self._held[name] for name in names if name in self._held), default=0.0)

        async def late() -> None:
            await asyncio.sleep(wait)
            for content in contents:
                await send(content)

        if wait:
            task = asyncio.ensure_future(late())
            self._late.add(task)
            task.add_done_callback(self._late.discard)
            return
        for content in contents:
            await send(content)

    async def answered(self, leg: str, body: Any) -> web.Response:
        """Return the answer of an HTTP leg as it is to be, by what was set for it."""
        if leg in self._lost:
            await asyncio.sleep(3600)
        await asyncio.sleep(self._held.get(leg, 0.0))
        content = self._instead[leg][0] if leg in self._instead else body
        if isinstance(content, str | bytes):
            data = content if isinstance(content, bytes) else content.encode()
            return web.Response(body=data, content_type="application/json")
        return web.json_response(content)

    def next_behaviour(self) -> str:
        """Take the next behaviour of the plan."""
        with self._lock:
            return self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]

    async def start(self) -> int:
        """Start listening; return the port."""
        app = web.Application(client_max_size=1 << 28)
        self.routes(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.02)
        await self._runner.setup()
        context = self.authority.server if self.authority else None
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context, backlog=1024).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    def routes(self, app: web.Application) -> None:
        """Add what is served."""
        raise NotImplementedError

    def base(self, port: int) -> str:
        """Return the address of a port."""
        return f"https://localhost:{port}" if self.authority else f"http://127.0.0.1:{port}"

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        port = asyncio.run_coroutine_threadsafe(self.start(), self._loop).result(10)
        self.url = self.base(port)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
