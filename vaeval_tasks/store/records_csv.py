"""Records as CSV that spreadsheets open safely and that gives every text back.

RFC 4180: UTF-8, CRLF, quotes where needed. A text that a spreadsheet would run as a formula gets an
apostrophe in front, and so does one that begins with an apostrophe, so that taking one off restores every
text. Numbers are never touched: a score of -3 stays -3. Lists and objects are JSON.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa

from vaeval_tasks.files import write_text
from vaeval_tasks.store.sheets import SheetRow, read_sheet
from vaeval_tasks.store.tables import arrow_schema, from_row, to_row

__all__ = ["csv_text", "escaped", "read_csv", "unescaped", "whole_text", "write_csv"]

R = TypeVar("R")

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
# Excel takes the full-width signs for formulas as well (OWASP, CSV injection).

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def whole_text(text: str) -> str:
    """Return the text with what no table can hold, NUL and lone surrogates, as U+FFFD (the replacement character)."""
    return _UNSTORABLE.sub("�", text)


def escaped(text: str) -> str:
    """Return the text as it goes into a cell: with an apostrophe in front where a spreadsheet might run it."""
    return f"'{text}" if text.startswith(_STARTS) else text


def unescaped(text: str) -> str:
    """Return the text of a cell that :func:`escaped` wrote."""
    return text.removeprefix("'")


def csv_text(record: type, rows: Iterable[Any]) -> str:
    """Return records as CSV with a header, one column a field."""
    schema = arrow_schema(record)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(schema.names)
    for one in rows:
        row = to_row(one)
        writer.writerow([_cell(row[field.name], field.type) for field in schema])
    return out.getvalue()


def _cell(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return ""
    if kind == pa.string():
        return escaped(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def write_csv(path: str | Path, record: type, rows: Iterable[Any]) -> None:
    """Write records as CSV, atomically."""
    write_text(path, csv_text(record, rows))


def read_csv(path: str | Path, record: type[R]) -> list[R]:
    """Read records that :func:`write_csv` wrote.

    Raises:
        InputError: the file is missing or malformed; the message names row and field.
    """
    schema = {field.name: field for field in arrow_schema(cast("type", record))}
    sheet = read_sheet(path, may_be_empty=True)
    return [
        from_row(
            record,
            {name: _value(text, schema[name], row) for name, text in row.cells.items()},
            path=path,
            number=row.number,
        )
        for row in sheet.records(list(schema))
    ]


def _value(text: str, field: pa.Field, row: SheetRow) -> Any:
    if text == "" and field.nullable:
        return None
    if field.type == pa.string():
        return unescaped(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise row.error(f"cannot be read, got {text!r}", field.name) from None
