"""Systems, scorers and judges of other packages: named by an entry point or as ``package.module:Class``.

A package names its classes in its ``pyproject.toml``::

    [project.entry-points."vaeval.systems"]
    acme-voice = "acme_voices:Voice"

Entry points are read from the metadata of the installed packages; a class is imported when it is used. A class in
``package.module:Class`` form need not be installed: the working directory is searched too, after everything else.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from vaeval_tasks.errors import InputError, PluginError, UnknownNameError, fault

__all__ = ["Plugin", "PluginGroup", "find", "installed"]


class PluginGroup(StrEnum):
    """The groups of entry points that are read."""

    systems = "vaeval.systems"
    scorers = "vaeval.scorers"
    judges = "vaeval.judges"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """Somebody else's class, not imported yet."""

    name: str
    """What the user wrote: the name of an entry point, or ``package.module:Class``."""
    target: str
    """``package.module:Class``."""
    source: str = ""
    """Where the name comes from: package, version and group; empty for a name that holds the target itself."""

    def __str__(self) -> str:
        """What it is called in messages."""
        return f"{self.name!r} ({self.target}; {self.source})" if self.source else repr(self.name)

    def load(self) -> type:
        """Import the class.

        Raises:
            PluginError: the module cannot be imported, has no such attribute, or the attribute is no class.
        """
        module_name, _, path = self.target.partition(":")
        found: Any = self._module(module_name)
        for part in path.split("."):
            if not hasattr(found, part):
                known = [name for name, value in vars(found).items() if isinstance(value, type) and name[0] != "_"]
                hint = f"; classes there: {', '.join(sorted(known))}" if known else ""
                raise PluginError(f"the plug-in {self} has no class {part!r}{hint}")
            found = getattr(found, part)
        if not isinstance(found, type):
            raise PluginError(f"the plug-in {self} is of type {type(found).__name__}; it must be a class")
        return found

    def _module(self, name: str) -> ModuleType:
        here = str(Path.cwd())
        if not self.source and here not in sys.path:
            sys.path.append(here)
        try:
            return importlib.import_module(name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a module does when it is imported, even SystemExit
            raise PluginError(f"the plug-in {self} cannot be imported: {fault(error)}") from error


@cache
def _entry_points(group: PluginGroup, _path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group.value):
        if point not in (others := found.get(point.name, ())):  # a package that is on the path twice is one
            found[point.name] = (*others, point)
    return found


def installed(group: PluginGroup) -> dict[str, Plugin]:
    """Return the entry points of a group by name; a name that two packages use stands once, for the first."""
    return {name: _plugin(points[0], group) for name, points in _entry_points(group, tuple(sys.path)).items()}


def _plugin(point: EntryPoint, group: PluginGroup) -> Plugin:
    package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"
    return Plugin(name=point.name, target=point.value.partition("[")[0].strip(), source=f"{package}, group {group}")


def find(group: PluginGroup, name: str, *, kind: str, built_in: Iterable[str] = (), where: str = "") -> Plugin:
    """Return a plug-in by name without importing it.

    Args:
        group: the entry points to look among.
        name: of an entry point, or ``package.module:Class``.
        kind: what is looked for, in messages: ``provider``, ``scorer``.
        built_in: names of our own, which the message about an unknown name lists too.
        where: the place the name stands in.

    Raises:
        UnknownNameError: there is no such name; the nearest is suggested.
        InputError: the name is neither a name nor ``package.module:Class``.
        PluginError: two packages use the name.
    """
    prefix = f"{where}: " if where else ""
    if ":" in name:
        module, _, path = name.partition(":")
        if not all(part.isidentifier() for part in [*module.split("."), *path.split(".")]):
            raise InputError(f"{prefix}{kind} {name!r} is not of the form package.module:Class")
        return Plugin(name=name, target=name)
    points = _entry_points(group, tuple(sys.path)).get(name, ())
    if len({point.value for point in points}) > 1:
        both = "; ".join(str(_plugin(point, group)) for point in points)
        raise PluginError(
            f"{prefix}{kind} {name!r} is installed by several packages ({both}); write package.module:Class"
        )
    if points:
        return _plugin(points[0], group)
    known = {*built_in, *installed(group), "package.module:Class"}
    raise UnknownNameError(kind, name, known, where=where)
