"""Read, write and convert sound. Samples are float32 in [-1, 1]; rates are in Hz.

Files are decoded with libsndfile (WAV, FLAC, Ogg, MP3, AIFF …), and what it does not know (AAC, M4A, WebM, AMR, WMA)
with PyAV or the program ffmpeg, where one of them is there. torchaudio and torchcodec, which need FFmpeg too, are not
used.
"""

from __future__ import annotations

import base64
import io
import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.errors import InputError
from vaeval_tasks.files import atomic_path, sha256_bytes

__all__ = [
    "SILENCE_PEAK",
    "SOUND_FILES",
    "AudioInput",
    "Clip",
    "audible",
    "decode_elsewhere",
    "mp3_uri",
    "read_audio",
    "resample",
    "sound_fault",
    "wav_bytes",
    "write_wav",
]

AudioInput = str | Path | bytes | dict[str, Any]
"""A path, the bytes of a whole file, ``{"array", "sampling_rate"}``, ``{"path"}`` or ``{"bytes"}``."""

SILENCE_PEAK = 10 ** (-60 / 20)
"""A clip whose peak stays below -60 dBFS counts as silent."""

SOUND_FILES = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif")
"""How the names of sound files end, in small or large letters, where a folder of them is read."""

_MOST_WAV_BYTES = 0xFFFFFFFF - 36


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """Mono sound: ``samples`` float32 of shape (n,), and ``rate`` in Hz."""

    samples: NDArray[np.float32]
    rate: int

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return len(self.samples) / self.rate

    @property
    def peak(self) -> float:
        """The largest absolute sample, 0 for an empty clip."""
        return float(np.max(np.abs(self.samples), initial=0.0))

    @property
    def silent(self) -> bool:
        """Whether the clip is empty or never louder than -60 dBFS."""
        return self.peak < SILENCE_PEAK

    @property
    def sha256(self) -> str:
        """The SHA-256 of the 16-bit samples and the rate."""
        return sha256_bytes(self.rate.to_bytes(4, "little") + self.pcm16())

    def at(self, rate: int) -> Clip:
        """Return the clip at another rate; see :func:`resample`."""
        return self if rate == self.rate else Clip(resample(self.samples, self.rate, rate), rate)

    def pcm16(self) -> bytes:
        """Return the samples as 16-bit little-endian PCM, clipped to full scale."""
        return np.round(np.clip(self.samples, -1.0, 32767 / 32768) * 32768).astype("<i2").tobytes()

    @classmethod
    def from_pcm16(cls, data: bytes, rate: int) -> Clip:
        """Read 16-bit little-endian mono PCM; a trailing odd byte is dropped."""
        whole = data[: len(data) // 2 * 2]
        return cls(np.frombuffer(whole, "<i2").astype(np.float32) / np.float32(32768), rate)


def _from_array(array: Any, rate: Any, name: str) -> Clip:
    if not isinstance(rate, int | np.integer) or isinstance(rate, bool) or rate <= 0:
        raise InputError(f"{name}: sampling_rate must be a positive whole number of Hz, got {rate!r}")
    samples = np.asarray(array)
    if samples.dtype.kind == "i":
        samples = samples / float(-np.iinfo(samples.dtype).min)
    elif samples.dtype.kind != "f":
        raise InputError(f"{name}: samples must be numbers, got dtype {samples.dtype}")
    if samples.ndim == 2:
        # channels are the short side: soundfile gives (n, channels), torch gives (channels, n)
        samples = samples.mean(axis=int(np.argmin(samples.shape)))
    if samples.ndim != 1:
        raise InputError(f"{name}: samples must have one or two dimensions, got {samples.ndim}")
    return _finite(Clip(np.ascontiguousarray(samples, dtype=np.float32), int(rate)), name)


def _finite(clip: Clip, name: str) -> Clip:
    if not np.all(np.isfinite(clip.samples)):
        raise InputError(f"{name}: the audio holds NaN or infinite samples")
    return clip


def read_audio(source: AudioInput, *, name: str | None = None) -> Clip:
    """Read sound from a file, bytes or an array, and mix its channels down to one.

    Args:
        source: a path, the bytes of a whole sound file, ``{"array", "sampling_rate"}``, ``{"path"}`` or ``{"bytes"}``.
        name: what to call it in an error; by default the path.

    Returns:
        The clip at its own rate; it may hold no samples.

    Raises:
        InputError: the file is missing, not sound, has no rate, or holds NaN or infinite samples.
    """
    import soundfile

    if isinstance(source, dict):
        if source.get("array") is not None:
            return _from_array(source["array"], source.get("sampling_rate"), name or "audio")
        inner = source.get("bytes") or source.get("path")
        if not isinstance(inner, str | Path | bytes):
            raise InputError(f"{name or 'audio'}: give 'array' with 'sampling_rate', 'path' or 'bytes'")
        return read_audio(inner, name=name)
    if not isinstance(source, str | Path | bytes):
        raise InputError(f"{name or 'audio'}: expected a path, bytes or a dict, got {type(source).__name__}")
    label = name or ("audio" if isinstance(source, bytes) else str(source))
    if not isinstance(source, bytes) and not Path(source).is_file():
        raise InputError("no such audio file", path=label)
    try:
        samples, rate = soundfile.read(
            io.BytesIO(source) if isinstance(source, bytes) else source, dtype="float32", always_2d=True
        )
    except (soundfile.SoundFileError, RuntimeError, TypeError) as error:
        clip = decode_elsewhere(source if isinstance(source, bytes) else Path(source).read_bytes())
        if clip is None:
            raise InputError(f"cannot be read as sound ({sound_fault(error)})", path=label) from None
        return _finite(clip, label)
    mono = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1, dtype=np.float32)
    return _finite(Clip(np.ascontiguousarray(mono), int(rate)), label)


def audible(path: str | Path) -> bool:
    """Whether a sound file is ever louder than -60 dBFS; it is read only as far as it takes to know.

    Raises:
        InputError: the file is not sound.
    """
    import soundfile

    try:
        blocks = soundfile.blocks(path, blocksize=16_384, dtype="float32", always_2d=True)
        return any(np.max(np.abs(block.mean(axis=1))) >= SILENCE_PEAK for block in blocks)
    except (soundfile.SoundFileError, RuntimeError, TypeError) as error:
        clip = decode_elsewhere(Path(path).read_bytes()) if Path(path).is_file() else None
        if clip is None:
            raise InputError(f"cannot be read as sound ({sound_fault(error)})", path=path) from None
        return not clip.silent


def sound_fault(error: Exception) -> str:
    """Return what libsndfile says is wrong, without the address of the buffer that it read."""
    return re.sub(r"^Error opening <.*?>: ", "", str(error)).strip().rstrip(".")


_CONTAINERS: tuple[tuple[int, bytes, str], ...] = (
    (4, b"ftyp", "mov"),
    (0, b"\x1aE\xdf\xa3", "matroska"),
    (0, b"#!AMR", "amr"),
    (0, b"0&\xb2u", "asf"),
    (0, b"wvpk", "wv"),
    (28, b"Speex", "ogg"),
)
"""Where a file of a kind that libsndfile does not know starts with what, and FFmpeg's name of the kind.

FFmpeg is told the kind and never guesses: a play list would make it open other files and addresses. Nor is it given
what libsndfile knows and finds broken, of which it would return what is left without a word."""


def _container(data: bytes) -> str:
    if len(data) > 1 and data[0] == 0xFF and data[1] & 0xF6 == 0xF0:
        return "aac"  # ADTS: twelve bits of a sync word, layer 0
    return next((kind for at, start, kind in _CONTAINERS if data[at : at + len(start)] == start), "")


def decode_elsewhere(data: bytes) -> Clip | None:
    """Return the sound of a file that libsndfile does not know, at its own rate; None where that is not possible.

    Args:
        data: a whole AAC, M4A, WebM, AMR, WMA, WavPack or Speex file.
    """
    kind = _container(data)
    if not kind:
        return None
    try:
        import av
    except ImportError:
        return _with_program(data, kind)
    try:
        with av.open(io.BytesIO(data), mode="r", format=kind) as container:
            stream = container.streams.audio[0]
            rate, announced = int(stream.rate), float(container.duration or 0) / 1e6
            mono = av.AudioResampler(format="flt", layout="mono", rate=rate)
            parts = [part.to_ndarray()[0] for frame in container.decode(stream) for part in mono.resample(frame)]
            parts += [part.to_ndarray()[0] for part in mono.resample(None)]
    except (av.FFmpegError, IndexError, ValueError, TypeError):
        return None
    clip = Clip(np.concatenate(parts).astype(np.float32) if parts else np.zeros(0, np.float32), rate)
    return None if clip.seconds < 0.9 * announced - 0.25 else clip  # cut short


def _with_program(data: bytes, kind: str) -> Clip | None:
    """The same by the program, from a file: an M4A may keep its index at the end."""
    import soundfile

    program = shutil.which("ffmpeg")
    if program is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(data)
        file.flush()
        given = ("-v", "error", "-xerror", "-nostdin", "-protocol_whitelist", "file,pipe", "-f", kind, "-i", file.name)
        done = subprocess.run(
            [program, *given, "-vn", "-ac", "1", "-c:a", "pcm_f32le", "-f", "wav", "pipe:1"],
            capture_output=True,
            check=False,
        )
    if done.returncode:
        return None
    try:
        samples, rate = soundfile.read(io.BytesIO(done.stdout), dtype="float32")
    except (soundfile.SoundFileError, RuntimeError):
        return None
    return Clip(np.ascontiguousarray(samples), int(rate))


def resample(samples: NDArray[np.float32], rate: int, to: int) -> NDArray[np.float32]:
    """Resample with a polyphase low-pass filter (``scipy.signal.resample_poly``).

    Args:
        samples: float32 of shape (n,).
        rate: the rate of ``samples`` in Hz.
        to: the wanted rate in Hz.

    Returns:
        float32 of shape (ceil(n * to / rate),).
    """
    if rate == to or len(samples) == 0:
        return samples
    from scipy.signal import resample_poly

    common = gcd(rate, to)
    up, down = to // common, rate // common
    return np.asarray(resample_poly(samples, up, down, window=_low_pass(max(up, down))), dtype=np.float32)


@lru_cache(maxsize=32)
def _low_pass(longest: int) -> NDArray[np.float32]:
    """Return the filter that ``resample_poly`` designs anew at each call, in a third of the time of a short clip."""
    from scipy.signal import firwin

    return np.asarray(firwin(20 * longest + 1, 1 / longest, window=("kaiser", 5.0)), dtype=np.float32)


def wav_bytes(clip: Clip) -> bytes:
    """Return the clip as a 16-bit mono WAV file."""
    return wav_header(2 * len(clip.samples), clip.rate) + clip.pcm16()


def wav_header(size: int, rate: int) -> bytes:
    """Return the 44 bytes before ``size`` bytes of 16-bit mono PCM, as libsndfile writes them.

    Raises:
        InputError: the sound is longer than a WAV file can hold.
    """
    if size > _MOST_WAV_BYTES:
        raise InputError(f"a WAV file holds 4 GiB; this clip takes {size} bytes")
    form = (16, 1, 1, rate, 2 * rate, 2, 16)  # bytes of the format, PCM, channels, Hz, bytes/s, bytes/frame, bits
    return struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVE", b"fmt ", *form, b"data", size)


def mp3_uri(clip: Clip, rate: int = 24_000) -> str:
    """Return the clip as an MP3 within a data URI: the one format that every browser plays."""
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, clip.at(rate).samples, rate, format="MP3")
    return "data:audio/mpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def write_wav(path: str | Path, clip: Clip) -> None:
    """Write the clip as a 16-bit mono WAV file, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(wav_bytes(clip))
