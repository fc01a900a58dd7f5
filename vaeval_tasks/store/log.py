"""Append-only logs of JSON lines: appended durably, read by one rule.

A line is there when :func:`append_lines` returns: it ends in a line feed and was flushed to disk. So only the last
line can be unfinished, where a process was killed or the power went; it was never acknowledged and is passed over,
and the next append moves it aside. A damaged line anywhere else is an error that names file and line:
``vaeval check RUN --repair`` moves it into ``FILE.damaged`` and says what is lost.

Appenders of several processes take turns by a lock on the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.files import BINARY, atomic_path, naming, read_at, sync_folder
from vaeval_tasks.store.lock import flock
from vaeval_tasks.store.tables import from_row, to_row

__all__ = [
    "DamagedLine",
    "append_jsonl",
    "append_lines",
    "damaged_lines",
    "damaged_path",
    "read_jsonl",
    "repair_log",
    "write_jsonl",
]

R = TypeVar("R")

_ID = re.compile(rb'"(?:response_id|item_id|pair_id|take|sha256)":\s*"((?:[^"\\]|\\.){1,200})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedLine:
    """A line of a log that cannot be read."""

    number: int
    """Counted from 1."""
    why: str
    raw: bytes
    lost: str
    """What it was about, where that can still be read; else empty."""


def _line(record: Any) -> str:
    return json.dumps(to_row(record), ensure_ascii=False, allow_nan=False) + "\n"


def write_jsonl(path: str | Path, rows: Iterable[Any]) -> None:
    """Write records to a JSON lines file, whole and atomically."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_line(record) for record in rows)


def append_jsonl(path: str | Path, *records: Any) -> None:
    """Append records, one a line, and flush them to disk; see :func:`append_lines`."""
    append_lines(path, map(_line, records))


def append_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Append lines, each with its line feed, and flush them to disk: all of them or, after an error, none.

    An unfinished last line, which a killed process left, is moved into ``FILE.damaged`` first.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    path = Path(path)
    # what UTF-8 cannot hold (a lone surrogate) becomes JSON's own escape of it
    pending = memoryview("".join(lines).encode("utf-8", "backslashreplace"))
    path.parent.mkdir(parents=True, exist_ok=True)
    made = not path.exists()
    with naming(path), _locked(path) as handle:
        _close_tail(handle, path)
        before = os.lseek(handle, 0, os.SEEK_END)
        try:
            while pending:  # a nearly full disk takes a part without an error
                pending = pending[os.write(handle, pending) :]
            os.fsync(handle)
        except OSError:
            with suppress(OSError):  # a device that takes nothing cannot be cut either
                os.ftruncate(handle, before)
            raise
    if made:
        sync_folder(path.parent)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open a log for appending, with its lock; again where a repair put another file in its place meanwhile."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | BINARY, 0o644)
        try:
            flock(handle)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    yield handle
                    return
        finally:
            os.close(handle)


def _close_tail(handle: int, path: Path) -> None:
    """Make the file end with a line feed: end a last line that is whole, move aside one that is not."""
    size = os.lseek(handle, 0, os.SEEK_END)
    if size == 0 or read_at(handle, 1, size - 1) == b"\n":
        return
    start, tail = size, b""
    while start > 0 and b"\n" not in tail:
        start = max(0, start - 65_536)
        tail = read_at(handle, size - start, start)
    tail = tail.rpartition(b"\n")[2]
    if isinstance(_object(tail), dict):  # an editor that leaves out the last line feed
        os.write(handle, b"\n")
        return
    _move_aside(path, [tail])
    os.ftruncate(handle, size - len(tail))


def damaged_path(path: Path) -> Path:
    """Return where the damaged lines of a log are kept."""
    return path.with_name(path.name + ".damaged")


def _move_aside(path: Path, lines: Iterable[bytes]) -> None:
    with damaged_path(path).open("ab") as file:
        file.writelines(line.rstrip(b"\n") + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _object(raw: bytes) -> dict[str, Any] | str:
    """Return the JSON object of a line, or why there is none."""
    try:
        row = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return "not UTF-8"
    except (ValueError, RecursionError):
        return "NUL bytes" if b"\0" in raw else "not JSON"
    return row if isinstance(row, dict) else "not a JSON object"


def _read(raw: bytes, record: type[R] | None) -> R | str:
    """Return the record of a line (the object itself without a record class), or why there is none."""
    row: Any = _object(raw)
    if isinstance(row, str) or record is None:
        return row
    try:
        return from_row(record, row)
    except VaevalError as error:
        return str(error)


def _each(path: Path, record: type[R] | None) -> Iterator[tuple[R | None, DamagedLine | None]]:
    if not path.is_file():
        raise InputError("no such file", path=path)
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            found = _read(raw, record)
            if not isinstance(found, str):
                yield found, None
            elif raw.endswith(b"\n") or isinstance(_object(raw), dict):
                ids = b", ".join(_ID.findall(raw)).decode("utf-8", "replace")
                yield None, DamagedLine(number=number, why=found, raw=raw, lost=ids)


def read_jsonl(path: str | Path, record: type[R]) -> Iterator[R]:
    """Yield the records of a log; an unfinished last line is passed over.

    Raises:
        InputError: the file is missing, or a finished line is damaged (no JSON, a wrong field, not UTF-8).
    """
    path = Path(path)
    for found, damage in _each(path, record):
        if damage is not None:
            raise InputError(
                f"line {damage.number} is damaged ({damage.why}); move it aside and see what is lost with: "
                f"vaeval check {path.parent} --repair",
                path=path,
            )
        if found is not None:
            yield found


def damaged_lines(path: Path, record: type | None) -> list[DamagedLine]:
    """Return the damaged lines of a log.

    Args:
        path: the log.
        record: what its lines are; None for plain JSON objects.
    """
    return [damage for _, damage in _each(path, record) if damage is not None]


def repair_log(path: Path, record: type | None) -> list[DamagedLine]:
    """Move the damaged lines of a log into ``FILE.damaged`` and return them; the others stay as they are."""
    with _locked(path):
        bad = damaged_lines(path, record)
        if bad:
            _move_aside(path, [damage.raw for damage in bad])
            numbers = {damage.number for damage in bad}
            with atomic_path(path) as temporary, path.open("rb") as old, temporary.open("wb") as new:
                new.writelines(raw for number, raw in enumerate(old, 1) if number not in numbers)
    return bad
