"""The media cache: every clip and picture of a data set decoded and written once, under the hash of its bytes."""

from __future__ import annotations

from typing import Any

from vaeval_tasks import paths
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_bytes, write_bytes
from vaeval_tasks.hosts.lm_eval.media_check import ENDINGS, checked_picture, checked_sound

__all__ = ["cell_bytes", "keep"]


def cell_bytes(value: Any) -> bytes:
    """Return the bytes of a media cell, empty for an unused one.

    The data set stores raw bytes; the ``datasets`` library's own features give ``{"bytes", "path"}``.

    Raises:
        InputError: the cell is something else, or names a file instead of holding it.
    """
    if isinstance(value, dict):
        if value.get("bytes") is None and value.get("path"):
            raise InputError(f"names the file {value['path']!r} but does not hold its bytes; embed them")
        value = value.get("bytes")
    if value is None:
        return b""
    if not isinstance(value, bytes):
        raise InputError(f"expected the bytes of a file, got {type(value).__name__}")
    return value


def keep(data: bytes, *, image: bool) -> str:
    """Decode a file and write it into the cache, unless it is there, and return its absolute path.

    Args:
        data: a whole sound or image file.
        image: which of the two it must be.

    Raises:
        InputError: the bytes are not such a file, or a broken one.
    """
    stem = paths.cache_dir() / "media" / "checked" / sha256_bytes(data)
    for ending in ENDINGS[image]:  # what is there was decoded when it was written
        if (path := stem.with_suffix(f".{ending}")).is_file():
            return str(path.resolve())
    kept, ending = (checked_picture if image else checked_sound)(data)
    path = stem.with_suffix(f".{ending}")
    write_bytes(path, kept)
    return str(path.resolve())
