"""All exceptions of the package.

::

    VaevalError                 the user can fix it: one line, exit code 1
    ├── InputError              a file, row or field is not what it must be
    ├── UnknownNameError        a name is not in the list it must come from (did you mean …?)
    ├── MissingDependencyError  an optional dependency is not installed
    ├── MissingWeightsError     model weights are absent or differ from their pinned checksum
    ├── RunBusyError            another process writes to the run folder
    ├── ServiceError            a judge, provider or server could not be reached or refused
    ├── PluginError             somebody else's class cannot be imported or does not do what it must
    └── EstimationError         the data cannot carry the number that was asked for

Anything else that is raised is a defect of the package and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

__all__ = [
    "EstimationError",
    "InputError",
    "MissingDependencyError",
    "MissingWeightsError",
    "PluginError",
    "RunBusyError",
    "ServiceError",
    "UnknownNameError",
    "VaevalError",
    "fault",
]


class VaevalError(Exception):
    """A problem that the user can fix. Its message names the thing, the place and the next step."""


class InputError(VaevalError, ValueError):
    """A file, row or field is not what it must be. It is a ValueError too, as users of ``evaluate`` expect.

    Args:
        message: what is wrong and what to do about it.
        path: the file the problem is in.
        row: the row of the file, counted from 1 (the first data row of a table).
        field: the column or key.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | Path | None = None,
        row: int | None = None,
        field: str | None = None,
    ) -> None:
        place = [str(path)] if path is not None else []
        if row is not None:
            place.append(f"row {row}")
        if field is not None:
            place.append(f"field {field!r}")
        super().__init__(f"{', '.join(place)}: {message}" if place else message)
        self.reason, self.path, self.row, self.field = message, path, row, field


class UnknownNameError(VaevalError):
    """A name is not one of the known ones. The message suggests the nearest and lists them all."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "") -> None:
        names = sorted(str(one) for one in known)  # members of an enum by their value
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        prefix = f"{where}: " if where else ""
        super().__init__(f"{prefix}unknown {kind} {name!r}.{hint} Known: {', '.join(names)}.")
        self.name = name


class MissingDependencyError(VaevalError):
    """A feature needs a package that is not installed."""

    def __init__(self, feature: str, package: str, *, extra: str | None = None) -> None:
        command = f"pip install 'vaeval[{extra}]'" if extra else f"pip install {package}"
        super().__init__(f"{feature} needs the package {package}. Install it with: {command}")

    @classmethod
    def unless_here(cls, feature: str, packages: Iterable[str], *, extra: str) -> None:
        """Look for packages by the names they are imported by, and import none of them.

        Raises:
            MissingDependencyError: one is not installed.
        """
        for package in packages:
            if find_spec(package) is None:
                raise cls(feature, package.replace("_", "-"), extra=extra)


class MissingWeightsError(VaevalError):
    """Model weights are absent, or their checksum is not the pinned one."""


class RunBusyError(VaevalError):
    """Another process writes to the run folder; the message names it and what to do."""


class ServiceError(VaevalError):
    """A service (judge, provider, hub) could not be reached, or refused the request.

    Args:
        message: what is wrong and what to do about it.
        retry: whether the same request may succeed a little later (nobody answered).
    """

    def __init__(self, message: str, *, retry: bool = False) -> None:
        super().__init__(message)
        self.retry = retry


class PluginError(VaevalError):
    """A system, scorer or judge of another package cannot be imported, is of the wrong kind, or gives wrong values."""


class EstimationError(VaevalError):
    """The data cannot carry the number that was asked for; the message says why.

    Args:
        reason: why not, and what to do about it.
        rubric: the rubric that it is about, where it is about one.
        path: the file that it is about.
    """

    def __init__(self, reason: str, *, rubric: str | None = None, path: str | Path | None = None) -> None:
        place = f"rubric {rubric!r}: " if rubric is not None else f"{path}: " if path is not None else ""
        super().__init__(place + reason)
        self.reason, self.rubric, self.path = reason, rubric, path


def fault(error: BaseException) -> str:
    """Return an exception that nobody meant to raise as one line: kind, message, and where it came from."""
    said = " ".join(str(error).split())[:500].encode("utf-8", "backslashreplace").decode()
    text = f"{type(error).__name__}: {said}".rstrip(": ")
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or "importlib" in trace.tb_frame.f_code.co_filename:
        return text
    return f"{text} ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"
