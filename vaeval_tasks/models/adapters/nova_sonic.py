"""Amazon Nova Sonic: one HTTP/2 stream to Bedrock, LPCM 16 kHz in and 24 kHz out.

Turn detection cannot be switched off: speech is sent at the pace it was spoken, then zeros until the answer is
complete. The turn ends with the assistant's audio ``contentEnd`` of ``END_TURN``; its final text may come after.
An answer that began before the last sample of the prompt was sent was given at a pause inside it: it is provisional.
"""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from typing import Any

from vaeval_tasks.errors import MissingDependencyError
from vaeval_tasks.models.adapters.nova_events import NovaReader
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import TurnError, failure, settings_refused, unreachable
from vaeval_tasks.models.protocol import Conversation, Reply, TurnRole
from vaeval_tasks.models.providers import address
from vaeval_tasks.models.speech_in import chunks, earlier, pcm, plain_system, question
from vaeval_tasks.models.transport.aws_credentials import aws_credentials
from vaeval_tasks.models.transport.bedrock_stream import BedrockStream, StreamError
from vaeval_tasks.models.transport.record import audio_stub, hide
from vaeval_tasks.models.transport.sigv4 import Credentials
from vaeval_tasks.models.turn import Answer, Timeouts, alongside, run_turn, unsupported
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus, SpeechPace

__all__ = ["LONGEST_PROMPT_S", "NovaSonic"]

LONGEST_PROMPT_S = 420.0
"""A connection lasts 8 minutes and the prompt is sent in real time; one minute is left for the answer."""

_FRAME_S = 0.032
"""512 samples at 16 kHz, the pace of AWS's own samples."""
_LINGER_S = 1.5
"""How long to wait for the final text once the audio has ended."""
_NOTHING: dict[str, Any] = {}
"""What came where nothing came in time."""
_PROMPT, _SYSTEM, _SPEECH = "prompt", "system", "speech"


class NovaSonic:
    """Nova 2 Sonic. Earlier turns go in as text."""

    sees = False

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn in a fresh stream; see :class:`vaeval_tasks.models.protocol.SpeechModel`."""
        form = config.params["contentStart"]["audioInputConfiguration"]
        rate = form["sampleRateHertz"]
        speech = await pcm(question(conversation), rate)
        seconds = len(speech) / 2 / rate
        if seconds > LONGEST_PROMPT_S:
            return unsupported(f"a prompt of {seconds:.0f} s does not fit a connection of 8 minutes; it was not sent")
        if mute := [n for n, turn in enumerate(earlier(conversation), 1) if not turn.text]:
            return unsupported(f"nova_sonic takes earlier turns as text, and turn {mute[0]} has none")
        opening = _opening(conversation, config)
        timeouts = Timeouts.of(config)

        async def talk(answer: Answer) -> None:
            credentials = await asyncio.to_thread(aws_credentials, config)
            url = address(config).format(region=credentials.region)
            answer.request = {"url": url, "model": config.params["model"], "events": opening}
            answer.request["audio"] = {**form, **audio_stub(speech)}
            stream = await self._open(url, credentials, config, timeouts)
            try:
                await self._converse(stream, answer, opening, speech, rate, timeouts, config, url)
            finally:
                await stream.close()

        turn = Timeouts(**{**(config.connection.get("timeouts") or {}), "turn": timeouts.turn + seconds})
        output = config.params["promptStart"]["audioOutputConfiguration"]["sampleRateHertz"]
        return await run_turn(talk, clock=self._clock, timeouts=turn, rate=output)

    async def close(self) -> None:
        """Nothing stays open between turns."""

    async def _open(self, url: str, credentials: Credentials, config: ModelConfig, timeouts: Timeouts) -> BedrockStream:
        stream = BedrockStream(url, config.params["model"], credentials)
        try:
            async with self._clock.timeout(timeouts.connect):
                await stream.open()
        except ImportError:
            raise MissingDependencyError(config.provider, "h2", extra="realtime") from None
        except (OSError, TimeoutError) as error:
            raise unreachable(config, url, error) from None
        return stream

    async def _converse(
        self,
        stream: BedrockStream,
        answer: Answer,
        opening: list[dict[str, Any]],
        speech: bytes,
        rate: int,
        timeouts: Timeouts,
        config: ModelConfig,
        url: str,
    ) -> None:
        reader = NovaReader(answer, lambda found: failure(config, url, found, begun=answer.begun))

        async def ask() -> None:
            try:
                for event in opening:
                    await _send(stream, answer, event)
                await self._speak(stream, answer, reader, speech, rate)
            except StreamError:
                return  # the reader gets the reason

        try:
            await alongside(ask, lambda: self._listen(stream, answer, reader, timeouts))
        except StreamError as error:
            if error.refused or not (reader.heard_of or reader.spoken):
                raise settings_refused(config, url, error.outcome) from None
            raise failure(config, url, error.outcome, begun=answer.begun) from None
        if reader.early:
            answer.add_note("answered at a pause inside the prompt first; that answer is kept as provisional")

    async def _speak(self, stream: BedrockStream, answer: Answer, reader: NovaReader, speech: bytes, rate: int) -> None:
        """Send the prompt at the pace it was spoken, then silence until the answer is complete, then say goodbye."""
        pieces = chunks(speech, rate, _FRAME_S)
        silence = bytes(int(rate * _FRAME_S) * 2)
        due = self._clock.now()
        while not reader.over.is_set():
            piece = next(pieces, None)
            if piece is None and not reader.spoken:
                reader.spoken = True
                answer.recorder.asked(SpeechPace.spoken)
            audio = base64.b64encode(silence if piece is None else piece).decode()
            event = {"audioInput": {"promptName": _PROMPT, "contentName": _SPEECH, "content": audio}}
            await _send(stream, answer, event)
            due += _FRAME_S
            await self._clock.sleep(due - self._clock.now())
        await _send(stream, answer, {"contentEnd": {"promptName": _PROMPT, "contentName": _SPEECH}})
        await _send(stream, answer, {"promptEnd": {"promptName": _PROMPT}})
        await _send(stream, answer, {"sessionEnd": {}})
        await stream.end()

    async def _listen(self, stream: BedrockStream, answer: Answer, reader: NovaReader, timeouts: Timeouts) -> None:
        """Read until the answer is complete, then for the rest of its text, then for the end of the stream."""
        while not reader.done.is_set():
            event = await self._receive(stream, self._patience(answer, timeouts))
            if event is _NOTHING:
                raise TurnError(ResponseStatus.timeout, "no end of the answer in time")
            if event is None or "completionEnd" in event:
                outcome = HttpOutcome(meaning=HttpMeaning.broken, reason="the stream ended before the answer did")
                raise StreamError(outcome)
            reader.take(event)
        with suppress(StreamError):  # the answer is complete, whatever becomes of the stream
            if await self._linger(stream, reader, until_over=True):
                reader.over.set()
                await self._linger(stream, reader, until_over=False)

    async def _linger(self, stream: BedrockStream, reader: NovaReader, *, until_over: bool) -> bool:
        """Read what still comes; return whether the stream is open."""
        until = self._clock.now() + _LINGER_S
        while not (until_over and reader.over.is_set()):
            event = await self._receive(stream, until - self._clock.now())
            if event is None or "completionEnd" in event:
                return False
            if event is _NOTHING:
                break
            reader.take(event)
        return True

    async def _receive(self, stream: BedrockStream, within: float) -> dict[str, Any] | None:
        try:
            async with self._clock.timeout(within):
                return await stream.receive()
        except TimeoutError:
            return _NOTHING

    def _patience(self, answer: Answer, timeouts: Timeouts) -> float:
        asked = answer.recorder.asked_at
        if asked is None:  # the prompt is still being spoken
            return LONGEST_PROMPT_S + timeouts.first_audio
        if answer.answering:
            return timeouts.idle
        return timeouts.first_audio - (self._clock.now() - asked)


async def _send(stream: BedrockStream, answer: Answer, event: dict[str, Any]) -> None:
    answer.recorder.sent(hide(event, "audioInput", "content") if "audioInput" in event else event)
    await stream.send(event)


def _opening(conversation: Conversation, config: ModelConfig) -> list[dict[str, Any]]:
    """Return the events before the speech: the published parameters, the prompt and the earlier turns."""
    params = config.params
    events: list[dict[str, Any]] = [
        {"sessionStart": params["sessionStart"]},
        {"promptStart": {"promptName": _PROMPT, **params["promptStart"]}},
    ]
    if system := plain_system(conversation, config.system_prompt):
        events += _text(_SYSTEM, "SYSTEM", system)
    for number, turn in enumerate(earlier(conversation), 1):
        events += _text(f"turn-{number}", "ASSISTANT" if turn.role == TurnRole.assistant else "USER", turn.text)
    start = {
        "promptName": _PROMPT,
        "contentName": _SPEECH,
        "type": "AUDIO",
        "interactive": True,
        "role": "USER",
        **params["contentStart"],
    }
    return [*events, {"contentStart": start}]


def _text(name: str, role: str, text: str) -> list[dict[str, Any]]:
    ids = {"promptName": _PROMPT, "contentName": name}
    start = {"type": "TEXT", "interactive": False, "role": role, "textInputConfiguration": {"mediaType": "text/plain"}}
    return [{"contentStart": {**ids, **start}}, {"textInput": {**ids, "content": text}}, {"contentEnd": ids}]
