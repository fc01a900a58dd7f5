"""CSV and TSV as an Arrow table of text: ids such as 007 and scores such as 1.5 stay what they were."""

from __future__ import annotations

import csv
import io
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from vaeval_tasks.errors import InputError

__all__ = ["delimited_table", "likely_delimiter"]

DELIMITERS = (",", "\t", ";", "|")
_SNIFFED = 1 << 16
_HEADER = 1 << 20
_BLOCK = 1 << 24
"""Bytes that Arrow reads at once; no row may be longer."""


def delimited_table(text: str, path: Path, delimiter: str | None = None) -> pa.Table:
    """Parse a table, every cell as text, without a pass of Python over the rows.

    Args:
        text: the file's text.
        path: the file, for messages.
        delimiter: between cells; None: found, see :func:`likely_delimiter`.

    Raises:
        InputError: there is no header, a row has other cells than the header, or a quote is not closed.
    """
    import pyarrow.csv as pacsv  # here: only those who read such a file pay for it

    if delimiter is None:
        delimiter = likely_delimiter(text)
    raw = text.encode()
    if '"' in text and not _plainly_quoted(raw, delimiter):
        _require_whole_quotes(text, path, delimiter)
    header = next((row for row in csv.reader(io.StringIO(text[:_HEADER], newline=""), delimiter=delimiter) if row), [])
    wrong: list[pacsv.InvalidRow] = []

    def refuse(row: pacsv.InvalidRow) -> str:
        wrong.append(row)
        return "error"

    # the header is read as a row like all others, so that every column is text whatever its name
    keys = [str(i) for i in range(len(header))]
    try:
        table = pacsv.read_csv(
            pa.BufferReader(raw),
            # threads would leave the row numbers of errors out
            read_options=pacsv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=keys),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values='"' in text, invalid_row_handler=refuse
            ),
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(keys, pa.string())),
        )
    except pa.ArrowException as error:
        if wrong:
            row = wrong[0].number - 1 if wrong[0].number is not None else None
            said = f"has {wrong[0].actual_columns} cells, the header has {wrong[0].expected_columns}"
            raise InputError(said, path=path, row=row) from None
        raise InputError(f"cannot be read as CSV ({' '.join(str(error).split())})", path=path) from None
    names = [" ".join(name.split()) for name in header]
    rows = table.slice(1).rename_columns(names)
    return rows.select(range(1, len(names))) if names[0] == "" and len(names) > 1 else rows


def likely_delimiter(text: str) -> str:
    """Return what stands between the cells of a table.

    It is the one that cuts the first rows into equally many cells, the most; a comma where two do so alike. Where none
    does, a row is wrong: then it is the first of them that the header holds.
    """
    head = text[:_SNIFFED]
    if len(head) < len(text):
        head = head[: max(head.rfind("\n"), head.rfind("\r")) + 1] or head  # no row that is cut
    widths = {}
    for delimiter in DELIMITERS:
        try:
            rows = islice((row for row in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter) if row), 50)
            lengths = {len(row) for row in rows}
        except csv.Error:
            continue
        widths[delimiter] = lengths.pop() if len(lengths) == 1 else 0
    best = max(widths, key=lambda d: widths[d], default=",")
    if widths.get(best, 0) > 1:
        return best
    first = text.lstrip("\r\n").partition("\n")[0]
    return next((d for d in DELIMITERS if d in first), ",")


def _plainly_quoted(raw: bytes, delimiter: str) -> bool:
    """Return whether quotes open and close cells in turn: quick to see, and so of nearly every file.

    The first, third, fifth … quote stands behind a delimiter, a line break or the quote that it escapes, the others
    before one. Of a quote within an unquoted cell (``5" disk``) this says no, though it is allowed.
    """
    data = np.frombuffer(raw, dtype=np.uint8)
    beside = np.zeros(256, dtype=bool)
    beside[list(b'\r\n"' + delimiter.encode())] = True
    seen = 0
    for start in range(0, len(data), _BLOCK):
        at = np.flatnonzero(data[start : start + _BLOCK] == ord('"')) + start
        opening, closing = at[seen % 2 :: 2], at[1 - seen % 2 :: 2]
        # at either end of the text "clip" gives the quote itself, which passes
        before, behind = data.take(opening - 1, mode="clip"), data.take(closing + 1, mode="clip")
        if not (beside[before].all() and beside[behind].all()):
            return False
        seen += len(at)
    return seen % 2 == 0


def _require_whole_quotes(text: str, path: Path, delimiter: str) -> None:
    """Refuse what Arrow would take as it comes: a quote without an end, and text behind one that ends."""

    def reader() -> Iterator[list[str]]:
        return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)

    longest = csv.field_size_limit(sys.maxsize)
    try:
        deque(reader(), maxlen=0)
    except csv.Error:
        row, rows = 0, reader()
        try:
            for cells in rows:
                row += bool(cells)
        except csv.Error as error:
            said = "a quote is opened and not closed" if "end of data" in str(error) else f"is not CSV ({error})"
            raise InputError(said, path=path, row=row or None) from None
    finally:
        csv.field_size_limit(longest)
