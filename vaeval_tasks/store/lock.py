"""Locks of a run folder: one writer of a kind at a time, and short turns at files that several writers share.

A writer holds ``RUN/.locks/KIND.json`` by an advisory lock of the operating system (``flock``), which the kernel gives
back when the process ends, however it ends: a killed run leaves nothing that blocks. The file itself says who holds
it, for people and for the message that a second writer gets.

All processes of one job share a lock: those that torchrun or ``accelerate launch`` started (they have the same
coordinator, ``MASTER_ADDR`` and ``MASTER_PORT``, at which only one job can listen), and those that a holder started
and told its job.

On a network file system ``flock`` holds between hosts where the server passes locks on (NFS 4, NFS 3 with its lock
service, CephFS, Lustre mounted with ``flock``); where it does not, or where the lock is only local to a host
(``nolock``, ``local_lock``), what the file says decides: a live process of this host is refused, a dead one taken
over, and one of another host is refused until the file is deleted, because nobody can tell from here.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from vaeval_tasks.errors import RunBusyError
from vaeval_tasks.files import BINARY, naming, network_file_system, read_at

try:
    import fcntl
except ImportError:  # Windows: what the file says decides
    fcntl = None  # type: ignore[assignment]

__all__ = ["FOLDER", "Holder", "Writer", "flock", "this_job", "turn", "writing"]

FOLDER = ".locks"
"""Where the lock files lie in a run folder."""

log = logging.getLogger(__name__)


class Writer(StrEnum):
    """The kinds of writers of a run. Each has a lock of its own."""

    generate = "generate"
    """Responses and documents: ``generate``, ``lm-eval``."""
    score = "score"
    """Scores and results: ``score``, ``lm-eval``, ``predictors``."""
    prompts = "prompts"
    pair = "pair"
    judge = "judge"
    export = "export"
    """The tables of people's ratings: ``export``, simulated raters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a lock, as the lock file says."""

    kind: str
    job: str
    """The same for all processes that share the lock."""
    host: str
    pid: int
    started: str
    """When the process started, by the kernel: another process may get the same number later."""
    since: str
    """UTC, ISO 8601."""


def flock(handle: int, *, exclusive: bool = True, wait: bool = True) -> bool | None:
    """Lock an open file for this process.

    Returns:
        True: locked; False: another holds it (only without ``wait``); None: there are no locks here.
    """
    if fcntl is None:
        return None
    how = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB)
    try:
        fcntl.flock(handle, how)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
            return None
        raise
    return True


@contextmanager
def turn(root: Path, name: str) -> Iterator[None]:
    """Wait for a turn at what several writers change, such as ``run.json``, and hold it for the block."""
    path = root / FOLDER / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | BINARY, 0o644)
    try:
        flock(handle)
        yield
    finally:
        os.close(handle)


@dataclass(slots=True)
class _Held:
    """A lock of this process."""

    handle: int
    path: Path
    job: str
    depth: int = 1


_HELD: dict[tuple[str, int], _Held] = {}
"""By lock file and thread: a verb may run within a verb, two threads may not write at once."""


def _forget() -> None:
    """In a forked child: the lock stays its parent's, and ends with it."""
    for held in _HELD.values():
        os.close(held.handle)
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def writing(root: Path, kind: Writer, *, job: str | None = None) -> Iterator[str]:
    """Hold a run's lock of one kind for the block.

    Within the block the same thread may take it again, as when one verb calls another.

    Args:
        root: the run folder; it is made where it is not there.
        kind: the kind of writer.
        job: the job of a holder that this process shares the lock with; by default :func:`this_job`.

    Yields:
        The job that holds the lock, for processes that are to share it.

    Raises:
        RunBusyError: another process writes; the message names it.
    """
    path = root / FOLDER / f"{kind}.json"
    key = (os.path.realpath(path), threading.get_ident())
    if (held := _HELD.get(key)) is not None:
        held.depth += 1
        try:
            yield held.job
        finally:
            held.depth -= 1
        return
    if any(name == key[0] for name, _ in _HELD):  # the kernel takes the threads of a job for its ranks
        raise RunBusyError(f"{root}: another thread of this process is writing here ({kind}); wait until it has ended")
    held = _HELD[key] = _take(root, path, kind, job or this_job())
    try:
        yield held.job
    finally:
        del _HELD[key]
        _give_back(root, held)


def this_job() -> str:
    """Return the name of the job this process is of: its ranks' coordinator, or the process itself."""
    world = os.environ.get("WORLD_SIZE", "1")
    if world == "1":
        return f"{platform.node()}:{os.getpid()}:{_started(os.getpid())}"
    names = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")
    run, address, port = (os.environ.get(name, "") for name in names)
    if address in ("", "localhost", "127.0.0.1", "::1"):
        address = platform.node()
    return f"{world} ranks of {run}@{address}:{port}"


def _started(pid: int) -> str:
    """Return when a process began, as the boot and the kernel's clock; empty where it is gone or cannot be told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else f"{boot}:{fields[19]}"  # a zombie has ended


def _alive(holder: Holder) -> bool:
    """Whether a process of this host that held a lock is still there."""
    if holder.started or Path("/proc/self/stat").exists():
        return _started(holder.pid) == holder.started != ""
    if sys.platform == "win32":  # there, signal 0 is Ctrl-C
        return _alive_on_windows(holder.pid)
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _alive_on_windows(pid: int) -> bool:
    """Whether a process is there, by the system's own calls; one that may not be asked counts as alive."""
    import ctypes

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    kernel.OpenProcess.restype = ctypes.c_void_p
    process = kernel.OpenProcess(0x00100000, False, pid)  # SYNCHRONIZE
    if not process:
        return bool(ctypes.get_last_error() != 87)  # type: ignore[attr-defined]  # 87: there is no such process
    process = ctypes.c_void_p(process)
    try:
        return bool(kernel.WaitForSingleObject(process, 0) == 0x102)  # WAIT_TIMEOUT: it has not ended
    finally:
        kernel.CloseHandle(process)


def _read(handle: int) -> Holder | None:
    try:
        said = json.loads(read_at(handle, 10_000, 0))
        return Holder(**said)
    except (ValueError, TypeError):  # empty: given back; anything else: not written to its end
        return None


def _write(handle: int, holder: Holder | None) -> None:
    os.ftruncate(handle, 0)
    if holder is not None:
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, (json.dumps(asdict(holder), indent=1) + "\n").encode())


def _take(root: Path, path: Path, kind: Writer, job: str) -> _Held:
    with turn(root, "writers"):  # who comes between looking and writing would see half
        handle = os.open(path, os.O_RDWR | os.O_CREAT | BINARY, 0o644)
        try:
            with naming(path):
                _enter(handle, root, path, kind, job)
        except BaseException:
            os.close(handle)
            raise
    return _Held(handle, path, job)


def _enter(handle: int, root: Path, path: Path, kind: Writer, job: str) -> None:
    alone = flock(handle, wait=False)
    before = _read(handle)
    ours = before is not None and before.job == job
    if alone is False and not ours:
        raise _busy(root, path, kind, before)
    if alone is not False:
        if before is not None and not ours and _may_live(before, root, certain=alone is True):
            raise _busy(root, path, kind, before)
        if alone is None:
            log.warning("%s: this file system gives no locks; only one writer of a kind may work at a time", root)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        pid = os.getpid()
        mine = Holder(kind=kind, job=job, host=platform.node(), pid=pid, started=_started(pid), since=since)
        _write(handle, mine)
    # shared from here on: the other processes of the job come in, everybody else is kept out
    if flock(handle, exclusive=False, wait=False) is False:
        raise _busy(root, path, kind, before)


def _may_live(before: Holder, root: Path, *, certain: bool) -> bool:
    """Whether a holder that did not give its lock back may still work."""
    if before.host == platform.node():
        return not certain and _alive(before)
    return bool(network_file_system(root.resolve())) or not certain


def _busy(root: Path, path: Path, kind: Writer, holder: Holder | None) -> RunBusyError:
    if holder is None:
        return RunBusyError(f"{root}: another process is writing here ({kind}); wait until it has ended")
    who = f"process {holder.pid} on {holder.host}, since {holder.since}"
    if holder.host == platform.node():
        way = f"wait until it has ended, or stop it (kill {holder.pid}); what it finished is kept"
    else:
        way = f"wait until it has ended; if it was killed there, delete {path}"
    return RunBusyError(f"{root}: another {kind} is writing here ({who}): {way}")


def _give_back(root: Path, held: _Held) -> None:
    try:
        with turn(root, "writers"):
            if flock(held.handle, wait=False) is not False:  # the last of the job
                _write(held.handle, None)
    except OSError as error:  # the folder may be gone; the kernel gives the lock back in any case
        log.debug("%s: %s", held.path, error)
    finally:
        os.close(held.handle)
