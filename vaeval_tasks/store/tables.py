"""Records to and from Arrow and parquet, with a check of every field on the way in."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import atomic_path

__all__ = [
    "arrow_schema",
    "from_row",
    "read_parquet",
    "read_parquet_table",
    "to_row",
    "write_parquet",
]

R = TypeVar("R")

_SCALARS: dict[type, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
}


@cache
def _hints(record: type) -> dict[str, Any]:
    return typing.get_type_hints(record)


def _optional(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        return inner[0], True
    return hint, False


def _arrow_type(hint: Any) -> pa.DataType:
    hint, _ = _optional(hint)
    if typing.get_origin(hint) is tuple:
        return pa.list_(pa.string())
    if typing.get_origin(hint) is dict:
        return pa.string()  # JSON
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return pa.string()
    return _SCALARS[hint]


@cache
def arrow_schema(record: type) -> pa.Schema:
    """Return the Arrow schema of a record class: one column a field, dicts as JSON text."""
    hints = _hints(record)
    return pa.schema(
        [
            pa.field(f.name, _arrow_type(hints[f.name]), nullable=_optional(hints[f.name])[1])
            for f in fields(record)  # type: ignore[arg-type]
        ]
    )


@cache
def _names(record: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(record))  # type: ignore[arg-type]


def to_row(record: Any) -> dict[str, Any]:
    """Return a record as a flat dict of plain Python values, dicts as sorted JSON text."""
    # dataclasses.asdict copies every value deeply, which made four fifths of the time of an export
    return {name: _plain(getattr(record, name)) for name in _names(type(record))}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    return list(value) if isinstance(value, tuple) else value


def _parse(hint: Any, value: Any) -> Any:
    hint, optional = _optional(hint)
    if value is None and optional:
        return None
    if typing.get_origin(hint) is tuple:
        if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
            return tuple(value)
    elif typing.get_origin(hint) is dict:
        parsed = json.loads(value) if isinstance(value, str) else value
        if isinstance(parsed, dict):
            return parsed
    elif hint is float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    elif issubclass(hint, StrEnum):
        return hint(value)
    elif isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise ValueError(f"expected {getattr(hint, '__name__', hint)}, got {value!r}")


def from_row(record: type[R], row: dict[str, Any], *, path: str | Path | None = None, number: int | None = None) -> R:
    """Build a record from a dict.

    Raises:
        InputError: a field is missing, unknown or of the wrong type; the message names file, row and field.
    """
    hints = _hints(typing.cast("type", record))
    where = f"{path}, row {number}" if number is not None else str(path or record.__name__)
    if unknown := set(row) - set(hints):
        raise UnknownNameError("field", sorted(unknown)[0], hints, where=where)
    values: dict[str, Any] = {}
    for f in fields(record):  # type: ignore[arg-type]
        if f.name not in row:
            if f.default is MISSING and f.default_factory is MISSING:
                raise InputError("the field is missing", path=path, row=number, field=f.name)
            continue
        try:
            values[f.name] = _parse(hints[f.name], row[f.name])
        except (ValueError, TypeError) as error:
            raise InputError(str(error), path=path, row=number, field=f.name) from None
    return record(**values)


def write_parquet(path: str | Path, record: type, rows: Iterable[Any] | pa.Table) -> None:
    """Write records, or a ready Arrow table of the record's schema, to a parquet file, atomically."""
    schema = arrow_schema(record)
    table = rows.cast(schema) if isinstance(rows, pa.Table) else pa.Table.from_pylist([to_row(r) for r in rows], schema)
    import pyarrow.parquet as pq  # here: a rating file of text needs none of it

    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_parquet_table(
    path: str | Path, columns: Sequence[str] | None = None, *, data: bytes | None = None
) -> pa.Table:
    """Read a parquet file as an Arrow table.

    Args:
        path: the file.
        columns: only these.
        data: what it holds, where that is read already; ``path`` then only names it.

    Raises:
        InputError: the file is missing or is not parquet, or a column is missing.
    """
    import pyarrow.parquet as pq

    if data is None and not Path(path).is_file():
        raise InputError("no such file", path=path)
    try:
        # not read_table, which makes columns of folders that are named like a=b
        with pq.ParquetFile(path if data is None else pa.BufferReader(data)) as file:
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"cannot be read as parquet ({' '.join(str(error).split())})", path=path) from None
    for name in columns or ():
        if name not in table.column_names:
            raise InputError(f"the column is missing; there are {', '.join(table.column_names)}", path=path, field=name)
    return table.select(list(columns)) if columns is not None else table


def read_parquet(path: str | Path, record: type[R]) -> list[R]:
    """Read the records of a parquet file; see :func:`from_row` for what is refused."""
    rows = read_parquet_table(path).to_pylist()
    return [from_row(record, row, path=path, number=i) for i, row in enumerate(rows, 1)]
