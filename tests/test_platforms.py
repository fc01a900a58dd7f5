"""The package calls nothing of the system that one of its platforms lacks, but where it says what happens there."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vaeval_tasks
from vaeval_tasks import files
from vaeval_tasks.asking.processes import ask_in_processes
from vaeval_tasks.errors import VaevalError
from vaeval_tasks.store import lock
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.log import append_jsonl, append_lines, read_jsonl
from vaeval_tasks.store.schema import Comment

PACKAGE = Path(vaeval_tasks.__file__).parent
# what Python for Windows does not have (https://docs.python.org/3/library/os.html, "Availability: Unix")
ABSENT = {
    "os": {
        *("pread", "pwrite", "preadv", "pwritev", "fork", "forkpty", "getuid", "geteuid", "getgid", "setsid", "killpg"),
        *("getpgid", "setpgid", "chown", "fchmod", "fchown", "fdatasync", "mkfifo", "mknod", "uname", "nice", "wait"),
        *("getloadavg", "sched_getaffinity", "posix_fadvise", "sendfile", "sysconf", "statvfs", "O_DIRECTORY", "sync"),
    },
    "signal": {"SIGKILL", "SIGHUP", "SIGPIPE", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "alarm", "setitimer"},
    "loop": {"add_reader", "add_writer", "add_signal_handler"},
}
MODULES = {"fcntl", "grp", "pwd", "resource", "termios", "pty", "tty", "posix", "syslog"}
GUARDED = {"asking/processes.py: loop.add_reader", "store/lock.py: import fcntl"}
"""Where Windows takes another way; each is tested below."""


def found() -> set[str]:
    out = set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.attr in ABSENT.get(node.value.id, ()):
                    out.add(f"{name}: {node.value.id}.{node.attr}")
            elif isinstance(node, ast.Import):
                out |= {f"{name}: import {a.name}" for a in node.names if a.name in MODULES}
            elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
                out.add(f"{name}: import {node.module}")
    return out


def test_no_call_that_windows_lacks() -> None:
    assert found() == GUARDED


def test_no_file_is_opened_as_text_by_its_handle() -> None:
    """Without ``O_BINARY`` Windows writes two bytes for a line feed."""
    text = {
        f"{path.relative_to(PACKAGE).as_posix()}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if "os.open(" in line and "BINARY" not in line and "flags" not in line
    }
    assert text == {
        "files.py: handle = os.open(folder, os.O_RDONLY)",
        "cli/failures.py: nowhere = os.open(os.devnull, os.O_WRONLY)",
    }


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What of Windows can be had elsewhere: no flock, no pread, folders and read-only handles that are not flushed."""
    opened, flushed = os.open, os.fsync

    def no_folder(path, flags, *rest, **more):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *rest, **more)

    def only_writable(handle: int) -> None:
        import fcntl

        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(9, "Bad file descriptor")
        flushed(handle)

    def console_event(pid: int, number: int) -> None:
        raise AssertionError(f"os.kill({pid}, {number}) is Ctrl-C for the whole console")

    monkeypatch.setattr(os, "fsync", only_writable)
    monkeypatch.setattr(os, "open", no_folder)
    monkeypatch.setattr(os, "kill", console_event)
    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "_started", lambda pid: "")
    for name in ("pread", "pwrite"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.mark.usefixtures("windows")
def test_files_and_logs_on_windows(tmp_path: Path) -> None:
    files.write_bytes(tmp_path / "a" / "b.bin", b"1\n2")
    with files.atomic_path(tmp_path / "c.txt") as temporary:
        temporary.write_text("c")
    assert ((tmp_path / "a" / "b.bin").read_bytes(), (tmp_path / "c.txt").read_text()) == (b"1\n2", "c")
    log, one = tmp_path / "log.jsonl", Comment(prompt_id="p", config_id="c", rater_id="r", text="é")
    append_jsonl(log, one)
    with log.open("ab") as file:
        file.write(b'{"prompt_id": "unfin')
    append_lines(log, ())
    append_jsonl(log, one)
    assert list(read_jsonl(log, Comment)) == [one, one]
    assert (tmp_path / "log.jsonl.damaged").read_bytes() == b'{"prompt_id": "unfin\n'


@pytest.mark.usefixtures("windows")
def test_locks_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(lock, "_alive_on_windows", lambda pid: asked.append(pid) or pid == 77, raising=True)
    real_exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self, **k: self.as_posix()[:6] != "/proc/" and real_exists(self, **k))
    with writing(tmp_path, Writer.generate):
        held = (tmp_path / ".locks" / "generate.json").read_text()
    for pid, refused in ((78, False), (77, True)):
        text = held.replace(f'"pid": {os.getpid()}', f'"pid": {pid}').replace('"job": "', '"job": "x')
        (tmp_path / ".locks" / "generate.json").write_text(text)
        if refused:
            with (
                pytest.raises(VaevalError, match="another generate is writing here"),
                writing(tmp_path, Writer.generate),
            ):
                pass
        else:
            with writing(tmp_path, Writer.generate):
                pass
    assert asked == [78, 77]


def test_several_processes_are_refused_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(VaevalError, match=r"^--processes: Windows asks in one process only; leave the option out$"):
        ask_in_processes(None, [], clock=None, count=print, open_system=None)


def test_a_name_that_the_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    rows = [f"p{i},{a},{b},r{i % 3},{i * i % 5 - 2}" for i in range(6) for a, b in (("Łódź", "y"), ("y", "z"))]
    rows += [f"p{i},z,Łódź,r{i % 3},{i % 3 - 1}" for i in range(6)]
    (tmp_path / "t.csv").write_text("\n".join(["prompt,a,b,rater,score", *rows]), "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "vaeval_tasks.cli", "rank", "t.csv", "--ci", "sandwich"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True)
    assert "\\u0141\xf3d\\u017a " in done.stdout.decode("cp1252")
