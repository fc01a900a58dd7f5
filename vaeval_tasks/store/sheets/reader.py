"""From a path, standard input or pasted text to a sheet: what kind of file it is, and how that kind is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets.delimited import delimited_table
from vaeval_tasks.store.sheets.file_text import GZIP, STANDARD_INPUT, decoded, file_bytes, unpacked
from vaeval_tasks.store.sheets.listed import json_line_rows, json_rows, yaml_rows
from vaeval_tasks.store.sheets.sheet import Sheet
from vaeval_tasks.store.sheets.workbook import WORKBOOKS, workbook_table
from vaeval_tasks.store.tables import read_parquet_table

__all__ = ["ENDINGS", "pasted_sheet", "read_sheet"]

_TEXT: dict[str, Callable[[str, Path], pa.Table | list[dict[str, Any]]]] = {
    ".csv": delimited_table,
    ".tsv": lambda text, path: delimited_table(text, path, "\t"),
    ".jsonl": json_line_rows,
    ".ndjson": json_line_rows,
    ".json": json_rows,
    ".yaml": yaml_rows,
    ".yml": yaml_rows,
}
"""Kinds of text file by ending; each may also be compressed (``.gz``)."""
_BINARY: dict[str, Callable[[bytes, Path], tuple[pa.Table, tuple[str, ...]]]] = {
    ".parquet": lambda raw, path: (read_parquet_table(path, data=raw), ()),
    **dict.fromkeys(WORKBOOKS, workbook_table),
}
"""Kinds of file that are no text."""

ENDINGS = (*_TEXT, *_BINARY)
"""What a file's name may end in."""
_HEADED = (".csv", ".tsv")
_MAGIC = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"\xd0\xcf\x11\xe0": ".xls"}
"""How files begin that are no text; a workbook is told from its content, whatever it is called here."""


def read_sheet(path: str | Path, encoding: str | None = None, *, may_be_empty: bool = False) -> Sheet:
    """Read a file by its ending; one without an ending, or standard input (``-``), by its content.

    Args:
        path: the file.
        encoding: of a text file, as the user named it; ``auto``: found; None: UTF-8, and there is no option to name
            another.
        may_be_empty: take a file that has a header and no row.

    Raises:
        InputError: the file is missing, empty, of another kind, or cannot be parsed or decoded.
    """
    path = Path(path)
    notes: tuple[str, ...] = ()
    name = path.name.lower().removesuffix(".gz")
    if path == STANDARD_INPUT:
        raw, path = file_bytes(path), Path("standard input")
        raw = unpacked(raw, path) if raw.startswith(GZIP) else raw
        kind = _kind_of(raw)
    else:
        kind = Path(name).suffix
        compressed = name != path.name.lower()
        if path.is_file() and kind and kind not in ENDINGS:
            said = f"cannot read files that end in {kind!r}; use {', '.join(ENDINGS)} or these with .gz"
            raise InputError(said, path=path)
        raw = unpacked(file_bytes(path), path) if compressed and path.is_file() else file_bytes(path)
        found = _kind_of(raw)
        if kind and raw and (kind in _BINARY) != (found in _BINARY):  # a CSV that somebody called xlsx, or the reverse
            notes = (f"is called {kind} and holds {found[1:]}: it is read as that",)
            kind = found
        kind = kind or found
    if kind in _BINARY:
        sheet = Sheet(path, *_BINARY[kind](raw, path))
    else:
        sheet = _of_text(*decoded(raw, path, encoding, headers=1 if kind in _HEADED else 0), path, kind)
    if not (sheet.rows or may_be_empty):
        raise InputError("there are no rows", path=path)
    return replace(sheet, notes=(*notes, *sheet.notes)) if notes else sheet


def pasted_sheet(text: str) -> Sheet:
    """Read a table that was pasted into a page: cells between commas, tabs or semicolons.

    Raises:
        InputError: as of a file; it is called "pasted table".
    """
    path = Path("pasted table")
    sheet = _of_text(*decoded(text.encode(errors="replace"), path, None, headers=1), path, ".csv")
    if not sheet.rows:
        raise InputError("there are no rows; paste a header line, then one row a line", path=path)
    return sheet


def _of_text(text: str, notes: tuple[str, ...], path: Path, kind: str) -> Sheet:
    if not text.strip():
        raise InputError("is empty", path=path)
    return Sheet(path, _TEXT[kind](text, path), notes)


def _kind_of(raw: bytes) -> str:
    """Return the ending that fits what standard input holds."""
    for magic, kind in _MAGIC.items():
        if raw.startswith(magic):
            return kind
    text = raw.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):  # an object a line, or one over many lines
        return ".jsonl" if text.partition(b"\n")[0].rstrip().endswith(b"}") else ".json"
    return ".json" if text.startswith(b"[") else ".csv"
