"""One turn with a provider: what is collected, how it can fail, and how that becomes a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import VaevalError, fault
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import FATES, TurnError
from vaeval_tasks.models.protocol import Reply, Retry
from vaeval_tasks.models.said import split_thoughts
from vaeval_tasks.models.transport.edge import BadMessageError
from vaeval_tasks.models.transport.record import Recorder
from vaeval_tasks.models.transport.sound_stream import SoundStream, join
from vaeval_tasks.services.http.meaning import HttpMeaning
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = [
    "LONGEST_ANSWER_S",
    "Answer",
    "Timeouts",
    "TurnError",
    "alongside",
    "run_turn",
    "sound_status",
    "unsupported",
]

LONGEST_ANSWER_S = 300.0
"""An answer that reaches this many seconds never came to an end by itself."""


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


def sound_status(audio: Clip) -> tuple[ResponseStatus, str]:
    """Return what an answer of this sound is, and why it is of no use."""
    if not len(audio.samples):
        return ResponseStatus.empty, "there is no sound in it"
    if audio.silent:
        return ResponseStatus.degenerate, "the audio is silent"
    if audio.seconds >= LONGEST_ANSWER_S:
        return ResponseStatus.degenerate, f"the audio runs to {audio.seconds:.0f} s"
    return ResponseStatus.ok, ""


@dataclass(slots=True, kw_only=True)
class Answer:
    """What has come of an answer so far. ``final`` and ``provisional`` are 16-bit little-endian mono PCM."""

    recorder: Recorder
    rate: int
    """Hz of both."""
    streams: dict[Any, SoundStream] = field(default_factory=dict)
    """Audio that still comes in, by its place in the answer; :meth:`settle` makes PCM of it."""
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

    def hear(self, sound: str | bytes, *, place: Any = 0, final: bool = True, rate: int = 0) -> bytes | dict[str, int]:
        """Take a piece of audio.

        Args:
            sound: bytes, or base64 text.
            place: of the stream it belongs to; streams are joined in the order of their places.
            final: whether a new stream is the answer, not what came before it.
            rate: Hz of PCM, where it is said.

        Returns:
            What to keep of it in the record: its bytes, or the length of text that can be decoded only at the end.

        Raises:
            BadMessageError: it is not base64, or the rate is another than before.
        """
        if place not in self.streams:
            self.streams[place] = SoundStream(final=final)
        data = self.streams[place].feed(sound, self.recorder.clock.now(), rate)
        self.begun = self.begun or bool(sound)
        return data if data or not sound else {"base64_characters": len(sound)}

    @property
    def answering(self) -> bool:
        """Whether any of the final audio has come."""
        return any(stream.final and stream.begun_at is not None for stream in self.streams.values())

    def add_note(self, note: str) -> None:
        """Note what was odd."""
        self.note = f"{self.note}; {note}" if self.note else note

    def settle(self, *, strict: bool = True) -> None:
        """Make PCM of the streams, and find out when the answer could be heard.

        Args:
            strict: False passes over what cannot be decoded, of a turn that failed anyway.

        Raises:
            BadMessageError: a stream cannot be decoded, or its rate is another than that of the one before.
        """
        clips: list[tuple[SoundStream, Clip]] = []
        for place in sorted(self.streams):
            stream = self.streams[place]
            try:
                if (clip := stream.clip(self.rate)) is not None:
                    clips.append((stream, clip))
            except BadMessageError:
                if strict:
                    raise
        self.streams = {}
        spoken = [clip for stream, clip in clips if stream.final]
        if strict:
            join(spoken)
        if spoken:
            self.rate = spoken[0].rate
        elif clips:
            self.rate = clips[0][1].rate
        for stream, clip in clips:
            (self.final if stream.final else self.provisional).extend(clip.at(self.rate).pcm16())
        self._set_latency([(stream, clip) for stream, clip in clips if stream.final])

    def _set_latency(self, spoken: list[tuple[SoundStream, Clip]]) -> None:
        if spoken:
            began = min(stream.begun_at or 0.0 for stream, _ in spoken)
            heard = [at for stream, clip in spoken if (at := stream.audible_at(clip)) is not None]
            self.recorder.heard_at(began, min(heard, default=None))

    def set_aside(self) -> None:
        """Make what counted as final provisional."""
        for stream in self.streams.values():
            stream.final = False
        self.provisional += self.final
        self.final.clear()
        self.recorder.heard_at(None, None)

    def clip(self, pcm: bytearray) -> Clip | None:
        """Return the samples, or None where there are none."""
        return Clip.from_pcm16(bytes(pcm), self.rate) if len(pcm) > 1 else None

    def finish(self) -> Reply:
        """Judge a turn that came to its end: a silent, endless or wordless answer is kept, and said to be so.

        Raises:
            BadMessageError: the audio cannot be decoded.
        """
        self.settle()
        audio = self.clip(self.final)
        return self._reply(audio, *self._status(audio))

    def fail(self, failure: TurnError, retry: Retry | None) -> Reply:
        """Return what a turn left that failed on the way: its sound is provisional, it is not an answer."""
        self.settle(strict=False)
        self.set_aside()
        reason = f"{failure.reason} ({self.note})" if self.note else failure.reason
        return self._reply(None, failure.status, reason, retry)

    def _status(self, audio: Clip | None) -> tuple[ResponseStatus, str]:
        status, why = self._judged(audio)
        return status, "; ".join(filter(None, (why, self.note)))

    def _judged(self, audio: Clip | None) -> tuple[ResponseStatus, str]:
        if audio is None:
            return ResponseStatus.empty, "only provisional audio came" if self.provisional else "no audio came"
        status, why = sound_status(audio)
        if status is not ResponseStatus.ok:
            return status, why
        if self.has_transcript and not self.output_transcript.strip():
            return ResponseStatus.degenerate, "the transcript of the answer is empty"
        return ResponseStatus.ok, ""

    def _reply(self, audio: Clip | None, status: ResponseStatus, error: str, retry: Retry | None = None) -> Reply:
        text, thoughts = self._said()
        return Reply(
            status=status,
            text=text,
            audio=audio,
            provisional=self.clip(self.provisional),
            input_transcript=self.input_transcript,
            output_transcript=self.output_transcript,
            thoughts=thoughts,
            usage=self.usage,
            first_audio_s=self.recorder.first_audio_s,
            first_byte_s=self.recorder.first_byte_s,
            speech_pace=self.recorder.pace,
            total_s=self.recorder.total_s,
            request=self.request,
            events=tuple(self.recorder.events),
            error=error,
            retry=retry,
        )

    def _said(self) -> tuple[str, str]:
        """Return what was said, and everything that was thought or written beside it.

        What was said is the transcript of the audio; text beside it was not. Without a transcript the text is all
        there is to know of the words.
        """
        self.output_transcript, thought_aloud = split_thoughts(self.output_transcript)
        text, thought = split_thoughts(self.text)
        beside = "" if not self.output_transcript.strip() or _same(text, self.output_transcript) else text
        thoughts = "\n".join(filter(str.strip, (self.thoughts, thought_aloud, thought, beside)))
        return (self.output_transcript if self.output_transcript.strip() else text), thoughts


def _same(one: str, other: str) -> bool:
    return "".join(one.split()) == "".join(other.split())


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
        try:
            async with clock.timeout(timeouts.turn):
                await talk(answer)
        except TimeoutError:
            if answer.recorder.ended_at is None:
                raise
        return answer.finish()  # where the audio had ended, only its transcript was waited for
    except TurnError as error:
        failure = error
    except BadMessageError as error:
        failure = TurnError(FATES[HttpMeaning.unreadable].status, str(error), None if answer.begun else Retry())
    except TimeoutError:
        failure = TurnError(ResponseStatus.timeout, f"no end of the turn within {timeouts.turn:g} s")
    except VaevalError:
        raise
    except Exception as error:  # a message that is not what it must be; what was sent and received shows it
        failure = TurnError(ResponseStatus.error, f"unexpected {fault(error)}")
    retry = failure.retry
    if retry_silence and failure.status is ResponseStatus.timeout and not answer.begun:
        retry = Retry(at_most=1)
    return answer.fail(failure, retry)
