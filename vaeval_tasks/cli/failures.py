"""One line for what a machine refuses: a full disk, a closed output, too little memory, a damaged database.

What is not named here is a defect and keeps its traceback.
"""

from __future__ import annotations

import errno
import os
import select
import sys
from collections.abc import Iterator
from contextlib import suppress

__all__ = ["SIGPIPE_CODE", "output_closed", "silence", "told"]

SIGPIPE_CODE = 141
"""What a shell reports of a program that wrote to a pipe nobody reads: 128 + 13."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DATABASE = (("sqlite3", "DatabaseError"), ("sqlalchemy.exc", "DBAPIError"))
_ADDRESS = (("httpx", "InvalidURL"), ("httpx", "UnsupportedProtocol"))


def told(error: Exception) -> str | None:
    """Return the line that tells of an error which is no defect, or None."""
    if isinstance(error, OSError):
        return _system(error)
    if isinstance(error, MemoryError | OverflowError):
        detail = " ".join(str(error).split())
        return f"there is not enough memory for this{f' ({detail})' if detail else ''}; ask for smaller numbers"
    if _one_of(error, _DATABASE):
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        return f"the database cannot be used ({reason}); make room, or put the newest copy of the folder backups back"
    if _one_of(error, _ADDRESS):
        return f"is not an address ({' '.join(str(error).split())}); expected http://HOST:PORT or https://HOST"
    return None


def _one_of(error: Exception, names: tuple[tuple[str, str], ...]) -> bool:
    """Whether an error is of a library that was loaded; those that were not are not loaded for it."""
    kinds = (getattr(sys.modules[module], name) for module, name in names if module in sys.modules)
    return isinstance(error, tuple(kinds))


def _system(error: OSError) -> str:
    reason = error.strerror or " ".join(str(error).split()) or type(error).__name__
    number = error.errno
    if error.filename is not None:
        place = str(error.filename)
    elif number in _FULL and _stuck():
        place = "standard output"
    else:
        place = "the system"
    way = "; make room and run the same command again: what was finished is kept" if number in _FULL else ""
    return f"{place}: {reason}{way}"


def _stuck() -> bool:
    """Whether standard output takes nothing: an error of writing does not say what was written to."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        return True
    return False


def output_closed() -> bool:
    """Whether nobody reads standard output or standard error any more."""
    return any(_closed(stream) for stream in _descriptors())


def _descriptors() -> Iterator[int]:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            yield stream.fileno()


def _closed(handle: int) -> bool:
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(handle, select.POLLOUT)
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll(0))


def silence() -> None:
    """Let what standard output still holds go nowhere, so that Python does not complain of it when it ends."""
    with suppress(AttributeError, OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
