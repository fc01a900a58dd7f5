"""A user's turn as the bytes a provider takes: mono, its rate, 16-bit little-endian."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.models.protocol import Conversation, Turn, TurnRole
from vaeval_tasks.models.transport.record import Message, audio_stub, message
from vaeval_tasks.store.schema import ModelConfig, SpeechPace

__all__ = [
    "ROLE_MARK",
    "Speech",
    "chunks",
    "clips",
    "data_url",
    "earlier",
    "image_bytes",
    "image_type",
    "image_url",
    "pcm",
    "plain_system",
    "question",
    "read_clips",
    "speech",
    "speech_pace",
    "with_files",
]

ROLE_MARK = "<audio>"
"""Where the role's voice stands in a system prompt."""

_SHORT_BYTES = 1 << 18
"""Files up to this size are read on the event loop: 8 s of 16-bit sound at 16 kHz, which take about 10 ms."""

T = TypeVar("T")

_IMAGE_TYPES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}


def question(conversation: Conversation) -> Turn:
    """Return the turn to be answered.

    Raises:
        InputError: the conversation does not end with a user's turn.
    """
    if not conversation.turns or conversation.turns[-1].role != TurnRole.user:
        raise InputError("a conversation must end with a turn of the user")
    return conversation.turns[-1]


def earlier(conversation: Conversation) -> tuple[Turn, ...]:
    """Return the turns before the one to be answered."""
    return conversation.turns[:-1]


def read_clips(turn: Turn, rate: int) -> list[Clip]:
    """Read a turn's clips, mixed to mono and resampled.

    Raises:
        InputError: a clip cannot be read or holds no samples.
    """
    found = [read_audio(path).at(rate) for path in turn.audio]
    for path, clip in zip(turn.audio, found, strict=True):
        if len(clip.samples) == 0:
            raise InputError("the clip holds no samples; nothing was sent", path=path)
    return found


async def with_files(paths: Iterable[Path], work: Callable[..., T], *args: Any) -> T:
    """Do work that reads files, away from the event loop where they are large.

    Waking a thread takes longer than reading a short clip, and a session that waits for it answers nobody.
    """
    size = sum(path.stat().st_size for path in paths if path.is_file())
    return work(*args) if size <= _SHORT_BYTES else await asyncio.to_thread(work, *args)


async def clips(turn: Turn, rate: int) -> list[Clip]:
    """Read a turn's clips; see :func:`read_clips`."""
    return await with_files(turn.audio, read_clips, turn, rate)


async def pcm(turn: Turn, rate: int) -> bytes:
    """Return a turn's clips in playing order as one stretch of PCM; see :func:`clips`."""
    return b"".join(clip.pcm16() for clip in await clips(turn, rate))


Form = Callable[[Any], dict[str, Any]]
"""Puts a piece of audio, base64 or what stands for it, into a provider's message."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Speech:
    """A turn's clips as messages that are ready to be sent."""

    stub: dict[str, Any]
    """What stands for the whole of it in a request."""
    messages: tuple[Message, ...]
    seconds: float
    piece_s: float
    """Seconds of a message; the last one's may be fewer."""


_ready: WeakValueDictionary[Any, Speech] = WeakValueDictionary()
_coming: dict[Any, asyncio.Task[Speech]] = {}


def speech_pace(config: ModelConfig) -> SpeechPace:
    """Return how a configuration wants speech to be sent: at once, unless its ``connection`` says otherwise."""
    return SpeechPace(config.connection.get("speech_pace", SpeechPace.whole))


async def speech(turn: Turn, rate: int, form: Form, seconds: float = 0.2) -> Speech:
    """Return a turn's clips in playing order as messages of ``seconds`` each; see :func:`read_clips`.

    Sessions that ask about one turn at the same time, as the configurations of a provider do, share the work and the
    memory.
    """
    key = (turn.audio, rate, form, seconds)
    if (found := _ready.get(key)) is not None:
        return found
    loop = asyncio.get_running_loop()
    at_work = (loop, *key)
    if at_work not in _coming:
        _coming[at_work] = loop.create_task(with_files(turn.audio, _prepare, turn, rate, form, seconds))
        _coming[at_work].add_done_callback(lambda _: _coming.pop(at_work))
    found = _ready[key] = await asyncio.shield(_coming[at_work])
    return found


def _prepare(turn: Turn, rate: int, form: Form, seconds: float) -> Speech:
    data = b"".join(clip.pcm16() for clip in read_clips(turn, rate))
    messages = (
        message(form(base64.b64encode(piece).decode()), form(audio_stub(piece)))
        for piece in chunks(data, rate, seconds)
    )
    return Speech(audio_stub(data), tuple(messages), seconds=len(data) / 2 / rate, piece_s=seconds)


def chunks(data: bytes, rate: int, seconds: float = 0.2) -> Iterator[bytes]:
    """Yield PCM in pieces of about that many seconds, each a whole number of samples."""
    size = max(1, int(rate * seconds)) * 2
    for start in range(0, len(data), size):
        yield data[start : start + size]


def data_url(mime: str, data: bytes) -> str:
    """Return the bytes as a ``data:`` address."""
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def image_type(path: Path) -> str:
    """Return the media type of an image file, by its ending.

    Raises:
        InputError: the ending is not one of the known ones.
    """
    kind = _IMAGE_TYPES.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"images must end in {', '.join(_IMAGE_TYPES)}", path=path)
    return kind


def image_bytes(path: Path) -> bytes:
    """Return an image file's bytes.

    Raises:
        InputError: there is no such file.
    """
    if not path.is_file():
        raise InputError("no such image file", path=path)
    return path.read_bytes()


def image_url(path: Path) -> str:
    """Return an image as a ``data:`` address; see :func:`image_type` and :func:`image_bytes`."""
    return data_url(image_type(path), image_bytes(path))


def plain_system(conversation: Conversation, default: str) -> str:
    """Return the system prompt for a model that takes no voice in it: without the mark of the role's voice."""
    return (conversation.system_prompt or default).replace(ROLE_MARK, "").strip()
