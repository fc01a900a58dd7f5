"""Write files whole or not at all, name them by their content, and tell what kind of disk they lie on."""

from __future__ import annotations

import hashlib
import itertools
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = [
    "BINARY",
    "atomic_path",
    "naming",
    "network_file_system",
    "read_at",
    "sha256_bytes",
    "sha256_file",
    "sync_folder",
    "write_bytes",
    "write_text",
]

# fuse.sshfs, fuse.s3fs … but not fuseblk, which is a local disk
_NETWORK = ("nfs", "cifs", "smb", "9p", "fuse.", "afs", "ceph", "gluster", "lustre", "davfs")

_TOKEN = secrets.token_hex(6)
_NUMBERS = itertools.count()
"""With the process, names that no other file has, without asking the system for randomness each time."""


BINARY = getattr(os, "O_BINARY", 0)
"""A flag of ``os.open``: on Windows a file is text without it, and a line feed two bytes."""


def read_at(handle: int, size: int, start: int) -> bytes:
    """Read up to ``size`` bytes of an open file from ``start``; ``os.pread`` is not everywhere."""
    os.lseek(handle, start, os.SEEK_SET)
    return os.read(handle, size)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Give an ``OSError`` of the block the file it is about: ``write`` and ``fsync`` do not say it."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def sync_folder(folder: str | Path) -> None:
    """Flush a folder, so that a file renamed or made in it is still there after a power cut.

    Windows opens no folder for this; there the file system's own journal must do.
    """
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that replaces it when the block ends without an error.

    The content is flushed to disk before the rename and the folder after it, so a crash leaves the old file or the
    new one, and what was written when this returns stays.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-", suffix=path.suffix)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            with temporary.open("r+b") as written:  # Windows flushes only what may be written
                os.fsync(written.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
            sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write ``data`` to ``path`` atomically; parent folders are made."""
    # what atomic_path does, in a third of the time: responses are written by the hundred a second
    path = Path(path)
    temporary = path.with_name(f".{path.stem[:40]}-{_TOKEN}-{os.getpid()}-{next(_NUMBERS)}{path.suffix}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
    try:
        handle = os.open(temporary, flags, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(temporary, flags, 0o644)
    try:
        with naming(path):
            try:
                pending = memoryview(data)
                while pending:
                    pending = pending[os.write(handle, pending) :]
                os.fsync(handle)
            finally:
                os.close(handle)
            temporary.replace(path)
            sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 ``text`` to ``path`` atomically, with its line endings as they are."""
    write_bytes(path, text.encode("utf-8"))


def sha256_bytes(data: bytes) -> str:
    """Return the SHA-256 of ``data`` in hex."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: str | Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def network_file_system(path: Path, mounts: str | None = None) -> str:
    """Return the type of the network file system ``path`` lies on, or an empty string.

    Args:
        path: an absolute path; it need not exist.
        mounts: the text of ``/proc/mounts``; by default the system's (empty where there is none).
    """
    if mounts is None:
        table = Path("/proc/mounts")
        mounts = table.read_text(encoding="utf-8", errors="replace") if table.is_file() else ""
    best, kind = Path(), ""
    for line in mounts.splitlines():
        _, point, fstype = line.split(" ")[:3]
        mount = Path(point.replace("\\040", " "))
        # a later mount on the same point hides the earlier one
        if path.is_relative_to(mount) and len(mount.parts) >= len(best.parts):
            best, kind = mount, fstype
    return kind if kind.startswith(_NETWORK) else ""
