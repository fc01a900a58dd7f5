"""Rows that a program hands over instead of a file: a data frame, an Arrow table, columns, a list of rows.

Frames come through Arrow's stream protocol, so that neither pandas nor polars is imported here and nothing passes
through text. They then meet the same checks as files; rows are counted from 1 as in files, not from 0 as in an index.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets.cell_values import shown
from vaeval_tasks.store.sheets.sheet import Sheet

__all__ = ["frame_sheet"]

_COLUMNS, _ROWS, _FRAME = Path("columns"), Path("rows"), Path("data frame")
"""What messages call them, in the place of a file's name."""
_FAILURES = (pa.ArrowException, TypeError, ValueError, OverflowError)
_EXACT = float(1 << 53)
_MISSING = ("NAType", "NaTType")
"""The types of pandas' own marks of a missing cell."""


def frame_sheet(data: Any) -> Sheet:
    """Return the rows of a data frame (pandas, polars or another that speaks Arrow), of columns, or of a list of rows.

    Missing cells (None, NaN in pandas, NA) are blank. Categories are their values, and whole numbers that a missing
    cell turned into floats are whole numbers again.

    Args:
        data: the frame; a mapping of a name to its cells; or a list of mappings of a name to a cell.

    Raises:
        InputError: it is none of these, has no row, or its columns are not of one length.
    """
    if isinstance(data, Mapping):
        path, table = _COLUMNS, _of_columns(data, _COLUMNS)
    elif isinstance(data, list | tuple):
        path, table = _ROWS, _of_columns(_turned(data), _ROWS)
    else:
        path, table = _FRAME, _of_frame(data)
    sheet = Sheet(path, _plain(table) if isinstance(table, pa.Table) else table)
    if not sheet.rows:
        raise InputError("there are no rows", path=path)
    return sheet


def _of_frame(data: Any) -> pa.Table | list[dict[str, Any]]:
    kind = type(data).__name__
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if not any(hasattr(data, name) for name in ("__arrow_c_stream__", "__dataframe__")):
        hint = "; call its collect() first" if hasattr(data, "collect") else ""
        raise InputError(
            f"expected a data frame, an Arrow table, columns, rows, or the path of a file or a run folder, got {kind}"
            f"{hint}"
        )
    names = [str(name) for name in getattr(data, "columns", ())] if not isinstance(data, pa.Table) else []
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise InputError("there are two columns of that name", path=_FRAME, field=twice[0])
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
        from pyarrow.interchange import from_dataframe

        return from_dataframe(data)
    except _FAILURES as error:
        if not all(hasattr(data, name) for name in ("index", "columns", "to_dict")):
            said = " ".join(str(error).split())
            raise InputError(f"a {kind} cannot be read as a table ({said})", path=_FRAME) from None
    # pandas, with a column of several types, which Arrow has none for: the check of that column is to tell the row
    named = any(name is not None for name in data.index.names)
    return _of_columns((data.reset_index() if named else data).to_dict(orient="list"), _FRAME)


def _turned(rows: list[Any] | tuple[Any, ...]) -> dict[Any, list[Any]]:
    """Return rows as columns, with None where a row lacks a name."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError(f"must be a mapping of names to cells, not {shown(row)}", path=_ROWS, row=number)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _of_columns(data: Mapping[Any, Any], path: Path) -> pa.Table | list[dict[str, Any]]:
    """Return columns as a table, or as rows where one of them holds what Arrow has no type for."""
    columns: dict[str, Any] = {}
    for name, cells in data.items():
        if path == _FRAME:
            columns[str(name)] = cells
            continue
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"a column is named {shown(name)}; names are text", path=path)
        columns[name] = _cells(cells, path, name)
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise InputError(f"the columns have different lengths: {said}", path=path)
    try:
        return pa.table({name: _array(cells) for name, cells in columns.items()})
    except _FAILURES:
        listed = {name: _listed(cells) for name, cells in columns.items()}
        return [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]


def _cells(cells: Any, path: Path, name: str) -> Any:
    if isinstance(cells, str | bytes | Mapping | set | frozenset) or not isinstance(cells, Iterable):
        raise InputError(f"must be a list of cells, not {shown(cells)}", path=path, field=name)
    whole = hasattr(cells, "__arrow_c_stream__") or isinstance(cells, pa.Array | np.ndarray)
    return cells if whole else list(cells)


def _array(cells: Any) -> Any:
    if hasattr(cells, "__arrow_c_stream__"):
        return pa.chunked_array(cells)
    return pa.array(cells, from_pandas=True)


def _listed(cells: Iterable[Any]) -> list[Any]:
    listed = [_cell(cell) for cell in cells]
    if all(cell is None or (isinstance(cell, float) and cell.is_integer()) for cell in listed):
        return [None if cell is None else int(cell) for cell in listed]  # as _whole does
    return listed


def _cell(value: Any) -> Any:
    """Return a cell as plain Python, None where it is missing."""
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    if type(value).__name__ in _MISSING or (isinstance(value, float) and math.isnan(value)):
        return None
    try:
        hash(value)
    except TypeError:
        return value if isinstance(value, dict) else list(value)  # told of as such
    return value


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without the types that only a frame has."""
    columns = {name: _plain_column(table.column(i)) for i, name in enumerate(table.column_names)}
    if len(columns) < table.num_columns:
        return table  # two of one name; refused by the sheet
    return pa.table(columns)


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        if not column.num_chunks:
            return pa.chunked_array([], type=kind.value_type)
        decoded = [_castable(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        return _plain_column(pa.chunked_array(decoded))
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return _plain_column(column.cast(pa.float64()))
    if pa.types.is_floating(kind):
        return _whole(column)
    if getattr(kind, "unit", "") == "ns":  # Python's times have microseconds; pandas would be asked for these
        coarse = {"timestamp": pa.timestamp("us", getattr(kind, "tz", None)), "duration": pa.duration("us")}
        return column.cast(coarse.get(str(kind).partition("[")[0], pa.time64("us")), safe=False)
    return column


def _castable(array: pa.Array) -> pa.Array:
    """Return an array without the view type, which Arrow cannot take from yet."""
    return array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return floats that are all whole as integers: an identifier 7 is not 7.0 because another cell is missing."""
    import pyarrow.compute as pc

    whole = pc.and_(pc.less(pc.abs(column), _EXACT), pc.equal(pc.floor(column), column))
    return column.cast(pa.int64()) if pc.all(whole, min_count=1).as_py() else column
