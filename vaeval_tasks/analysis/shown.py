"""What a person at a Python prompt sees of a result, and how its rows go on into a data frame."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vaeval_tasks.analysis.table import Table, plain
from vaeval_tasks.errors import MissingDependencyError, UnknownNameError

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["ShownResult"]

WIDTH = 80
"""Columns of a ``repr``."""
_ROWS, _HTML_ROWS, _NOTES, _CELL = 20, 200, 3, 30
_FIGURE = '<table style="border-collapse:collapse"><caption style="text-align:left">{}</caption>'


class ShownResult:
    """A result of a verb: a table to look at, plain values to keep, rows to go on with.

    A result says what it is in two ways: :meth:`tables`, as the verb prints it, and :meth:`to_json`, the object that
    the verb prints with ``--json`` and whose lists of mappings are the *parts* of the result (``rows`` is the first).
    """

    __slots__ = ()

    def tables(self) -> list[Table]:
        """Return the tables that the verb prints."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the object that the verb prints with ``--json``."""
        raise NotImplementedError

    def parts(self) -> dict[str, list[Mapping[str, Any]]]:
        """Return the lists of rows by name, ``rows`` first; values are full precision, None where there is none."""
        made = plain(self.to_json())
        return {k: v for k, v in made.items() if isinstance(v, list) and all(isinstance(row, dict) for row in v)}

    def to_arrow(self, part: str = "rows") -> pyarrow.Table:
        """Return one of the parts as an Arrow table.

        Raises:
            UnknownNameError: there is no such part.
        """
        import pyarrow as pa

        rows = self._part(part)
        return pa.table({name: [row.get(name) for row in rows] for name in _names(rows)})

    def to_pandas(self, part: str = "rows") -> pandas.DataFrame:
        """Return one of the parts as a pandas data frame; what could not be computed is NaN.

        Raises:
            MissingDependencyError: pandas is not installed.
            UnknownNameError: there is no such part.
        """
        rows = self._part(part)
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("to_pandas()", "pandas") from None
        columns = {name: [row.get(name) for row in rows] for name in _names(rows)}
        blank = [name for name, cells in columns.items() if cells and all(cell is None for cell in cells)]
        return pd.DataFrame(columns).astype(dict.fromkeys(blank, "float64"))

    def _part(self, name: str) -> list[Mapping[str, Any]]:
        parts = self.parts()
        if name not in parts:
            raise UnknownNameError("part", name, parts, where=type(self).__name__)
        return parts[name]

    def __repr__(self) -> str:
        tables = [table for table in self.tables() if table.rows or table.notes]
        if not tables:
            return f"{type(self).__name__}: nothing"
        first, *others = tables
        more = _wrapped(f"… and the tables {', '.join(table.name for table in others)}") if others else []
        return "\n".join([*_lines(first), *more])

    def _repr_html_(self) -> str:
        return "<div>" + "\n".join(map(_html, self.tables())) + "</div>"


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _printable(text: str) -> str:
    """Return a text on one line, without what a terminal would obey."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))


def _clipped(text: str, width: int) -> str:
    text = text.rstrip()
    return text if len(text) <= width else text[: width - 1] + "…"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(_printable(text), WIDTH, max_lines=4, placeholder=" …", subsequent_indent="  ") or [""]


def _lines(table: Table) -> list[str]:
    """Return a table in few lines of few columns: what does not fit is counted."""
    cells = [[_clipped(_printable(cell), _CELL) for cell in row] for row in table.cells()[:_ROWS]]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(table.columns)]
    fitting = [i for i in range(len(widths)) if sum(widths[: i + 1]) + 2 * i <= WIDTH]
    right = _numeric(table)

    def line(row: Sequence[str]) -> str:
        padded = (row[i].rjust(widths[i]) if right[i] else row[i].ljust(widths[i]) for i in fitting)
        return "  ".join(padded).rstrip()

    hidden = table.columns[len(fitting) :]
    left_out = [
        *([f"… and {len(table.rows) - _ROWS} more rows"] if len(table.rows) > _ROWS else []),
        *([f"… and the columns {', '.join(hidden)}"] if hidden else []),
        *(f"note: {note}" for note in table.notes[:_NOTES]),
        *([f"… and {len(table.notes) - _NOTES} more notes"] if len(table.notes) > _NOTES else []),
    ]
    head = [line(table.columns), line(["-" * width for width in widths])] if table.rows else []
    return [*_wrapped(table.title), *head, *map(line, cells), *(part for text in left_out for part in _wrapped(text))]


def _numeric(table: Table) -> list[bool]:
    return [all(isinstance(row.get(name), int | float | None) for row in table.rows) for name in table.columns]


def _html(table: Table) -> str:
    right = _numeric(table)

    def line(cells: Sequence[str], kind: str) -> str:
        sides = ["right" if to_the_right else "left" for to_the_right in right]
        return "".join(
            f'<{kind} style="text-align:{side}">{html.escape(cell)}</{kind}>'
            for cell, side in zip(cells, sides, strict=True)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in table.cells()[:_HTML_ROWS])
    notes = [*table.notes]
    if len(table.rows) > _HTML_ROWS:
        notes.insert(0, f"… and {len(table.rows) - _HTML_ROWS} more rows")
    return (
        f"{_FIGURE.format(html.escape(table.title))}<thead><tr>{line(table.columns, 'th')}</tr></thead>"
        f"<tbody>{body}</tbody></table>" + "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    )
