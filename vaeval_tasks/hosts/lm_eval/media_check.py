"""Whether the bytes of a cell are a whole sound or picture, found out by decoding them; and in what form they are kept.

What every reader after us knows is kept as it is: WAV, FLAC, Ogg, MP3; PNG, JPEG, GIF, BMP, WebP. Other sounds are
kept as WAV, other pictures as PNG.
"""

from __future__ import annotations

import io
import struct

import numpy as np

from vaeval_tasks.audio import decode_elsewhere, read_audio, sound_fault, wav_bytes
from vaeval_tasks.errors import InputError

__all__ = ["ENDINGS", "LFS_POINTER", "checked_picture", "checked_sound"]

LFS_POINTER = b"version https://git-lfs"
"""What stands in the place of a large file that was not fetched."""
MOST_SECONDS = 7200
"""A longer clip is no question; its samples would fill the memory."""
MOST_PIXELS = 64_000_000
"""More, and a picture of some kilobytes fills the memory when it is opened."""
RATES_HZ = (1_000, 768_000)

_SOUNDS = {"WAV": "wav", "WAVEX": "wav", "FLAC": "flac", "OGG": "ogg", "MP3": "mp3"}
_PICTURES = {"PNG": "png", "JPEG": "jpg", "GIF": "gif", "BMP": "bmp", "WEBP": "webp"}
ENDINGS = {False: tuple(dict.fromkeys(_SOUNDS.values())), True: tuple(_PICTURES.values())}
"""The endings of kept sounds (False) and pictures (True)."""

_BLOCK = 1 << 16
_STREAMED_BYTES = 0x7FFF0000
"""A WAV that announces so much was written while its length was not known."""
_SLACK_S = 0.1
"""What a file may lack of the sound it announces: encoders round."""


def checked_sound(data: bytes) -> tuple[bytes, str]:
    """Decode a sound file to its end and return what is kept of it, and its ending.

    Raises:
        InputError: it is not a sound, is cut short, empty or too long, or holds no numbers; the message says which.
    """
    import soundfile

    _refuse_pointer(data)
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            kind, rate, announced, frames = file.format, file.samplerate, file.frames, 0
            # not file.blocks, which fills up what a file lacks
            while len(block := file.read(_BLOCK, dtype="float32", always_2d=True)):
                frames += len(block)
                if not np.all(np.isfinite(block)):
                    raise InputError("the sound holds NaN or infinite samples")
                if frames > MOST_SECONDS * rate:
                    raise InputError(f"the sound is longer than {MOST_SECONDS / 3600:.0f} hours")
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError, OverflowError, MemoryError) as error:
        clip = decode_elsewhere(data)
        if clip is None:
            raise InputError(f"the bytes are not a sound file, or a broken one ({sound_fault(error)})") from None
        _refuse_length(len(clip.samples), clip.rate, 0)
        return wav_bytes(read_audio({"array": clip.samples, "sampling_rate": clip.rate})), "wav"
    _refuse_length(frames, rate, max(announced, _announced_frames(data)))
    return (data, _SOUNDS[kind]) if kind in _SOUNDS else (wav_bytes(read_audio(data)), "wav")


def _refuse_pointer(data: bytes) -> None:
    if data.startswith(LFS_POINTER):
        raise InputError("a git-lfs pointer stands in the place of the file; fetch it with: git lfs pull")


def _refuse_length(frames: int, rate: int, announced: int) -> None:
    if not RATES_HZ[0] <= rate <= RATES_HZ[1]:
        raise InputError(f"the sound says it has {rate} samples a second")
    if frames == 0:
        raise InputError("the sound is empty: no samples")
    if announced - frames > _SLACK_S * rate:
        raise InputError(f"the sound is cut short: {frames / rate:.2f} s of the {announced / rate:.2f} s it announces")


def _announced_frames(data: bytes) -> int:
    """How much sound a WAV's header announces; libsndfile takes what there is. 0 where it does not say."""
    if data[:4] != b"RIFF":
        return 0
    at, frame_bytes = 12, 0
    while at + 8 <= len(data):
        name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if name == b"fmt " and at + 22 <= len(data):
            frame_bytes = struct.unpack_from("<H", data, at + 20)[0]
            if struct.unpack_from("<H", data, at + 8)[0] not in (1, 3, 6, 7, 0xFFFE):
                return 0  # compressed: a block holds more frames than one
        if name == b"data":
            return 0 if size >= _STREAMED_BYTES or not frame_bytes else size // frame_bytes
        at += 8 + size + size % 2
    return 0


def checked_picture(data: bytes) -> tuple[bytes, str]:
    """Decode a picture and return what is kept of it, and its ending.

    Raises:
        InputError: it is not a picture of pixels, is cut short, or far too large; the message says which.
    """
    from PIL import Image

    _refuse_pointer(data)
    if b"<svg" in data[:1024].lower():
        raise InputError("an SVG drawing; a picture must be of pixels (PNG, JPEG, GIF, BMP, WebP)")
    try:
        with Image.open(io.BytesIO(data)) as picture:
            width, height = picture.size
            if width * height > MOST_PIXELS:
                raise InputError(
                    f"the picture has {width} x {height} pixels, more than {MOST_PIXELS / 1e6:.0f} million"
                )
            picture.load()
            if picture.format in _PICTURES:
                return data, _PICTURES[picture.format]
            made = io.BytesIO()
            picture.convert("RGB").save(made, "PNG")
            return made.getvalue(), "png"
    except InputError:
        raise
    except Image.DecompressionBombError:
        raise InputError(f"the picture has more than {MOST_PIXELS / 1e6:.0f} million pixels") from None
    except Image.UnidentifiedImageError:
        raise InputError("the bytes are not an image file") from None
    except Exception as error:  # each of its formats raises errors of its own on broken bytes
        raise InputError(f"the picture is broken ({str(error) or type(error).__name__})") from None
