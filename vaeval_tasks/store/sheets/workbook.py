"""Spreadsheets (xlsx, xlsm, xlsb, xls, ods) as an Arrow table of text, as a CSV of the same cells would be."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from vaeval_tasks.errors import InputError

__all__ = ["WORKBOOKS", "workbook_table"]

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def workbook_table(raw: bytes, path: Path) -> tuple[pa.Table, tuple[str, ...]]:
    """Parse the first sheet that holds anything.

    Empty rows and columns are passed over. Numbers are written as they are shown: 7, not 7.0.

    Returns:
        The table, and what is to be said of it: that there are other sheets.

    Raises:
        InputError: it is no workbook, holds nothing, or a row is longer than the header.
    """
    from python_calamine import CalamineError, CalamineWorkbook  # here: only who reads a workbook pays for it

    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(raw))
        sheets = [(name, _rows(book.get_sheet_by_name(name).to_python())) for name in book.sheet_names]
    except (CalamineError, OSError, ValueError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"cannot be read as a workbook ({said})", path=path) from None
    filled = [(name, rows) for name, rows in sheets if rows]
    if not filled:
        raise InputError("is empty", path=path)
    name, (header, *rows) = filled[0]
    width = max((i + 1 for i, cell in enumerate(header) if cell), default=0)
    for number, row in enumerate(rows, 1):
        if any(row[width:]):
            raise InputError(f"has a cell to the right of the header's {width} columns", path=path, row=number)
    names = [" ".join(cell.split()) for cell in header[:width]]
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(width)]
    others = [other for other, _ in filled[1:]]
    notes = (f"the sheet {name!r} is read, not {', '.join(map(repr, others))}",) if others else ()
    return pa.Table.from_arrays(columns, names=names), notes


def _rows(cells: list[list[Any]]) -> list[list[str]]:
    rows = [[_text(cell) for cell in row] for row in cells]
    return [row for row in rows if any(row)]


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1 << 53 else repr(cell)
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell.total_seconds())
    return str(cell).strip()
