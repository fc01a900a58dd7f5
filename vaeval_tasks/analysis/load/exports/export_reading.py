"""What an export is read as, and what helps where it does not name the systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets import Sheet

__all__ = ["Export", "Hints", "Reading", "Row", "rows_of", "tell", "told_parts"]

Row = dict[str, Any]
PARTS = ("prompt", "a", "b", "config", "rater", "rubric")
"""What a pattern may take out of an item's name, and a key may tell of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What the user tells of a file beside it."""

    opinions: bool = False
    """Whether opinion scores are read; else comparisons."""
    pattern: re.Pattern[str] | None = None
    """Named groups take parts out of an item's name: ``(?P<config>[^/]+)/(?P<prompt>[^/]+)``."""
    key: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of an item its parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A file in our terms."""

    sheet: Sheet
    columns: Mapping[str, str] = field(default_factory=dict)
    """Our name to the sheet's, where it is another."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Answers to scores."""
    scale: str = ""
    """As ``--scale`` takes it; empty: as found."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A tool's export."""

    name: str
    """As ``--format`` takes it."""
    label: str
    fits: Callable[[Sheet], bool]
    """Whether a file has its columns."""
    read: Callable[[Sheet, Hints], Reading]
    opinions: bool | None = None
    """Whether it holds opinions only (True), comparisons only (False), or may hold either (None)."""


def rows_of(sheet: Sheet) -> list[Row]:
    """Return the rows of a sheet as mappings, for exports that are not one rating a row."""
    return [dict(row.cells) for row in sheet.records(sheet.names)]


def _of_path(item: str) -> Row:
    """Return folder and file name as system and prompt."""
    path = PurePosixPath(re.sub(r"^[a-z0-9]+://", "", item).split("?")[0])
    return {"config": path.parent.name, "prompt": path.name} if path.parent.name else {"prompt": path.name}


def _of_pair(item: str) -> Row:
    """Return the two names of ``x|y`` or ``x vs y``."""
    found = re.fullmatch(r"\s*(.+?)\s*(?:\||\s+(?:vs\.?|versus|against)\s+)\s*(.+?)\s*", item, re.IGNORECASE)
    return {"a": found[1], "b": found[2]} if found else {}


def told_parts(item: str, hints: Hints) -> Row:
    """Return what the name of an item, the pattern and the key tell of it."""
    if item in hints.key:
        return {"prompt": item, **{part: value for part, value in hints.key[item].items() if part in PARTS}}
    if hints.pattern is not None:
        found = hints.pattern.search(item)
        return {"prompt": item, **{k: v for k, v in found.groupdict().items() if v}} if found else {}
    return _of_path(item) if hints.opinions else {"prompt": item, **_of_pair(item)}


def tell(rows: Iterable[Row], hints: Hints, path: Path) -> list[Row]:
    """Return rows with the parts of their ``item`` added where they have none themselves.

    Raises:
        InputError: it stays unknown which systems an item is of.
    """
    needed = ("config",) if hints.opinions else ("a", "b")
    out: list[Row] = []
    known: dict[str, Row] = {}
    for number, row in enumerate(rows, 1):
        item = str(row.get("item") or "")
        if item not in known:
            known[item] = told_parts(item, hints)
        full = known[item] | {name: value for name, value in row.items() if value not in (None, "")}
        if missing := [name for name in needed if not full.get(name)]:
            groups = "".join(f"(?P<{name}>…)" for name in needed)
            said = (
                f"nothing says which system {' and '.join(missing)} of {item[:60]!r} is; take it out of that name with "
                f"--pattern '{groups}', or name a table with the columns item, {', '.join(needed)} with --key"
            )
            raise InputError(said, path=path, row=number)
        full.setdefault("prompt", item)
        full.setdefault("rubric", "overall")
        out.append(full)
    if not out:
        raise InputError("holds no rating of that kind", path=path)
    return out
