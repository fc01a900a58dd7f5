"""Makes inputs of every kind that is broken, and of every kind that only looks so, each anew from a seed."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import soundfile
from PIL import Image

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def samples(rng: np.random.Generator, seconds: float, rate: int) -> Any:
    t = np.arange(int(seconds * rate)) / rate
    return (0.3 * np.sin(2 * np.pi * rng.uniform(100, 900) * t) + rng.normal(0, 0.01, len(t))).astype(np.float32)


def sound(
    rng: np.random.Generator, kind: str = "WAV", *, rate: int = 16_000, seconds: float = 1.0, **more: Any
) -> bytes:
    made = io.BytesIO()
    soundfile.write(made, samples(rng, seconds, rate), rate, format=kind, **more)
    return made.getvalue()


def by_ffmpeg(wav: bytes, *arguments: str) -> bytes:
    """What the program ffmpeg makes of a WAV; nothing where the program or its encoder is absent."""
    program = shutil.which("ffmpeg")
    if program is None:
        return b""
    given = [program, "-v", "error", "-f", "wav", "-i", "pipe:0", *arguments, "pipe:1"]
    return subprocess.run(given, input=wav, capture_output=True, check=False).stdout


def good_sounds(seed: int) -> Iterator[tuple[str, bytes]]:
    """Sounds that somebody's tools write, among them those that 0.1.0 refused."""
    rng = np.random.default_rng(seed)
    wav = sound(rng)
    yield "wav", wav
    yield "24 bit", sound(rng, subtype="PCM_24")
    yield "float", sound(rng, subtype="FLOAT")
    yield "mu-law", sound(rng, subtype="ULAW")
    for kind in ("FLAC", "OGG", "MP3", "AIFF", "AU", "CAF", "W64", "RF64"):
        yield kind, sound(rng, kind)
    yield "opus", sound(rng, "OGG", rate=48_000, subtype="OPUS")
    for rate in (8_000, 11_025, 16_000, 24_000, 44_100):
        yield f"mp3 {rate} Hz", sound(rng, "MP3", rate=rate)
    at = wav.index(b"data") + 4
    for size in (0xFFFFFFFF, 0x7FFFFFFF, 0x7FFFF000):
        yield f"streamed {size:x}", wav[:at] + struct.pack("<I", size) + wav[at + 4 :]
    for name, arguments in {
        "mp3 without ID3": ("-f", "mp3", "-id3v2_version", "0", "-write_xing", "0"),
        "aac": ("-f", "adts"),
        "webm": ("-c:a", "libopus", "-f", "webm"),
        "m4a": ("-movflags", "frag_keyframe+empty_moov", "-c:a", "aac", "-f", "mp4"),
        "wma": ("-f", "asf"),
    }.items():
        if made := by_ffmpeg(wav, *arguments):
            yield name, made
    # 25 frames of 20 ms at 12.2 kbit/s; the encoder is rarely there, the decoder always
    yield "amr", b"#!AMR\n" + b"".join(b"\x3c" + rng.bytes(31) for _ in range(25))


def bad_sounds(seed: int) -> Iterator[tuple[str, bytes]]:
    """Sounds that are none, each with the kind of fault."""
    rng = np.random.default_rng(seed)
    yield "RIFF and garbage", b"RIFF" + rng.bytes(int(rng.integers(4, 5000)))
    yield "a WAVE header and garbage", b"RIFF\x24\x00\x00\x00WAVEfmt " + rng.bytes(300)
    yield "garbage", rng.bytes(2000)
    yield "a pointer", POINTER
    yield "a picture", picture(rng)
    yield "an error page", b"<!DOCTYPE html><html><body>404 Not Found</body></html>"
    yield "a play list", b"#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n"
    yield "no samples", sound(rng, seconds=0)
    yield "no samples, FLAC", sound(rng, "FLAC", seconds=0)
    for kind in ("WAV", "FLAC", "OGG", "MP3"):
        whole = sound(rng, kind, seconds=2)
        yield f"{kind} cut", whole[: int(len(whole) * rng.uniform(0.2, 0.7))]
        yield f"{kind} header only", whole[:40]
    wav = sound(rng)
    at = wav.index(b"data") + 4
    yield "a size of a gigabyte", wav[:at] + struct.pack("<I", 1 << 30) + wav[at + 4 :]
    yield "rate 0", wav[:24] + struct.pack("<I", 0) + wav[28:]
    yield "rate 4 GHz", wav[:24] + struct.pack("<I", 0xFFFFFFF0) + wav[28:]
    holes = samples(rng, 1, 16_000)
    holes[5] = np.nan
    made = io.BytesIO()
    soundfile.write(made, holes, 16_000, format="WAV", subtype="FLOAT")
    yield "NaN", made.getvalue()
    if m4a := by_ffmpeg(wav, "-movflags", "frag_keyframe+empty_moov", "-c:a", "aac", "-f", "mp4"):
        yield "m4a header only", m4a[:60]
    yield "a wrong container", b"\x00\x00\x00 ftypisom" + rng.bytes(500)
    yield "wrong WebM", b"\x1aE\xdf\xa3" + rng.bytes(500)


def picture(rng: np.random.Generator, kind: str = "PNG", mode: str = "RGB") -> bytes:
    made = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)).convert(mode).save(made, kind)
    return made.getvalue()


def good_pictures(seed: int) -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(seed)
    for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"):
        yield kind, picture(rng, kind, "P" if kind == "GIF" else "RGB")
    yield "CMYK", picture(rng, "JPEG", "CMYK")
    yield "grey", picture(rng, "PNG", "L")
    yield "1 bit", picture(rng, "PNG", "1")
    yield "alpha", picture(rng, "PNG", "RGBA")


def _png(width: int, height: int, body: bytes) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


def bad_pictures(seed: int) -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(seed)
    for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP"):
        whole = picture(rng, kind, "P" if kind == "GIF" else "RGB")
        yield f"{kind} cut", whole[: int(len(whole) * rng.uniform(0.3, 0.7))]
        yield f"{kind} header only", whole[:16]
    yield "a bomb", _png(60_000, 60_000, bytes(100))
    yield "a small bomb", _png(12_000, 9_000, bytes(9_000 * 1501))
    yield "SVG", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><rect width="9"/></svg>'
    yield "garbage", rng.bytes(3000)
    yield "a pointer", POINTER
    yield "a sound", sound(rng)
    yield "no pixels", b"\x89PNG\r\n\x1a\n" + rng.bytes(30)
