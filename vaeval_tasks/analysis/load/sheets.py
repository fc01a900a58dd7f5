"""Read a plain CSV, JSON lines or parquet file as integer-coded columns, without a row-by-row Python pass.

Every error names the file, the row (1 is the first data row) and the column.
"""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.tables import read_parquet_table

__all__ = ["Column", "Sheet", "read_sheet"]

_TEXT_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as its distinct values and a code per row."""

    name: str
    """The name in the file, for messages."""
    values: tuple[Any, ...]
    """Distinct values in the order they first appear: text, numbers, booleans or None."""
    codes: NDArray[np.int64]

    def row_of(self, code: int) -> int:
        """Return the first row, counted from 1, that holds a value."""
        return int(np.argmax(self.codes == code)) + 1


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file's rows. Columns are coded when they are asked for."""

    path: Path
    rows: int
    names: tuple[str, ...]
    _table: pa.Table | dict[str, list[Any]] = field(repr=False)

    def column(self, name: str) -> Column:
        """Return one column.

        Raises:
            InputError: there is no such column; the message lists those there are.
        """
        if name not in self.names:
            raise InputError(f"the column is missing; there are {', '.join(self.names)}", path=self.path, field=name)
        if isinstance(self._table, pa.Table):
            return _arrow_column(name, self._table.column(name))
        return self._python_column(name, self._table[name])

    def _python_column(self, name: str, cells: list[Any]) -> Column:
        index: dict[tuple[type, Any], int] = {}
        try:
            codes = [index.setdefault((type(cell), cell), len(index)) for cell in cells]
        except TypeError:
            row = next(i for i, cell in enumerate(cells, 1) if isinstance(cell, list | dict))
            raise InputError("must be text or a number, not a list or an object", path=self.path, row=row, field=name)  # noqa: B904
        return Column(name=name, values=tuple(cell for _, cell in index), codes=np.array(codes, dtype=np.int64))


def _arrow_column(name: str, array: pa.ChunkedArray) -> Column:
    if pa.types.is_dictionary(array.type):  # a pandas category: its unused and repeated values must not show
        array = array.cast(array.type.value_type)
    coded = array.combine_chunks().dictionary_encode(null_encoding="encode")
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks() if coded.num_chunks != 1 else coded.chunk(0)
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Column(name=name, values=tuple(coded.dictionary.to_pylist()), codes=codes)


def _decoded(path: Path, encoding: str) -> str:
    raw = path.read_bytes()
    if path.suffix == ".gz":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError) as error:
            raise InputError(f"cannot be read as gzip ({error})", path=path) from None
    try:
        return raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8, or name its encoding: --encoding latin-1"
        headers = 0 if ".jsonl" in path.suffixes or ".ndjson" in path.suffixes else 1
        row = raw.count(b"\n", 0, error.start) + 1 - headers
        said = f"byte 0x{raw[error.start]:02x} is not {encoding}; {hint}"
        raise InputError(said, path=path, row=row or None) from None
    except LookupError:
        raise InputError(f"there is no encoding {encoding!r}", path=path) from None


def _csv(path: Path, text: str, delimiter: str) -> pa.Table:
    """Parse a CSV with every cell as text: ids such as 007 and scores such as 1.5 stay what they were."""
    bad: list[pacsv.InvalidRow] = []

    def refuse(row: pacsv.InvalidRow) -> str:
        bad.append(row)
        return "error"

    names = text.partition("\n")[0]
    if not names.strip():
        raise InputError("the file is empty", path=path)
    source = io.BytesIO(text.encode("utf-8"))
    options = {
        "read_options": pacsv.ReadOptions(use_threads=False),  # threads would leave the row numbers of errors out
        "parse_options": pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse),
    }
    try:
        header = pacsv.read_csv(io.BytesIO((names + "\n").encode()), parse_options=options["parse_options"])
        as_text = pacsv.ConvertOptions(column_types=dict.fromkeys(header.column_names, pa.string()))
        return pacsv.read_csv(source, convert_options=as_text, **options)
    except pa.ArrowInvalid as error:
        if bad:
            said = f"has {bad[0].actual_columns} cells, the header has {bad[0].expected_columns}"
            row = bad[0].number - 1 if bad[0].number is not None else None
            raise InputError(said, path=path, row=row) from None
        raise InputError(f"cannot be read as CSV ({error})", path=path) from None


def _json_lines(path: Path, text: str) -> dict[str, list[Any]]:
    rows = []
    for number, line in enumerate(filter(str.strip, text.splitlines()), 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"is not JSON ({error.msg})", path=path, row=number) from None
        if not isinstance(row, dict):
            raise InputError("must be a JSON object", path=path, row=number)
        rows.append(row)
    names = dict.fromkeys(key for row in rows for key in row)
    return {name: [row.get(name) for row in rows] for name in names}


def read_sheet(path: str | Path, encoding: str = "utf-8") -> Sheet:
    """Read a file by its ending: ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson`` (each also ``.gz``) or ``.parquet``.

    Raises:
        InputError: the file is missing, empty, of another kind, or cannot be parsed or decoded.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file", path=path)
    kind = Path(path.name.removesuffix(".gz")).suffix
    table: pa.Table | dict[str, list[Any]]
    if kind == ".parquet":
        table = read_parquet_table(path)
    elif kind in _TEXT_SUFFIXES:
        text = _decoded(path, encoding)
        if not text.strip():
            raise InputError("the file is empty", path=path)
        table = _csv(path, text, "\t" if kind == ".tsv" else ",") if kind[1] in "ct" else _json_lines(path, text)
    else:
        raise InputError(f"cannot read {kind or 'a file without an ending'}; use .csv, .jsonl or .parquet", path=path)
    names = tuple(table.column_names if isinstance(table, pa.Table) else table)
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError("there are two columns of that name", path=path, field=twice[0])
    rows = table.num_rows if isinstance(table, pa.Table) else len(table[names[0]]) if names else 0
    if rows == 0:
        raise InputError("there are no rows", path=path)
    return Sheet(path, rows, names, table)
