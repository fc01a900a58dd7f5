"""Read a recording as it came: rate, channels, whether the file is whole, and its sound mixed down to mono."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip, read_audio

__all__ = ["Print", "Recording", "fingerprint", "likeness", "read_recording"]

Print = NDArray[np.float32]

_BANDS = 12
_SHIFTS = 10
"""Frames of 20 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording in memory."""

    clip: Clip
    channels: int
    cancels: bool
    """Whether mixing the channels down loses more than 12 dB: one of them is inverted."""
    missing_s: float
    """Seconds that the file's header promises and the file does not hold."""


def read_recording(path: str | Path) -> Recording:
    """Read a sound file.

    Raises:
        InputError: the file is missing, not sound, or holds NaN or infinite samples.
    """
    import soundfile

    clip = read_audio(path)
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    promised = soundfile.info(path).frames
    loudest = float(np.max(np.sqrt(np.mean(np.square(samples), axis=0)))) if len(samples) else 0.0
    mixed = float(np.sqrt(np.mean(np.square(clip.samples)))) if len(samples) else 0.0
    missing = max(0, promised - len(samples)) / rate + _missing_bytes(Path(path)) / (2 * rate * samples.shape[1])
    return Recording(clip=clip, channels=samples.shape[1], cancels=mixed < loudest / 4, missing_s=missing)


def _missing_bytes(path: Path) -> int:
    """Return how many bytes of a WAV's sound are missing; libsndfile passes over that in silence."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(4) != b"RIFF" or file.read(8)[4:] != b"WAVE":
            return 0
        while len(head := file.read(8)) == 8:
            name, length = struct.unpack("<4sI", head)
            if name == b"data":
                # 0xFFFFFFFF is what programs write that stream to a pipe
                return 0 if length == 0xFFFFFFFF else max(0, file.tell() + length - size)
            file.seek(length + length % 2, 1)
    return 0


def fingerprint(clip: Clip, first_s: float, last_s: float) -> Print:
    """Return the active part as levels in 12 bands (log-spaced, 100 Hz to 3.8 kHz), every 20 ms.

    Levels are in dB, at most 50 dB below the loudest, and each band is centred: its mean says only which
    filter the sound went through.

    Args:
        clip: the recording.
        first_s: start of the active part in seconds.
        last_s: its end in seconds.

    Returns:
        float32 of shape (frames, 12).
    """
    rate, hop = 8000, 160
    x = Clip(clip.samples[int(first_s * clip.rate) : int(last_s * clip.rate)], clip.rate).at(rate).samples
    if len(x) < 10 * hop:
        return np.zeros((0, _BANDS), np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(x, 2 * hop)[::hop] * np.hanning(2 * hop)
    spectrum = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    band = np.digitize(np.fft.rfftfreq(2 * hop, 1 / rate), np.geomspace(100, 3800, _BANDS + 1)) - 1
    power = np.stack([spectrum[:, band == b].sum(axis=1) for b in range(_BANDS)], axis=1)
    levels = 10 * np.log10(np.maximum(power / max(float(power.max()), 1e-12), 1e-5))
    return np.asarray(levels - levels.mean(axis=0), np.float32)


def likeness(one: Print, other: Print) -> float:
    """Return the best correlation of two fingerprints over shifts of up to 0.2 s either way, 0 where one is empty.

    The same recording stays above 0.95 under gain, trimming, resampling and lossy coding; other words, another
    voice or the same words said again stay below 0.9.
    """
    best = 0.0
    for shift in range(-_SHIFTS, _SHIFTS + 1):
        a, b = (one[shift:], other) if shift >= 0 else (one, other[-shift:])
        n = min(len(a), len(b))
        a, b = a[:n].ravel(), b[:n].ravel()
        norm = float(np.sqrt(np.dot(a, a) * np.dot(b, b)))
        if norm > 0:
            best = max(best, float(np.dot(a, b)) / norm)
    return best
