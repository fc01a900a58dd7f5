"""Recordings and pictures for tests, made here: no file is needed."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.files import write_bytes

__all__ = ["sample_image", "sample_recording", "write_recording"]


def sample_recording(seconds: float = 2.0, *, rate: int = 16_000, seed: int = 0) -> Clip:
    """Return sound like speech to a machine: a voice's harmonics in syllables, with a little noise.

    Nobody can understand it; recognisers may hear words or none.

    Args:
        seconds: the duration.
        rate: Hz.
        seed: another seed is another voice and another rhythm.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    pitch = rng.uniform(90, 220) * (1 + 0.05 * np.sin(2 * np.pi * rng.uniform(0.4, 0.9) * t))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    voice = sum(np.sin(n * phase + rng.uniform(0, 6)) / n for n in range(1, 13))
    syllables = 0.15 + 0.85 * np.sin(np.pi * rng.uniform(3.5, 4.5) * t + rng.uniform(0, 3)) ** 2
    sound = 0.15 * np.asarray(voice) * syllables + rng.normal(0, 0.005, len(t))
    return Clip(np.clip(sound, -1, 1).astype(np.float32), rate)


def write_recording(path: Path, clip: Clip) -> Path:
    """Write a clip as a 16-bit mono WAV file and return its path."""
    write_wav(path, clip)
    return path


def sample_image(path: Path, *, size: int = 32) -> Path:
    """Write a PNG of coloured squares and return its path."""
    y, x = np.mgrid[0:size, 0:size]
    pixels = np.stack([(x * 8) % 256, (y * 8) % 256, ((x // 8 + y // 8) % 2) * 255], axis=-1).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)  # 8 bits a colour, red green blue, no interlacing
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    write_bytes(path, b"\x89PNG\r\n\x1a\n" + body)
    return path
