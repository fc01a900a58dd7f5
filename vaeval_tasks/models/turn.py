"""One turn with a provider: what is collected, how it can fail, and how that becomes a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import VaevalError, fault
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Reply, Retry
from vaeval_tasks.models.transport.record import BadAudioError, Recorder
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["LONGEST_ANSWER_S", "Answer", "Timeouts", "TurnError", "alongside", "run_turn", "unsupported"]

LONGEST_ANSWER_S = 300.0
"""An answer that reaches this many seconds never came to an end by itself."""


class TurnError(Exception):
    """A turn failed in a way that is a result: it becomes a status, not an exception, of the reply."""

    def __init__(self, status: ResponseStatus, reason: str, retry: Retry | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.retry = status, reason, retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long each part of a turn may take, in seconds."""

    connect: float = 15.0
    first_audio: float = 60.0
    """From the end of the request to the first audio; thinking models get more."""
    idle: float = 60.0
    """Between two events once the answer has begun."""
    turn: float = 300.0

    @classmethod
    def of(cls, config: ModelConfig) -> Timeouts:
        """Return the limits of a configuration."""
        return cls(**config.connection.get("timeouts") or {})


@dataclass(slots=True, kw_only=True)
class Answer:
    """What has come of an answer so far. ``final`` and ``provisional`` are 16-bit little-endian mono PCM."""

    recorder: Recorder
    rate: int
    """Hz of both streams."""
    final: bytearray = field(default_factory=bytearray)
    provisional: bytearray = field(default_factory=bytearray)
    input_transcript: str = ""
    output_transcript: str = ""
    thoughts: str = ""
    text: str = ""
    """Text output beside the transcript, where a provider has one."""
    usage: dict[str, Any] = field(default_factory=dict)
    request: dict[str, Any] = field(default_factory=dict)
    has_transcript: bool = False
    """Whether the provider was to write down its answer; then an empty transcript is a fault."""
    begun: bool = False
    """Whether any sound came; then asking again would be a second answer."""
    note: str = ""
    """What was odd about an otherwise good answer."""

    def set_aside(self) -> None:
        """Make what counted as final provisional."""
        self.provisional += self.final
        self.final.clear()
        self.recorder.unheard()

    def clip(self, pcm: bytearray) -> Clip | None:
        """Return the samples, or None where there are none."""
        return Clip.from_pcm16(bytes(pcm), self.rate) if len(pcm) > 1 else None

    def finish(self) -> Reply:
        """Judge a turn that came to its end: a silent, endless or wordless answer is kept, and said to be so."""
        audio = self.clip(self.final)
        return self._reply(audio, *self._status(audio))

    def fail(self, failure: TurnError, retry: Retry | None) -> Reply:
        """Return what a turn left that failed on the way: its sound is provisional, it is not an answer."""
        self.set_aside()
        return self._reply(None, failure.status, failure.reason, retry)

    def _status(self, audio: Clip | None) -> tuple[ResponseStatus, str]:
        if audio is None:
            why = "only provisional audio came" if self.provisional else "no audio came"
            return ResponseStatus.empty, why
        if audio.silent:
            return ResponseStatus.degenerate, "the audio is silent"
        if audio.seconds >= LONGEST_ANSWER_S:
            return ResponseStatus.degenerate, f"the audio runs to {audio.seconds:.0f} s"
        if self.has_transcript and not self.output_transcript.strip():
            return ResponseStatus.degenerate, "the transcript of the answer is empty"
        return ResponseStatus.ok, self.note

    def _reply(self, audio: Clip | None, status: ResponseStatus, error: str, retry: Retry | None = None) -> Reply:
        return Reply(
            status=status,
            text=self.text or self.output_transcript,
            audio=audio,
            provisional=self.clip(self.provisional),
            input_transcript=self.input_transcript,
            output_transcript=self.output_transcript,
            thoughts=self.thoughts,
            usage=self.usage,
            first_audio_s=self.recorder.first_audio_s,
            total_s=self.recorder.total_s,
            request=self.request,
            events=tuple(self.recorder.events),
            error=error,
            retry=retry,
        )


def unsupported(reason: str) -> Reply:
    """Return the reply to a conversation that the model has no way to take; nothing was sent."""
    return Reply(status=ResponseStatus.unsupported, error=reason)


async def alongside(ask: Callable[[], Awaitable[None]], listen: Callable[[], Awaitable[None]]) -> None:
    """Listen while asking, so that neither side waits for the other to read; the turn ends when listening does.

    A session that closes while asking is left to ``listen``, which still reads what the provider said last.
    """
    asking, listening = asyncio.ensure_future(ask()), asyncio.ensure_future(listen())
    try:
        await asyncio.wait({asking, listening}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done() and not isinstance(asking.exception(), TurnError):
            asking.result()
        await listening
    finally:
        if not (asking.done() and listening.done()):
            for task in (asking, listening):
                task.cancel()
            await asyncio.wait({asking, listening})
        for task in (asking, listening):  # whatever else went wrong was said; nothing is left to be warned about
            task.cancelled() or task.exception()


async def run_turn(
    talk: Callable[[Answer], Awaitable[None]],
    *,
    clock: Clock,
    timeouts: Timeouts,
    rate: int,
    retry_silence: bool = False,
) -> Reply:
    """Let ``talk`` fill an answer and return it as a reply.

    Args:
        talk: speaks to the provider; raises :class:`TurnError` for a failure that is a result.
        clock: measures and limits time.
        timeouts: the limits; ``turn`` ends the attempt.
        rate: Hz of the answer.
        retry_silence: whether a turn that timed out before anything was said may be tried once more.

    Returns:
        The reply. Sound of a turn that failed on the way is provisional: it is not an answer.
    """
    answer = Answer(recorder=Recorder(clock), rate=rate)
    try:
        async with clock.timeout(timeouts.turn):
            await talk(answer)
    except TurnError as error:
        failure = error
    except BadAudioError as error:
        failure = TurnError(ResponseStatus.error, str(error))
    except TimeoutError:
        failure = TurnError(ResponseStatus.timeout, f"no end of the turn within {timeouts.turn:g} s")
    except VaevalError:
        raise
    except Exception as error:  # a message that is not what it must be; what was sent and received shows it
        failure = TurnError(ResponseStatus.error, f"unexpected {fault(error)}")
    else:
        return answer.finish()
    retry = failure.retry
    if retry_silence and failure.status is ResponseStatus.timeout and not answer.begun:
        retry = Retry(at_most=1)
    return answer.fail(failure, retry)
