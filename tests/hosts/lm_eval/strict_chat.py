"""A server of the OpenAI chat protocol on this machine that refuses what the strict ones do, and keeps what it got."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KNOWN = {"messages", "model", "max_tokens", "temperature", "stop", "seed"}
PARTS = {"text": "text", "image_url": "image_url", "input_audio": "input_audio"}


def fault(body: dict[str, Any]) -> str:
    """What the server's documentation does not allow of a request; empty where all is well."""
    if unknown := set(body) - KNOWN:
        return f"unrecognized arguments: {unknown}"
    if "stop" in body and body["stop"] is not None:
        stops = [body["stop"]] if isinstance(body["stop"], str) else body["stop"]
        if not 1 <= len(stops) <= 4 or not all(isinstance(stop, str) and stop for stop in stops):
            return "stop: must be 1 to 4 texts that are not empty"
    if not body.get("messages"):
        return "messages: must not be empty"
    for number, message in enumerate(body["messages"]):
        if set(message) != {"role", "content"} or message["role"] not in ("system", "user", "assistant"):
            return f"messages[{number}]: {sorted(message)}"
        if message["role"] == "system" and (number or not isinstance(message["content"], str)):
            return "the system message comes first, and is text"
        if not message["content"]:
            return f"messages[{number}].content: must not be empty"
        if isinstance(message["content"], list):
            for part in message["content"]:
                if set(part) != {"type", PARTS.get(part["type"], "?")}:
                    return f"messages[{number}]: a part {sorted(part)}"
                if reason := _part_fault(part):
                    return reason
    return ""


def _part_fault(part: dict[str, Any]) -> str:
    from PIL import Image

    from vaeval_tasks.audio import read_audio

    if part["type"] == "image_url":
        kind, _, data = part["image_url"]["url"].partition(";base64,")
        with Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as picture:
            picture.load()
            return "" if kind == f"data:image/{(picture.format or '').lower()}" else f"{kind} is {picture.format}"
    if part["type"] == "input_audio":
        given = part["input_audio"]
        if set(given) != {"data", "format"} or given["format"] not in ("wav", "mp3"):
            return f"input_audio: {given.keys()} {given.get('format')}"
        clip = read_audio(base64.b64decode(given["data"], validate=True))
        return "" if clip.seconds else "input_audio: no sound"
    return ""


@contextmanager
def strict_chat() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve, and give the address of the chat and the bodies of the requests that were accepted."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reason = fault(body)
            if not reason:
                got.append(body)
            answer: dict[str, Any] = {"error": {"message": reason}}
            if not reason:
                message = {"role": "assistant", "content": "four"}
                answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            data = json.dumps(answer).encode()
            self.send_response(400 if reason else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
