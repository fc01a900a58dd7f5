"""Amazon Nova Sonic: one HTTP/2 stream to Bedrock, LPCM 16 kHz in and 24 kHz out.

Turn detection cannot be switched off: speech is sent at the pace it was spoken, then zeros until the answer is
complete. The turn ends with the assistant's audio ``contentEnd`` of ``END_TURN``; its final text may come after.
An answer that began before the last sample of the prompt was sent was given at a pause inside it: it is provisional.
"""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass, field
from typing import Any

from vaeval_tasks.errors import MissingDependencyError, ServiceError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Conversation, Reply, Retry, TurnRole
from vaeval_tasks.models.providers import address, secret
from vaeval_tasks.models.speech_in import chunks, earlier, pcm, plain_system, question
from vaeval_tasks.models.transport.bedrock_stream import BedrockStream, StreamError
from vaeval_tasks.models.transport.failure import unreachable
from vaeval_tasks.models.transport.record import audio_stub, decode_base64, hide
from vaeval_tasks.models.transport.sigv4 import Credentials
from vaeval_tasks.models.turn import Answer, Timeouts, TurnError, alongside, run_turn, unsupported
from vaeval_tasks.services.http.secrets import scrub
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["LONGEST_PROMPT_S", "NovaSonic"]

LONGEST_PROMPT_S = 420.0
"""A connection lasts 8 minutes and the prompt is sent in real time; one minute is left for the answer."""

_FRAME_S = 0.032
"""512 samples at 16 kHz, the pace of AWS's own samples."""
_LINGER_S = 1.5
"""How long to wait for the final text once the audio has ended."""
_PROMPT, _SYSTEM, _SPEECH = "prompt", "system", "speech"
_AGAIN = {"throttlingException", "internalServerException", "serviceUnavailableException", "connection"}
_TIMED_OUT = {"modelTimeoutException"}


@dataclass(slots=True)
class _Progress:
    """Where the turn stands."""

    spoken: bool = False
    """Whether the last sample of the prompt was sent."""
    done: asyncio.Event = field(default_factory=asyncio.Event)
    early: bool = False
    """Whether an answer came at a pause inside the prompt."""
    answering_early: bool = False
    """Whether such an answer is still going on: all its sentences are provisional."""
    stages: dict[str, str] = field(default_factory=dict)
    """contentId -> role and generation stage of a text."""
    premature: set[str] = field(default_factory=set)
    """Audio contents that began too early."""


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
            region = config.connection.get("region", "us-east-1")
            url = address(config).format(region=region)
            answer.request = {"url": url, "model": config.params["model"], "events": opening}
            answer.request["audio"] = {**form, **audio_stub(speech)}
            stream = await self._open(url, region, config, timeouts)
            try:
                await self._converse(stream, answer, opening, speech, rate, timeouts)
            except StreamError as error:
                raise _failure(error, answer, config) from None
            finally:
                await stream.close()

        turn = Timeouts(**{**(config.connection.get("timeouts") or {}), "turn": timeouts.turn + seconds})
        output = config.params["promptStart"]["audioOutputConfiguration"]["sampleRateHertz"]
        return await run_turn(talk, clock=self._clock, timeouts=turn, rate=output)

    async def close(self) -> None:
        """Nothing stays open between turns."""

    async def _open(self, url: str, region: str, config: ModelConfig, timeouts: Timeouts) -> BedrockStream:
        from os import environ

        credentials = Credentials(
            secret("AWS_ACCESS_KEY_ID", config),
            secret("AWS_SECRET_ACCESS_KEY", config),
            environ.get("AWS_SESSION_TOKEN", ""),
            region,
        )
        stream = BedrockStream(url, config.params["model"], credentials)
        try:
            async with self._clock.timeout(timeouts.connect):
                await stream.open()
        except ImportError:
            raise MissingDependencyError(config.provider, "h2", extra="realtime") from None
        except (OSError, TimeoutError, StreamError) as error:
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
    ) -> None:
        progress = _Progress()

        async def ask() -> None:
            try:
                for event in opening:
                    await _send(stream, answer, event)
                await self._speak(stream, answer, progress, speech, rate)
            except StreamError:
                return  # the reader gets the reason

        await alongside(ask, lambda: self._listen(stream, answer, progress, timeouts))
        if progress.early:
            answer.note = "answered at a pause inside the prompt first; that answer is kept as provisional"

    async def _speak(
        self, stream: BedrockStream, answer: Answer, progress: _Progress, speech: bytes, rate: int
    ) -> None:
        """Send the prompt at the pace it was spoken, then silence until the answer is complete, then say goodbye."""
        pieces = chunks(speech, rate, _FRAME_S)
        silence = bytes(int(rate * _FRAME_S) * 2)
        due = self._clock.now()
        while not progress.done.is_set():
            piece = next(pieces, None)
            if piece is None and not progress.spoken:
                progress.spoken = True
                answer.recorder.asked()
            audio = base64.b64encode(silence if piece is None else piece).decode()
            event = {"audioInput": {"promptName": _PROMPT, "contentName": _SPEECH, "content": audio}}
            await _send(stream, answer, event)
            due += _FRAME_S
            await self._clock.sleep(due - self._clock.now())
        await _send(stream, answer, {"contentEnd": {"promptName": _PROMPT, "contentName": _SPEECH}})
        await _send(stream, answer, {"promptEnd": {"promptName": _PROMPT}})
        await _send(stream, answer, {"sessionEnd": {}})
        await stream.end()

    async def _listen(self, stream: BedrockStream, answer: Answer, progress: _Progress, timeouts: Timeouts) -> None:
        while True:
            lingering = progress.done.is_set()
            try:
                async with self._clock.timeout(_LINGER_S if lingering else self._patience(answer, timeouts)):
                    event = await stream.receive()
            except TimeoutError:
                if lingering:
                    return
                raise TurnError(ResponseStatus.timeout, "no end of the answer in time") from None
            except StreamError:
                if lingering:
                    return
                raise
            if event is None or "completionEnd" in event:
                if lingering:
                    return
                raise TurnError(ResponseStatus.error, "the stream ended before the answer did")
            answer.recorder.received(
                hide(event, "audioOutput", "content") if "content" in event.get("audioOutput", {}) else event
            )
            _collect(event, answer, progress)

    def _patience(self, answer: Answer, timeouts: Timeouts) -> float:
        asked = answer.recorder.asked_at
        if asked is None:  # the prompt is still being spoken
            return LONGEST_PROMPT_S + timeouts.first_audio
        if answer.recorder.heard_at is not None:
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


def _stage(start: dict[str, Any]) -> str:
    try:
        fields = json.loads(start.get("additionalModelFields") or "{}")
    except json.JSONDecodeError:
        return ""
    return str(fields.get("generationStage", ""))


def _collect(event: dict[str, Any], answer: Answer, progress: _Progress) -> None:
    if start := event.get("contentStart"):
        if start.get("type") == "AUDIO":
            if not progress.spoken or progress.answering_early:
                progress.premature.add(start.get("contentId", ""))
                progress.early = progress.answering_early = True
        else:
            progress.stages[start.get("contentId", "")] = f"{start.get('role')} {_stage(start)}"
    elif text := event.get("textOutput"):
        _collect_text(text, progress.stages.get(text.get("contentId", ""), ""), answer, progress)
    elif sound := event.get("audioOutput"):
        early = sound.get("contentId", "") in progress.premature
        (answer.provisional if early else answer.final).extend(decode_base64(sound.get("content")))
        answer.begun = True
        if not early:
            answer.recorder.heard()
    elif end := event.get("contentEnd"):
        _collect_end(end, answer, progress)
    elif usage := event.get("usageEvent"):
        answer.usage = {key: value for key, value in usage.items() if key in ("details",) or key.startswith("total")}


def _collect_text(text: dict[str, Any], stage: str, answer: Answer, progress: _Progress) -> None:
    words = str(text.get("content", "")).strip()
    if stage.startswith("USER"):
        answer.input_transcript = f"{answer.input_transcript} {words}".strip()
    elif stage == "ASSISTANT FINAL" and progress.spoken:
        answer.output_transcript = f"{answer.output_transcript} {words}".strip()


def _collect_end(end: dict[str, Any], answer: Answer, progress: _Progress) -> None:
    if end.get("type") != "AUDIO":
        return
    stop = end.get("stopReason")
    if end.get("contentId", "") in progress.premature:
        progress.answering_early = stop not in ("END_TURN", "INTERRUPTED")
    elif stop == "INTERRUPTED":
        raise TurnError(ResponseStatus.error, "the answer was interrupted")
    elif stop == "END_TURN":
        progress.done.set()


def _failure(error: StreamError, answer: Answer, config: ModelConfig) -> Exception:
    """Name what a failure of the stream means."""
    reason = scrub(str(error), secret("AWS_SECRET_ACCESS_KEY", config), secret("AWS_ACCESS_KEY_ID", config))
    if error.status in (400, 401, 403, 404) or (error.kind == "validationException" and "531" not in error.message):
        what = "the key was refused" if error.status in (401, 403) else "the request was refused"
        return ServiceError(f"{config.config_id}: {what} by Bedrock ({reason})")
    status = ResponseStatus.timeout if error.kind in _TIMED_OUT else ResponseStatus.error
    again = error.kind in _AGAIN or error.status == 429 or error.status >= 500
    return TurnError(status, reason, Retry(after_s=1.0) if again and not answer.begun else None)
