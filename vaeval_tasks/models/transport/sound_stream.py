"""One stream of an answer's audio: pieces as they come, then what they are together, and when they could be heard."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from vaeval_tasks.audio import SILENCE_PEAK, Clip
from vaeval_tasks.models.transport.containers import begins_a_file, check_rate, read_sound
from vaeval_tasks.models.transport.edge import BadMessageError
from vaeval_tasks.models.transport.encoded import Base64Pieces

__all__ = ["SoundStream", "join", "one_rate"]

_LOOKED_AT = 1 << 16
"""Samples looked at together for the first that is audible."""


class SoundStream:
    """The audio of one place of an answer.

    Args:
        final: whether it is the answer, and not what came before it; may be set later.
    """

    def __init__(self, *, final: bool = True) -> None:
        self.final = final
        self.rate = 0
        """Hz of PCM, where the provider names it with the audio; 0 where it does not."""
        self._text = Base64Pieces()
        self._pieces: list[bytes] = []
        self._arrivals: list[tuple[int, float]] = []  # bytes so far, when
        self._size = 0

    @property
    def begun_at(self) -> float | None:
        """When the first byte came."""
        return self._arrivals[0][1] if self._arrivals else None

    def feed(self, sound: str | bytes, at: float, rate: int = 0) -> bytes:
        """Take a piece.

        Args:
            sound: bytes, or base64 text.
            at: when it came.
            rate: Hz, where it is said.

        Returns:
            Its bytes, none where they can be told only at the end.

        Raises:
            BadMessageError: it is not base64, or the rate is another than before.
        """
        if rate:
            one_rate(self.rate, check_rate(rate))
            self.rate = rate
        data = self._text.feed(sound) if isinstance(sound, str) else sound
        self._size += len(data) if data or not isinstance(sound, str) else len(sound) * 3 // 4
        if self._size > (self._arrivals[-1][0] if self._arrivals else 0):
            self._arrivals.append((self._size, at))
        if data:
            self._pieces.append(data)
        return data

    def clip(self, rate: int) -> Clip | None:
        """Return all of it, None where nothing came. Can be asked once.

        Args:
            rate: Hz of PCM whose rate was not said.

        Raises:
            BadMessageError: it cannot be decoded, or its rate changes.
        """
        if rest := self._text.rest():
            self._pieces.append(rest)
        clips = [clip for data in self._files() for clip in read_sound(data, self.rate or rate)]
        self._pieces.clear()
        return join(clips)

    def _files(self) -> Iterator[bytes]:
        """Yield the pieces, joined but where one begins a file of its own."""
        together: list[bytes] = []
        for piece in self._pieces:
            if together and begins_a_file(piece):
                yield b"".join(together)
                together = []
            together.append(piece)
        if together:
            yield b"".join(together)

    def audible_at(self, clip: Clip) -> float | None:
        """Return when the first audible sample could be heard by who plays the stream as it comes.

        Args:
            clip: what :meth:`clip` returned.
        """
        if self.begun_at is None or (first := _first_audible(clip)) is None:
            return None
        came = first / len(clip.samples) * self._size  # of a compressed file: about there
        arrived = next((at for size, at in self._arrivals if size > came), self._arrivals[-1][1])
        return max(arrived, self.begun_at + first / clip.rate)


def _first_audible(clip: Clip) -> int | None:
    for start in range(0, len(clip.samples), _LOOKED_AT):
        loud = np.abs(clip.samples[start : start + _LOOKED_AT]) >= SILENCE_PEAK
        if loud.any():
            return start + int(np.argmax(loud))
    return None


def one_rate(before: int, after: int) -> None:
    """Refuse a change of rate within an answer.

    Raises:
        BadMessageError: it changes.
    """
    if before and after != before:
        raise BadMessageError(f"the rate of the audio changed from {before} to {after} Hz within the answer")


def join(clips: list[Clip]) -> Clip | None:
    """Return clips as one, None where there is nothing in them.

    Raises:
        BadMessageError: they differ in rate.
    """
    clips = [clip for clip in clips if len(clip.samples)]
    for before, after in pairwise(clips):
        one_rate(before.rate, after.rate)
    if len(clips) < 2:
        return clips[0] if clips else None
    return Clip(np.concatenate([clip.samples for clip in clips]), clips[0].rate)
