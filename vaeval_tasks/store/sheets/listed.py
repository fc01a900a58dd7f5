"""JSON lines, JSON and YAML: a list of mappings, each a row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets.cell_values import Twice, once, shown

__all__ = ["json_line_rows", "json_rows", "yaml_rows"]

Rows = list[dict[str, Any]]


def _parsed(parse: Callable[[], Any], kind: str, path: Path, row: int | None = None) -> Any:
    try:
        return parse()
    except Twice as error:
        raise InputError(str(error), path=path, row=row) from None
    except json.JSONDecodeError as error:
        place = "" if row is not None else f" at line {error.lineno}"
        raise InputError(f"is not JSON ({error.msg}{place})", path=path, row=row) from None
    except RecursionError:
        raise InputError(f"cannot be read as {kind} (lists within lists without end)", path=path, row=row) from None
    except ValueError as error:  # such as a date that there is not, or a number of thousands of digits
        said = f"cannot be read as {kind} ({' '.join(str(error).split())})"
        raise InputError(said, path=path, row=row) from None


def json_line_rows(text: str, path: Path) -> Rows:
    """Return the rows of a JSON lines file; blank lines are passed over and not counted.

    Raises:
        InputError: a line is not JSON, or no mapping.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    parsed = [
        _parsed(lambda line=line: json.loads(line, object_pairs_hook=once), "JSON", path, number)  # type: ignore[misc]
        for number, line in enumerate(lines, 1)
    ]
    return _mappings(parsed, path)


def json_rows(text: str, path: Path) -> Rows:
    """Return the rows of a JSON file: a list of them, an object of columns, or one that holds the list of rows.

    Raises:
        InputError: it is not JSON, or holds no rows in one of these forms.
    """
    found = _parsed(lambda: json.loads(text, object_pairs_hook=once), "JSON", path)
    return _mappings(_of_columns(found) if isinstance(found, dict) else found, path)


def _of_columns(found: dict[str, Any]) -> Any:
    """Return the rows of an object, as pandas and web services write tables; the object where it is none."""
    values = list(found.values())
    lists = [value for value in values if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(lists) == 1:  # the rows, beside what is said of them
        return lists[0]
    if values and all(isinstance(value, dict) for value in values):  # a cell by its row's label
        labels = dict.fromkeys(label for value in values for label in value)
        return [{name: value.get(label) for name, value in found.items()} for label in labels]
    if values and all(isinstance(value, list) and len(value) == len(values[0]) for value in values):
        return [dict(zip(found, cells, strict=True)) for cells in zip(*values, strict=True)]
    return found


def yaml_rows(text: str, path: Path) -> Rows:
    """Return the rows of a YAML file.

    Raises:
        InputError: it is not YAML, or no list of mappings.
    """
    from vaeval_tasks.store.sheets.yaml_text import parse_yaml  # here: only who reads YAML pays for it

    return _mappings(_parsed(lambda: parse_yaml(text), "YAML", path), path)


def _mappings(found: Any, path: Path) -> Rows:
    if not isinstance(found, list):
        raise InputError("must hold a list of rows", path=path)
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict):
            raise InputError(f"must be a mapping (a JSON object) of fields, not {shown(row)}", path=path, row=number)
        for name in row:
            if not isinstance(name, str) or not name.strip():
                raise InputError(f"a field is named {shown(name)}; names are text", path=path, row=number)
    return found
