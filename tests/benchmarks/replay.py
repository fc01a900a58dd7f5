"""Services that cost next to nothing: what a fake says is recorded once and replayed to every session.

A test's fake builds each answer anew, which keeps one core busy and makes its sessions wait for each other. Here the
answer leaves when the delay is over. Run as a process of its own: python replay.py CASE DELAY. The first line it
prints is its address; when its input ends it prints, as JSON, when each answer left (``times``, in seconds), how many
requests waited for one at most (``waiting``), and the seconds of CPU it took (``cpu``).
"""

from __future__ import annotations

import asyncio
import base64
import gc
import hashlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from vaeval_tasks.models.adapters.gemini_live import setup_message  # noqa: E402
from vaeval_tasks.models.adapters.openai_realtime import OpenAIRealtime  # noqa: E402
from vaeval_tasks.models.configs import published  # noqa: E402
from vaeval_tasks.models.protocol import Conversation, Turn  # noqa: E402
from vaeval_tasks.testing.chat import ChatFake  # noqa: E402
from vaeval_tasks.testing.gemini import GeminiFake, GeminiSession  # noqa: E402
from vaeval_tasks.testing.realtime import RealtimeFake, RealtimeSession  # noqa: E402
from vaeval_tasks.testing.server import answer_pcm  # noqa: E402

CONFIGS = {
    "realtime": "gpt-realtime-2.1/minimal/marin",
    "gemini": "gemini-3.1-flash-live/minimal/zephyr",
    "chat": "qwen3-omni-30b-a3b-instruct/default/ethan",
}
ANSWER_S = 0.2
"""Seconds of each answer."""
QUESTION = Conversation(turns=(Turn(role="user"),))
SILENCE = base64.b64encode(bytes(9600)).decode()
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE = 1, 2, 8


def frame(opcode: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes([0x80 | opcode, size]) + payload
    if size < 1 << 16:
        return bytes([0x80 | opcode, 126]) + size.to_bytes(2, "big") + payload
    return bytes([0x80 | opcode, 127]) + size.to_bytes(8, "big") + payload


class Tape:
    """Stands for a fake's WebSocket and keeps what the fake says."""

    def __init__(self) -> None:
        self.said = b""

    async def send_str(self, text: str) -> None:
        self.said += frame(TEXT, text.encode())

    async def send_bytes(self, data: bytes) -> None:
        self.said += frame(BINARY, data)

    async def after(self, step: Any) -> bytes:
        await step
        said, self.said = self.said, b""
        return said


async def realtime() -> dict[bytes, bytes]:
    config, fake, tape = published()[CONFIGS["realtime"]], RealtimeFake(), Tape()
    fake.seconds = ANSWER_S
    session = RealtimeSession(fake, tape, config.params["model"])  # type: ignore[arg-type]
    update = {"type": "session.update", "session": OpenAIRealtime().session(config, QUESTION)}
    replies = {b"": await tape.after(fake.greet(session)), b'"session.update"': await tape.after(session.on(update))}
    await session.on({"type": "input_audio_buffer.append", "audio": SILENCE})
    for kind in ("input_audio_buffer.commit", "response.create"):
        replies[f'"{kind}"'.encode()] = await tape.after(session.on({"type": kind}))
    return replies


async def gemini() -> dict[bytes, bytes]:
    config, fake, tape = published()[CONFIGS["gemini"]], GeminiFake(), Tape()
    fake.seconds = ANSWER_S
    session = GeminiSession(fake, tape)  # type: ignore[arg-type]
    replies = {b"": b"", b'"setup"': await tape.after(session.on(setup_message(config, QUESTION)))}
    replies[b'"activityEnd"'] = await tape.after(session.on({"realtimeInput": {"activityEnd": {}}}))
    return replies


async def chat() -> dict[bytes, bytes]:
    reply = ChatFake()._reply("happy", answer_pcm("chat", seconds=ANSWER_S))
    body = json.dumps({"object": "chat.completion", **reply, "usage": {"n": 1}}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return {b"answer": head.encode() + body}


class Tally:
    """What the service saw."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.waiting = self.most = 0

    def asked(self) -> None:
        self.waiting += 1
        self.most = max(self.most, self.waiting)

    def answered(self) -> None:
        self.waiting -= 1
        self.times.append(time.monotonic())


class Replay(asyncio.Protocol):
    """One connection of a client. ``answer`` names the reply that waits for the delay."""

    def __init__(self, replies: dict[bytes, bytes], answer: bytes, delay: float, tally: Tally) -> None:
        self.replies, self.answer, self.delay, self.tally = replies, answer, delay, tally
        self.buffer = b""
        self.upgraded = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while self.take():
            pass

    def take(self) -> bool:
        """Take one message off the buffer; False where it is not whole yet."""
        return self.take_frame() if self.upgraded else self.take_request()

    def take_request(self) -> bool:
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return False
        pairs = (line.partition(b":") for line in head.split(b"\r\n")[1:])
        fields = {name.lower(): value.strip() for name, _, value in pairs}
        size = int(fields.get(b"content-length", 0))
        if len(rest) < size:
            return False
        self.buffer = rest[size:]
        if b"sec-websocket-key" in fields:
            accept = base64.b64encode(hashlib.sha1(fields[b"sec-websocket-key"] + GUID).digest())
            upgrade = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            self.transport.write(upgrade + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + self.replies[b""])
            self.upgraded = True
        else:
            self.reply(self.answer)
        return True

    def take_frame(self) -> bool:
        data = self.buffer
        if len(data) < 2:
            return False
        size, at = data[1] & 127, 2
        if size > 125:
            at = 4 if size == 126 else 10
            size = int.from_bytes(data[2:at], "big")
        if len(data) < at + 4 + size:
            return False
        mask, start = data[at : at + 4], data[at + 4 : at + 4 + min(size, 64)]
        words = bytes(a ^ b for a, b in zip(start, mask * 16, strict=False))
        self.buffer = data[at + 4 + size :]
        if data[0] & 15 == CLOSE:
            self.transport.write(frame(CLOSE, words[:2]))
            self.transport.close()
            return False
        for marker in self.replies:
            if marker and marker in words:
                self.reply(marker)
        return True

    def reply(self, marker: bytes) -> None:
        if marker == self.answer:
            self.tally.asked()
            asyncio.get_running_loop().call_later(self.delay, self.say)
        else:
            self.transport.write(self.replies[marker])

    def say(self) -> None:
        self.transport.write(self.replies[self.answer])
        self.tally.answered()


CASES: dict[str, tuple[Callable[[], Any], bytes, str]] = {
    "realtime": (realtime, b'"response.create"', "/v1"),
    "gemini": (gemini, b'"activityEnd"', ""),
    "chat": (chat, b"answer", "/v1"),
}


async def main(case: str, delay: float) -> None:
    record, answer, path = CASES[case]
    replies, tally = await record(), Tally()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(partial(Replay, replies, answer, delay, tally), "127.0.0.1", 0, backlog=1024)
    gc.freeze()
    began = time.process_time()
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps({"cpu": time.process_time() - began, "times": tally.times, "waiting": tally.most}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
