"""A fake of Bedrock's bidirectional stream with Nova Sonic behind it: HTTP/2 over TLS, signed event-stream frames.

Signatures and frames are checked with code of its own (not the package's). Turn ends are computed from the audio
that arrives: speech, then as much silence as the endpointing sensitivity asks for.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import uuid
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import quote

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from vaeval_tasks.testing.aws import demand, expected_request_signature, frame, hmac_sha256, signing_key, unframe
from vaeval_tasks.testing.nova_rules import RATE, Endpointer, Order
from vaeval_tasks.testing.server import KEY, Fake, answer_pcm, pieces

ACCESS_KEY = "AKIDLOOPBACK"
PAUSES = {"HIGH": 1.5, "MEDIUM": 1.75, "LOW": 2.0}


class BedrockConnection:
    """One HTTP/2 connection and the stream on it."""

    def __init__(self, fake: BedrockFake, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.fake, self.reader, self.writer = fake, reader, writer
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config=config)
        self.room = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.session: BedrockSession | None = None

    def flush(self) -> None:
        """Hand what HTTP/2 has to send to the socket."""
        self.writer.write(self.h2.data_to_send())

    async def run(self) -> None:
        """Read until the client closes."""
        self.h2.initiate_connection()
        self.flush()
        while data := await self.reader.read(65536):
            for event in self.h2.receive_data(data):
                self.on(event)
            self.flush()
            await self.writer.drain()

    def on(self, event: Any) -> None:
        """Act on an HTTP/2 event."""
        if isinstance(event, h2.events.RequestReceived):
            self.request(event.stream_id, {str(k): str(v) for k, v in event.headers})
        elif isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if self.session is not None:
                self.session.data(event.data)
        elif isinstance(event, h2.events.WindowUpdated):
            self.room.set()

    def request(self, stream: int, headers: dict[str, str]) -> None:
        """Refuse a request or open its session."""
        behaviour = self.fake.next_behaviour()
        status, message = self.fake.refusal(headers, behaviour)
        if status != 200:
            kind, _, words = message.partition(": ")
            named = [("x-amzn-errortype", kind)] if words else []
            self.h2.send_headers(stream, [(":status", str(status)), ("content-type", "application/json"), *named])
            self.h2.send_data(stream, json.dumps({"message": message}).encode(), end_stream=True)
            self.fake.sessions.append({"status": status})
            return
        answer = [(":status", "200"), ("content-type", "application/vnd.amazon.eventstream")]
        self.h2.send_headers(stream, answer)
        self.session = BedrockSession(self, stream, headers, behaviour)

    def start(self, work: Any) -> None:
        """Run something beside reading; it ends with the connection."""
        self.tasks.append(asyncio.ensure_future(work))

    async def write(self, stream: int, data: bytes) -> None:
        """Send bytes as the client's window has room for them."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            while data:
                size = min(len(data), self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
                if size <= 0:
                    self.room.clear()
                    await self.room.wait()
                    continue
                self.h2.send_data(stream, data[:size])
                data = data[size:]
                self.flush()
                await self.writer.drain()


class BedrockSession:
    """One stream: checks what comes in, ends turns, answers."""

    def __init__(self, connection: BedrockConnection, stream: int, headers: dict[str, str], behaviour: str) -> None:
        self.connection, self.stream, self.fake = connection, stream, connection.fake
        self.behaviour = behaviour
        self.prior = headers["authorization"].split("Signature=")[1]
        self.region = headers["authorization"].split("Credential=")[1].split("/")[2]
        self.rest = b""
        self.turns = 0
        self.endpointer: Endpointer | None = None
        self.order = Order()
        self.over = False
        self.last_audio = asyncio.get_running_loop().time()
        self.log: dict[str, Any] = {"behaviour": behaviour, "path": headers[":path"], "events": [], "audio": b""}
        self.fake.sessions.append(self.log)
        self.ids = {"sessionId": str(uuid.uuid4()), "promptName": "", "completionId": str(uuid.uuid4())}
        connection.start(self.watch())

    async def watch(self) -> None:
        """End the session at its 8 minutes, or when no audio has come for 55 s."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            await asyncio.sleep(0.005)
            if (loop.time() - began) * self.fake.speed > self.fake.cap_s:
                await self.fail("modelTimeoutException", "Model has timed out in processing the request.")
                return
            if (loop.time() - self.last_audio) * self.fake.speed > 55:
                await self.fail("validationException", "Timed out waiting for audio bytes. InternalErrorCode=531")
                return

    def data(self, data: bytes) -> None:
        """Take bytes of the stream: frames, and the event in each."""
        frames, self.rest = unframe(self.rest + data)
        for headers, payload, raw_date in frames:
            self.verify(headers, payload, raw_date)
            if payload:
                (inner,), rest = unframe(payload)
                demand(not rest and inner[0][":event-type"] == "chunk", "a frame must hold one chunk")
                event = json.loads(base64.b64decode(json.loads(inner[1])["bytes"]))["event"]
                self.on(next(iter(event)), event[next(iter(event))])

    def verify(self, headers: dict[str, Any], payload: bytes, raw_date: bytes) -> None:
        """Check the signature of a frame, which covers the one before."""
        when = datetime.fromtimestamp(headers[":date"] / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{when[:8]}/{self.region}/bedrock/aws4_request"
        digests = "\n".join(hashlib.sha256(part).hexdigest() for part in (raw_date, payload))
        text = f"AWS4-HMAC-SHA256-PAYLOAD\n{when}\n{scope}\n{self.prior}\n{digests}"
        want = hmac_sha256(signing_key(KEY, when[:8], self.region), text)
        if want != headers[":chunk-signature"]:
            self.connection.start(self.fail("validationException", "The event signature does not match."))
        self.log["verified"] = self.log.get("verified", 0) + 1
        self.prior = headers[":chunk-signature"].hex()

    def on(self, name: str, body: dict[str, Any]) -> None:
        """Act on an event of Nova Sonic."""
        if self.over:
            return
        if wrong := self.order.wrong(name, body):
            self.over = True
            self.connection.start(self.fail("validationException", wrong))
            return
        if name == "audioInput":
            self.audio(base64.b64decode(body["content"]))
            return
        self.log["events"].append({name: body})
        if name == "sessionStart":
            sensitivity = (body.get("turnDetectionConfiguration") or {}).get("endpointingSensitivity", "MEDIUM")
            self.endpointer = Endpointer(PAUSES[sensitivity])
        elif name == "promptStart":
            self.ids["promptName"] = body["promptName"]
            self.voice = body["audioOutputConfiguration"]["voiceId"]
            self.rate = body["audioOutputConfiguration"]["sampleRateHertz"]
            if self.voice not in self.fake.voices:
                self.connection.start(self.fail("validationException", f"Invalid voiceId {self.voice}"))
        elif name == "contentStart" and body["type"] == "AUDIO":
            demand(body["audioInputConfiguration"]["sampleRateHertz"] == RATE, f"input must have {RATE} Hz")
        elif name == "sessionEnd":
            self.connection.start(self.goodbye())

    def audio(self, data: bytes) -> None:
        """Take a piece of the user's sound; a turn that has ended is answered."""
        self.last_audio = asyncio.get_running_loop().time()
        if len(data) % 2:
            self.connection.start(self.fail("validationException", "odd audio"))
        self.log["audio"] += data
        if self.endpointer is None:
            raise ValueError("audio before sessionStart")
        turn = self.endpointer.feed(data)
        if turn is not None:
            self.log.setdefault("turns", []).append(turn)
            self.connection.start(self.respond(turn))

    async def say(self, event: dict[str, Any]) -> None:
        """Send an event."""
        await self.fake.deliver(event, event, self.send)

    async def send(self, content: Any) -> None:
        """Send an event, or a text or bytes as the payload of a frame."""
        if isinstance(content, str | bytes):
            payload = content if isinstance(content, bytes) else content.encode()
        else:
            inside = base64.b64encode(json.dumps({"event": content}).encode()).decode()
            payload = json.dumps({"bytes": inside, "p": "abcdefgh"}).encode()
        headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
        await self.connection.write(self.stream, frame(headers, payload))

    async def fail(self, kind: str, message: str) -> None:
        """Send an exception and end the stream."""
        headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
        await self.connection.write(self.stream, frame(headers, json.dumps({"message": message}).encode()))
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self.connection.h2.end_stream(self.stream)
        self.connection.flush()

    async def goodbye(self) -> None:
        """End the stream as ``sessionEnd`` asks."""
        await self.say({"completionEnd": {**self.ids, "stopReason": "END_TURN"}})
        self.connection.h2.end_stream(self.stream)
        self.connection.flush()

    async def text(self, role: str, stage: str, words: str, stop: str = "PARTIAL_TURN") -> None:
        """Send one piece of text as start, text and end."""
        content = str(uuid.uuid4())
        ids = {**self.ids, "contentId": content}
        extra = {"additionalModelFields": json.dumps({"generationStage": stage})}
        await self.say({"contentStart": {**ids, "type": "TEXT", "role": role, **extra}})
        await self.say({"textOutput": {**ids, "content": words, "role": role}})
        await self.say({"contentEnd": {**ids, "stopReason": stop, "type": "TEXT"}})

    async def sound(self, data: bytes, stop: str = "END_TURN", size: int = 4800) -> None:
        """Send sound as start, pieces and end."""
        ids = {**self.ids, "contentId": str(uuid.uuid4())}
        form = {"mediaType": "audio/lpcm", "sampleRateHertz": self.rate, "sampleSizeBits": 16, "channelCount": 1}
        start = {"type": "AUDIO", "role": "ASSISTANT", "audioOutputConfiguration": form}
        await self.say({"contentStart": {**ids, **start}})
        for piece in pieces(data, size):
            await self.say({"audioOutput": {**ids, "content": base64.b64encode(piece).decode()}})
        await self.say({"contentEnd": {**ids, "stopReason": stop, "type": "AUDIO"}})

    async def usage(self) -> None:
        """Send what was counted."""
        counts = {"totalInputTokens": 60, "totalOutputTokens": 16, "totalTokens": 76}
        await self.say({"usageEvent": {**self.ids, "details": {"total": {"input": {"speechTokens": 50}}}, **counts}})

    def answer(self, turn: bytes) -> bytes:
        """Return the final audio of the happy case."""
        return self.fake.answer(turn, self.voice, self.rate)

    async def respond(self, turn: bytes) -> None:
        """Answer a turn as the plan says."""
        self.turns += 1
        await asyncio.sleep(self.fake.delay)
        if self.turns == 1:
            await self.say({"completionStart": self.ids})
        await self.text("USER", "FINAL", "what is two and two")
        await getattr(self, f"_{self.behaviour}", self._happy)(turn)

    async def _happy(self, turn: bytes) -> None:
        await self.text("ASSISTANT", "SPECULATIVE", "It is four, I think.")
        await self.sound(self.answer(turn))
        await self.text("ASSISTANT", "FINAL", "It is four.", "END_TURN")
        await self.usage()

    async def _two_sentences(self, turn: bytes) -> None:
        sound = self.answer(turn)
        half = len(sound) // 4 * 2
        await self.text("ASSISTANT", "SPECULATIVE", "It is")
        await self.sound(sound[:half], "PARTIAL_TURN")
        await self.usage()
        await self.text("ASSISTANT", "SPECULATIVE", "four.")
        await self.sound(sound[half:])
        await self.text("ASSISTANT", "FINAL", "It is")
        await self.text("ASSISTANT", "FINAL", "four.", "END_TURN")

    async def _long_early_answer(self, turn: bytes) -> None:
        """The first answer goes on after the prompt has ended."""
        if self.turns > 1:
            await self._happy(turn)
            return
        await self.sound(answer_pcm("early one"), "PARTIAL_TURN")
        while not self.log.get("second_speech_over"):
            await asyncio.sleep(0.002)
            heard = self.endpointer
            self.log["second_speech_over"] = heard is not None and heard.spoken and heard.quiet > RATE // 4
        await self.sound(answer_pcm("early two"))

    async def _odd_chunks(self, turn: bytes) -> None:
        await self.sound(self.answer(turn), size=1001)
        await self.text("ASSISTANT", "FINAL", "It is four.", "END_TURN")

    async def _interrupted(self, turn: bytes) -> None:
        await self.sound(self.answer(turn), "INTERRUPTED")

    async def _no_answer(self, turn: bytes) -> None:
        await asyncio.sleep(3600)

    async def _abort(self, turn: bytes) -> None:
        self.connection.writer.transport.abort()

    async def _throttling(self, turn: bytes) -> None:
        await self.fail("throttlingException", "Too many requests, please wait before trying again.")

    async def _unavailable(self, turn: bytes) -> None:
        await self.fail("serviceUnavailableException", "try again")

    async def _internal_late(self, turn: bytes) -> None:
        await self.sound(self.answer(turn)[:4800], "PARTIAL_TURN")
        await self.fail("internalServerException", "broke")

    async def _timed_out(self, turn: bytes) -> None:
        await self.fail("modelTimeoutException", "Model has timed out in processing the request.")

    async def _bad_request(self, turn: bytes) -> None:
        await self.fail("validationException", "Invalid input request, please fix your input and try again.")

    async def _quota(self, turn: bytes) -> None:
        await self.fail("throttlingException", "Too many tokens per day, please wait before trying again.")

    async def _cut(self, turn: bytes) -> None:
        await self.sound(self.answer(turn), "MAX_TOKENS")
        await self.text("ASSISTANT", "FINAL", "It is four", "END_TURN")

    async def _filtered(self, turn: bytes) -> None:
        await self.sound(self.answer(turn)[:4800], "CONTENT_FILTERED")

    async def _barge_in_word(self, turn: bytes) -> None:
        """The text that says that the user spoke on is no text."""
        await self.text("ASSISTANT", "FINAL", '{ "interrupted" : true }', "INTERRUPTED")
        await self._happy(turn)

    async def _late_text(self, turn: bytes) -> None:
        """The final text comes a second after the sound."""
        await self.sound(self.answer(turn))
        await asyncio.sleep(1.0 / self.fake.speed)
        await self.text("ASSISTANT", "FINAL", "It is four.", "END_TURN")

    async def _ends_early(self, turn: bytes) -> None:
        await self.goodbye()

    async def _broken_frame(self, turn: bytes) -> None:
        await self.send(b'{"bytes": "bm90IGpzb24="}')

    async def _stream_error(self, turn: bytes) -> None:
        await self.fail("modelStreamErrorException", "the model stream broke")


class BedrockFake(Fake):
    """Bedrock with Nova Sonic: refuses wrong signatures, models and voices; needs an :class:`Authority`."""

    behaviours: ClassVar[frozenset[str]] = frozenset(
        {n[1:] for n in vars(BedrockSession) if n.startswith("_") and n[1] != "_"}
        | {"http_429", "http_503", "http_quota", "http_expired_token"}
    )
    voices: ClassVar[set[str]] = {"tiffany", "matthew"}
    models: ClassVar[set[str]] = {"amazon.nova-2-sonic-v1:0"}
    cap_s = 480.0

    async def start(self) -> int:
        """Start listening; return the port."""
        if self.authority is None:
            raise ValueError("Bedrock speaks HTTP/2 over TLS only: give an Authority")
        self._connections: set[BedrockConnection] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.authority.server_h2)
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = BedrockConnection(self, reader, writer)
        self._connections.add(connection)
        try:
            await connection.run()
        except (ConnectionError, h2.exceptions.ProtocolError):
            pass
        finally:
            for task in connection.tasks:
                task.cancel()
            writer.close()
            self._connections.discard(connection)

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        self._server.close()
        for connection in list(self._connections):
            connection.writer.transport.abort()

    def refusal(self, headers: dict[str, str], behaviour: str) -> tuple[int, str]:
        """Return the HTTP status of a request, 200 where it is right, and why."""
        if behaviour == "http_quota":
            return 400, "ServiceQuotaExceededException: Your request exceeds the service quota for your account."
        if behaviour == "http_expired_token":
            return 403, "ExpiredTokenException: The security token included in the request is expired"
        if behaviour.startswith("http_"):
            return int(behaviour[5:]), "Too many requests"
        if f"Credential={ACCESS_KEY}/" not in headers["authorization"]:
            return 403, "The security token included in the request is invalid."
        want, given = expected_request_signature(headers)
        if want != given:
            return 403, "The request signature we calculated does not match the signature you provided."
        if headers[":path"] not in {
            f"/model/{quote(m, safe='')}/invoke-with-bidirectional-stream" for m in self.models
        }:
            return 404, "The provided model identifier is invalid."
        return 200, ""

    def answer(self, turn: bytes, voice: str, rate: int = 24000) -> bytes:
        """Return the sound of the answer to a turn."""
        return answer_pcm(turn, voice, rate=rate)
