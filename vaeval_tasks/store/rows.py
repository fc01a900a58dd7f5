"""Rows of a file that a person wrote: CSV, TSV, JSON lines, JSON or YAML, told by its ending."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from vaeval_tasks.errors import InputError, UnknownNameError

__all__ = ["FORMATS", "field_list", "read_rows"]

FORMATS = (".csv", ".tsv", ".jsonl", ".json", ".yaml", ".yml")


def read_rows(path: str | Path, fields: tuple[str, ...], *, required: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows of a table file, each a dict of the given fields at most.

    Args:
        path: the file; ``.json`` and ``.yaml`` hold a list of mappings.
        fields: every name a row may have.
        required: the names every row must have, not empty.

    Raises:
        InputError: the file is missing or malformed, or a required field is; the message names file, row and field.
        UnknownNameError: a field or the file's ending is not known.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file", path=path)
    if path.suffix.lower() not in FORMATS:
        raise UnknownNameError("file ending", path.suffix, FORMATS, where=str(path))
    rows = []
    for number, row in enumerate(_parsed(path), 1):
        if not isinstance(row, dict):
            raise InputError(f"expected a mapping of fields, got {row!r}", path=path, row=number)
        if unknown := sorted(str(name) for name in set(row) - set(fields)):
            raise UnknownNameError("field", unknown[0], fields, where=f"{path}, row {number}")
        for name in required:
            if row.get(name) in (None, ""):
                raise InputError("the field is missing", path=path, row=number, field=name)
        rows.append(row)
    return rows


def _parsed(path: Path) -> Iterator[Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text ({error})", path=path) from None
    if path.suffix.lower() in (".csv", ".tsv"):
        yield from _csv(path, text)
    elif path.suffix.lower() == ".jsonl":
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as error:
                    raise InputError(f"line {number} is not JSON ({error})", path=path) from None
    else:
        try:
            listed = yaml.safe_load(text)  # JSON is YAML
        except yaml.YAMLError as error:
            raise InputError(f"cannot be read as {path.suffix[1:].upper()} ({error})", path=path) from None
        if not isinstance(listed, list):
            raise InputError("must hold a list of rows", path=path)
        yield from listed


def _csv(path: Path, text: str) -> Iterator[dict[str, str]]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        for number, row in enumerate(reader, 1):
            if None in row or None in row.values():
                raise InputError(
                    f"has not the {len(reader.fieldnames or ())} fields of the header", path=path, row=number
                )
            yield row
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} is not CSV ({error})", path=path) from None


def field_list(value: Any, *, path: str | Path, row: int, field: str) -> tuple[str, ...]:
    """Return a field that holds several texts: a list, or one text with ``;`` between them.

    Raises:
        InputError: it is neither.
    """
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(";") if part.strip())
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise InputError(f"expected a list, or texts with ';' between them, got {value!r}", path=path, row=row, field=field)
