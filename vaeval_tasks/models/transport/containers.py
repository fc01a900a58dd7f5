"""What bytes that a server calls audio are: a sound file, raw PCM, or nothing that can be heard.

Files are read with libsndfile. A file that it does not know (AAC, MP4, WebM …), a text or a picture is named and
refused, and so are bytes that no sound has as PCM: what is not known must never become noise that people rate.
"""

from __future__ import annotations

import numpy as np

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.models.transport.edge import BadMessageError

__all__ = ["begins_a_file", "check_rate", "read_pcm", "read_sound", "sound_file"]

_LOWEST, _HIGHEST = 4_000, 192_000
_READABLE = {
    b"fLaC": "FLAC",
    b"OggS": "Ogg",
    b"ID3": "MP3",
    b".snd": "AU",
    b"caff": "CAF",
    b"RF64": "WAV",
    b"RIFX": "WAV",
    b"riff": "W64",
}
_UNREADABLE = {
    b"\x1a\x45\xdf\xa3": "WebM or Matroska",
    b"ADIF": "AAC",
    b"#!AMR": "AMR",
    b"#!SILK": "SILK",
    b"\x02#!SILK": "SILK",
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "Windows Media",
    b"wvpk": "WavPack",
    b"MAC ": "Monkey's Audio",
    b"TTA1": "True Audio",
    b"FLV\x01": "Flash video",
    b"MThd": "MIDI",
    b"\x00\x00\x01\xba": "MPEG",
    b"\x89PNG\r\n\x1a\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF-": "PDF",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b\x08": "gzip",
}
_MPEG_BITRATES = {
    True: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    False: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_MPEG_RATES = (44_100, 48_000, 32_000)
_NOISE_RMS, _NOISE_CORRELATION = 0.45, 0.2
"""Compressed bytes as 16-bit samples are white noise near full scale (0.58 of it); sound is not both."""
_JUDGED_FROM = 2_000
"""Samples from which this can be told."""


def _mp3_frame(data: bytes, at: int) -> int:
    """Return the size of the MPEG layer III frame at a place, 0 where there is none."""
    if len(data) < at + 4 or data[at] != 0xFF or data[at + 1] & 0xE0 != 0xE0:
        return 0
    version, layer = (data[at + 1] >> 3) & 3, (data[at + 1] >> 1) & 3
    bitrate, rate = data[at + 2] >> 4, (data[at + 2] >> 2) & 3
    if version == 1 or layer != 1 or bitrate in (0, 15) or rate == 3:
        return 0
    first = version == 3
    hertz = _MPEG_RATES[rate] // (1 if first else 2 if version == 2 else 4)
    return (144 if first else 72) * 1000 * _MPEG_BITRATES[first][bitrate] // hertz + ((data[at + 2] >> 1) & 1)


def _adts_frame(data: bytes, at: int) -> int:
    """Return the size of the AAC frame at a place, 0 where there is none."""
    if len(data) < at + 7 or data[at] != 0xFF or data[at + 1] & 0xF6 != 0xF0:
        return 0
    return (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5


def sound_file(data: bytes) -> str:
    """Return the kind of file that bytes are by their beginning, "" where they may be PCM.

    Raises:
        BadMessageError: they are a file that cannot be heard; it is named.
    """
    for magic, kind in _READABLE.items():
        if data.startswith(magic):
            return kind
    for magic, kind in _UNREADABLE.items():
        if data.startswith(magic):
            raise BadMessageError(f"the audio is {kind}, which cannot be decoded here; ask for WAV, FLAC, MP3 or PCM")
    if data[:4] == b"RIFF" or data[:4] == b"FORM":
        if data[8:12] in (b"WAVE", b"AIFF", b"AIFC"):
            return "WAV" if data[:4] == b"RIFF" else "AIFF"
        raise BadMessageError(f"the audio is a {data[:4].decode()} file of no sound ({data[8:12]!r})")
    if data[4:8] == b"ftyp":
        raise BadMessageError("the audio is MP4, which cannot be decoded here; ask for WAV, FLAC, MP3 or PCM")
    if (size := _mp3_frame(data, 0)) and _mp3_frame(data, size):
        return "MP3"
    if (size := _adts_frame(data, 0)) >= 7 and (_adts_frame(data, size) or size == len(data)):
        raise BadMessageError("the audio is AAC, which cannot be decoded here; ask for WAV, FLAC, MP3 or PCM")
    if data[:1] == b"G" and len(data) > 376 and data[188] == data[376] == 0x47:
        raise BadMessageError("the audio is an MPEG stream, which cannot be decoded here; ask for WAV or PCM")
    if _is_text(data):
        raise BadMessageError(f"the audio is a text: {data[:80]!r}")
    return ""


def _is_text(data: bytes) -> bool:
    head = data[:256]
    if not all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head):
        return False
    marked = head.lstrip()[:1] in (b"{", b"[", b"<")
    return len(set(head)) >= (4 if marked else 8) and (marked or len(head) >= 32)  # a steady sample is few bytes


def begins_a_file(data: bytes) -> bool:
    """Whether a piece of a stream is the beginning of a sound file of its own."""
    if data[:4] == b"RIFF":
        return data[8:12] == b"WAVE"
    return data[:4] == b"fLaC" or (data[:4] == b"OggS" and len(data) > 5 and bool(data[5] & 2))


def check_rate(rate: int) -> int:
    """Return a rate in Hz.

    Raises:
        BadMessageError: no sound has it.
    """
    if not _LOWEST <= rate <= _HIGHEST:
        raise BadMessageError(f"the audio has a rate of {rate} Hz, which no sound has")
    return rate


def read_pcm(data: bytes, rate: int) -> Clip:
    """Return raw 16-bit little-endian mono PCM; a last odd byte is dropped.

    Raises:
        BadMessageError: no sound looks like this.
    """
    clip = Clip.from_pcm16(data, check_rate(rate))
    some = clip.samples[:200_000]
    if len(some) >= _JUDGED_FROM:
        rms = float(np.sqrt(np.mean(some**2)))
        if rms > _NOISE_RMS and abs(float(np.mean(some[1:] * some[:-1]))) < _NOISE_CORRELATION * rms**2:
            begins = data[:4].hex(" ")
            raise BadMessageError(
                f"the audio is no 16-bit PCM, and no file that is known (it begins {begins}): it would be noise"
            )
    return clip


def read_sound(data: bytes, rate: int) -> list[Clip]:
    """Return what bytes are: sound files one after another, or PCM.

    Args:
        data: the bytes.
        rate: Hz of PCM.

    Raises:
        BadMessageError: they are nothing that can be heard.
    """
    kind = sound_file(data)
    if not kind:
        return [read_pcm(data, rate)]
    if data[:4] == b"RIFF":
        return _wavs(data)
    return [_file(data, kind)]


def _wavs(data: bytes) -> list[Clip]:
    found = []
    while begins_a_file(data):
        at = _data_chunk(data)
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        there = len(data) - at - 8
        size = there if size == 0 or size > there else size  # of a streamed file it is unknown, 0 or 0xFFFFFFFF
        found.append(_wav(data[: at + 8], data[at + 8 : at + 8 + size]))
        data = data[at + 8 + size + size % 2 :]
    return found


def _data_chunk(data: bytes) -> int:
    """Return where the samples' chunk begins."""
    at = 12
    while at + 8 <= len(data):
        if data[at : at + 4] == b"data":
            return at
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8 + size + size % 2
    raise BadMessageError("the audio is a WAV file that ends before its samples")


def _wav(header: bytes, samples: bytes) -> Clip:
    if header[12:16] == b"fmt " and header[20:24] == b"\x01\x00\x01\x00" and header[34:36] == b"\x10\x00":
        # 16-bit mono, as nearly every engine writes it: in a tenth of libsndfile's time
        return Clip.from_pcm16(samples, check_rate(int.from_bytes(header[24:28], "little")))
    size = len(samples).to_bytes(4, "little")
    whole = (len(header) + len(samples) - 8).to_bytes(4, "little")
    return _file(b"RIFF" + whole + header[8:-4] + size + samples, "WAV")


def _file(data: bytes, kind: str) -> Clip:
    try:
        clip = read_audio(data, name=f"the answer's audio ({kind})")
    except (InputError, ValueError, OverflowError, MemoryError) as error:
        raise BadMessageError(str(error)) from None
    check_rate(clip.rate)
    return clip
