"""The media cache: every clip and image of a data set written once, under the hash of its bytes."""

from __future__ import annotations

from typing import Any

from vaeval_tasks import paths
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_bytes, write_bytes

__all__ = ["cell_bytes", "keep"]

# what a file starts with: the ending it gets
_STARTS: dict[bytes, str] = {
    b"RIFF": "wav",
    b"fLaC": "flac",
    b"OggS": "ogg",
    b"ID3": "mp3",
    b"\xff\xfb": "mp3",
    b"\x89PNG": "png",
    b"\xff\xd8\xff": "jpg",
    b"GIF8": "gif",
    b"BM": "bmp",
}
_IMAGES = ("png", "jpg", "gif", "bmp", "webp")


def cell_bytes(value: Any) -> bytes:
    """Return the bytes of a media cell, empty for an unused one.

    The data set stores raw bytes; the ``datasets`` library's own features give ``{"bytes", "path"}``.

    Raises:
        InputError: the cell is something else.
    """
    if isinstance(value, dict):
        value = value.get("bytes")
    if value is None:
        return b""
    if not isinstance(value, bytes):
        raise InputError(f"expected the bytes of a file, got {type(value).__name__}")
    return value


def _ending(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((ending for start, ending in _STARTS.items() if data.startswith(start)), "")


def keep(data: bytes, *, image: bool) -> str:
    """Write a file into the cache, unless it is there, and return its absolute path.

    Args:
        data: a whole sound or image file.
        image: which of the two it must be.

    Raises:
        InputError: the bytes are not such a file.
    """
    ending = _ending(data)
    if not ending or (ending in _IMAGES) != image:
        raise InputError(f"the bytes are not {'an image' if image else 'a sound'} file")
    path = paths.cache_dir() / "media" / f"{sha256_bytes(data)}.{ending}"
    if not path.is_file():
        write_bytes(path, data)
    return str(path.resolve())
