"""A table of results: the view of records that becomes terminal text, CSV, Markdown or JSON. Nothing reads it back."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.files import write_text

__all__ = ["Table", "plain", "printed", "rank_range", "require_ending", "write_result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Named rows. A value is text, a number, a truth value or None (what could not be computed)."""

    name: str
    """The file name without its ending: ``A10``."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    digits: Mapping[str, int]
    """Decimals to print per column; CSV and JSON keep full precision."""
    notes: tuple[str, ...] = ()

    def cells(self) -> list[list[str]]:
        """Return the printed cells, row by row."""
        return [[printed(row.get(c), self.digits.get(c)) for c in self.columns] for row in self.rows]

    def text(self) -> str:
        """Return the table for a terminal: aligned columns, numbers to the right."""
        cells = self.cells()
        widths = [max([len(c), *(len(row[i]) for row in cells)]) for i, c in enumerate(self.columns)]
        right = [all(isinstance(row.get(c), int | float | None) for row in self.rows) for c in self.columns]

        def line(row: Sequence[str]) -> str:
            padded = (v.rjust(w) if r else v.ljust(w) for v, w, r in zip(row, widths, right, strict=True))
            return "  ".join(padded).rstrip()

        body = [self.title, line(self.columns), line(["-" * w for w in widths]), *map(line, cells)]
        return "\n".join([*body, *(f"note: {note}" for note in self.notes)]) + "\n"

    def markdown(self) -> str:
        """Return the table as GitHub Markdown."""

        def line(row: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"

        head = [f"**{self.title}**", "", line(self.columns), line(["---"] * len(self.columns))]
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([*head, *map(line, self.cells()), *notes]) + "\n"

    def csv(self) -> str:
        """Return the table as CSV with full precision, empty where a value is None."""
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if row.get(c) is None else row.get(c) for c in self.columns] for row in self.rows])
        return out.getvalue()

    def write(self, folder: Path) -> list[Path]:
        """Write ``NAME.csv`` and ``NAME.md`` and return their paths."""
        paths = [folder / f"{self.name}.csv", folder / f"{self.name}.md"]
        write_text(paths[0], self.csv())
        write_text(paths[1], self.markdown())
        return paths


def printed(value: Any, digits: int | None) -> str:
    """Return a value as it is printed; a number that is not whole has 3 decimals unless ``digits`` says how many."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{3 if digits is None else digits}f}"
    return str(value)


def rank_range(low: int | None, high: int | None, dash: str = "-") -> str:
    """Return the ranks an entity may hold: ``2`` or ``1-3``; empty where they are not known."""
    if low is None or high is None:
        return ""
    return str(low) if low == high else f"{low}{dash}{high}"


def plain(value: Any) -> Any:
    """Return a value as plain Python for JSON.

    Raises:
        ValueError: a number is not finite; what cannot be computed must be None by now.
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} in a result")
        return int(value) if value.is_integer() and abs(value) < 1e15 and isinstance(value, int) else float(value)
    return [plain(v) for v in value]


def require_ending(path: Path) -> None:
    """Raise if a result cannot be written to a file of that name.

    Raises:
        InputError: the ending is none of ``.json``, ``.csv``, ``.md``.
    """
    if path.suffix not in (".json", ".csv", ".md"):
        raise InputError("cannot be written; name a .json, .csv or .md file", path=path)


def write_result(path: Path, result: Mapping[str, Any], tables: Sequence[Table]) -> None:
    """Write a verb's result to one file, by its ending: the JSON object, or its first table as CSV or Markdown.

    Raises:
        InputError: the ending is none of ``.json``, ``.csv``, ``.md``.
    """
    require_ending(path)
    if path.suffix == ".json":
        write_text(path, json.dumps(plain(result), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    elif path.suffix == ".csv":
        write_text(path, tables[0].csv())
    else:
        write_text(path, "\n".join(t.markdown() for t in tables))
