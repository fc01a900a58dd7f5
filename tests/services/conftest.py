"""A server on loopback that misbehaves as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Reply = tuple[int, Any, dict[str, str]]


@dataclass
class BadServer:
    """Answers the requests in turn with ``plan``, whose last reply repeats; what is not bytes is sent as JSON."""

    plan: list[Reply | Callable[[dict[str, Any]], Reply | None]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Reply | None:
        with self.lock:
            self.paths.append(path)
            self.headers.append(headers)
            self.bodies.append(body)
            reply = self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]
        return reply(body) if callable(reply) else reply


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> Iterator[BadServer]:
    """The server, and no key in the environment."""
    for name in ("VAEVAL_JUDGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    made = BadServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = made.next(self.path, dict(self.headers), body)
            if reply is None:  # break off without a word
                self.close_connection = True
                return
            status, content, headers = reply
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    made.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield made
    server.shutdown()
    server.server_close()
