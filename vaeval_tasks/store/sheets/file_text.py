"""The bytes and the text of a file that somebody gives us: compressed or not, in any encoding, or standard input."""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets.encodings import FOUND, likely_encoding

__all__ = ["STANDARD_INPUT", "decoded", "file_bytes", "unpacked"]

STANDARD_INPUT = Path("-")
GZIP = b"\x1f\x8b"


def file_bytes(path: Path) -> bytes:
    """Return what a file, or standard input, holds.

    Raises:
        InputError: there is no such file, or it is a folder.
    """
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    if path.is_dir():
        raise InputError("is a folder, not a file", path=path)
    if not path.is_file() and not path.is_fifo():
        raise InputError("no such file", path=path)
    return path.read_bytes()


def unpacked(raw: bytes, path: Path) -> bytes:
    """Return what a gzip file holds.

    Raises:
        InputError: it is no gzip file, or is damaged or cut short.
    """
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read as gzip ({error})", path=path) from None


def decoded(raw: bytes, path: Path, encoding: str | None, *, headers: int) -> tuple[str, tuple[str, ...]]:
    """Return the text of a file, without a byte order mark, and what is to be said of its encoding.

    Args:
        raw: its bytes.
        path: the file, for messages.
        encoding: as named by the user; ``auto``: found, and said where it is a guess; None is UTF-8 where no option
            could name another.
        headers: lines above the first row, for messages.

    Raises:
        InputError: the bytes are no text of that encoding, there is no such encoding, or there is a NUL byte.
    """

    def row(line_breaks: int) -> int | None:
        return max(line_breaks + 1 - headers, 0) or None

    other = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
    hint = "save the file as UTF-8" + (f", or name its encoding: --encoding {other}" if encoding else "")
    name = likely_encoding(raw) if encoding == FOUND else encoding or "utf-8"
    try:
        text = raw.decode(name).removeprefix("\ufeff")
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        said = f"byte 0x{raw[start]:02x} is not {name}; {hint}"
        raise InputError(said, path=path, row=row(raw.count(b"\n", 0, start))) from None
    except LookupError:
        raise InputError(f"there is no encoding {name!r}", path=path) from None
    if (at := text.find("\0")) >= 0:
        said = f"holds a NUL byte: the file is damaged, no text, or UTF-16; {hint}"
        raise InputError(said, path=path, row=row(text.count("\n", 0, at)))
    guessed = encoding == FOUND and not name.startswith("utf-")
    return text, (f"read as {name}, as it is not UTF-8; --encoding names another",) if guessed else ()
