"""Wide files, a column a question: every rating becomes a row."""

from __future__ import annotations

import re
from typing import Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets import Sheet

__all__ = ["long_rows"]

_PARTS = ("prompt", "a", "b", "config", "rubric")


def long_rows(sheet: Sheet, pattern: re.Pattern[str]) -> Sheet:
    """Return a row for every cell under a matching header that is not blank, its value as ``score``.

    The pattern's named groups become columns; columns that do not match stay what they are.

    Args:
        sheet: the wide file.
        pattern: must match the whole of a header.

    Raises:
        InputError: no header matches, a group is none of ours, or no cell holds anything.
    """
    if wrong := [name for name in pattern.groupindex if name not in _PARTS]:
        said = f"--wide: there is no part {wrong[0]!r}; a group is called {', '.join(_PARTS)}"
        raise InputError(said, path=sheet.path)
    asked = {name: found.groupdict() for name in sheet.names if (found := pattern.fullmatch(name))}
    if not asked:
        said = f"--wide {pattern.pattern}: no column is called so; there are {', '.join(sheet.names)}"
        raise InputError(said, path=sheet.path)
    rows: list[dict[str, Any]] = []
    for record in sheet.records(sheet.names):
        kept = {name: cell for name, cell in record.cells.items() if name not in asked}
        rows += [
            {**kept, **{part: value for part, value in parts.items() if value}, "score": cell}
            for name, parts in asked.items()
            if (cell := record.cells.get(name)) is not None and str(cell).strip()
        ]
    if not rows:
        raise InputError("no cell under a matching column holds anything", path=sheet.path)
    note = f"{len(asked)} columns are ratings, a row each: {len(rows)} in all"
    return Sheet(sheet.path, rows, (*sheet.notes, note))
