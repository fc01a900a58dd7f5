"""A file's rows: as coded columns for many of them, as typed rows for those that people write by hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.store.sheets import cell_values

__all__ = ["Column", "Sheet", "SheetRow"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetRow:
    """One row, whose cells are read by their type. Every error names file, row and field."""

    path: Path
    number: int
    """Counted from 1."""
    cells: Mapping[str, Any]

    def error(self, message: str, name: str | None = None) -> InputError:
        """Return the error of this row, or of one of its fields."""
        return InputError(message, path=self.path, row=self.number, field=name)

    def text(self, name: str) -> str:
        """Return a text, stripped; a number as text; empty where it is blank.

        Raises:
            InputError: it is a list or a mapping.
        """
        value = self.cells.get(name)
        if isinstance(value, list | dict):
            raise self.error(f"must be text, not {cell_values.shown(value)}", name)
        return "" if value is None else str(value).strip()

    def texts(self, name: str) -> tuple[str, ...]:
        """Return several texts: a list, or one text with ``;`` between them.

        Raises:
            InputError: it is neither.
        """
        try:
            return cell_values.texts(self.cells.get(name))
        except ValueError as error:
            raise self.error(str(error), name) from None

    def one_of(self, name: str, kind: str, known: Iterable[str], default: str = "") -> str:
        """Return a text that is one of the known ones; ``default`` where it is blank.

        Raises:
            UnknownNameError: it is none of them.
        """
        return self._known(name, kind, self.text(name) or default, known)

    def texts_of(self, name: str, kind: str, known: Iterable[str]) -> tuple[str, ...]:
        """Return several texts, each one of the known ones; see :meth:`texts`.

        Raises:
            InputError: it is no list of texts.
            UnknownNameError: one is none of them.
        """
        return tuple(self._known(name, kind, text, known) for text in self.texts(name))

    def _known(self, name: str, kind: str, text: str, known: Iterable[str]) -> str:
        names = [str(one) for one in known]
        if text not in names:
            where = f"{self.path}, row {self.number}, field {name!r}"
            raise UnknownNameError(kind, text, names, where=where)
        return text

    def real(self, name: str) -> float | None:
        """Return a finite number, None where it is blank.

        Raises:
            InputError: it is something else.
        """
        if self.cells.get(name) is None or not str(self.cells[name]).strip():
            return None
        try:
            return cell_values.real(self.cells[name])
        except ValueError as error:
            raise self.error(str(error), name) from None

    def count(self, name: str) -> int | None:
        """Return a whole number of 0 or more, None where it is blank.

        Raises:
            InputError: it is something else.
        """
        number = self.real(name)
        if number is None:
            return None
        if number < 0 or number != int(number):
            raise self.error(f"{number:g} is no whole number of 0 or more", name)
        return int(number)

    def flag(self, name: str) -> bool:
        """Return true or false; false where it is blank.

        Raises:
            InputError: it is something else.
        """
        if self.cells.get(name) in (None, ""):
            return False
        try:
            return cell_values.flag(self.cells[name])
        except ValueError as error:
            raise self.error(str(error), name) from None


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file's rows. Columns are coded when they are asked for."""

    path: Path
    table: pa.Table | list[dict[str, Any]] = field(repr=False)
    """An Arrow table, or the rows of a file that lists them."""
    notes: tuple[str, ...] = ()
    """What was found and not told: an encoding, the sheet of a workbook."""
    names: tuple[str, ...] = field(init=False)
    rows: int = field(init=False)

    def __post_init__(self) -> None:
        """Check the names of the columns.

        Raises:
            InputError: a name is blank or there twice.
        """
        if isinstance(self.table, pa.Table):
            names, rows = tuple(self.table.column_names), self.table.num_rows
        else:
            names, rows = tuple(dict.fromkeys(key for row in self.table for key in row)), len(self.table)
        for number, name in enumerate(names, 1):
            if not name.strip():
                raise InputError(f"column {number} has no name in the header", path=self.path)
            if names.count(name) > 1:
                raise InputError("there are two columns of that name", path=self.path, field=name)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "rows", rows)

    def column(self, name: str) -> Column:
        """Return one column.

        Raises:
            InputError: there is no such column (the message lists those there are), or a cell is a list or a mapping.
        """
        if name not in self.names:
            raise InputError(f"the column is missing; there are {', '.join(self.names)}", path=self.path, field=name)
        if isinstance(self.table, pa.Table):
            return self._arrow_column(name, self.table.column(name))
        index: dict[tuple[type, Any], int] = {}
        codes = np.empty(self.rows, dtype=np.int64)
        for row, listed in enumerate(self.table):
            cell = listed.get(name)
            if isinstance(cell, list | dict):
                said = "must be text or a number, not a list or an object"
                raise InputError(said, path=self.path, row=row + 1, field=name)
            codes[row] = index.setdefault((type(cell), cell), len(index))
        return Column(name=name, values=tuple(cell for _, cell in index), codes=codes)

    def _arrow_column(self, name: str, array: pa.ChunkedArray) -> Column:
        if pa.types.is_dictionary(array.type):  # a pandas category: its unused and repeated values must not show
            array = array.cast(array.type.value_type)
        if pa.types.is_string_view(array.type):  # Arrow does not encode these yet
            array = array.cast(pa.large_string())
        try:
            coded = array.combine_chunks().dictionary_encode(null_encoding="encode")
        except pa.ArrowNotImplementedError:
            said = f"must be text or numbers, not {array.type}"
            raise InputError(said, path=self.path, field=name) from None
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks() if coded.num_chunks != 1 else coded.chunk(0)
        codes = np.from_dlpack(coded.indices)  # to_numpy would import pandas
        return Column(name=name, values=tuple(coded.dictionary.to_pylist()), codes=codes.astype(np.int64))

    def records(
        self, fields: Sequence[str], *, required: Sequence[str] = (), present: Sequence[str] = ()
    ) -> list[SheetRow]:
        """Return every row, for files that people write by hand.

        Args:
            fields: every name a row may have.
            required: the names that every row must have, not blank.
            present: the names of columns that must be there, though cells may be blank.

        Raises:
            UnknownNameError: there is a field of another name.
            InputError: a required field is missing or blank.
        """
        listed = self.table.to_pylist() if isinstance(self.table, pa.Table) else self.table
        for name in self.names:  # first: a name that is only spelled wrong says more than one that is missing
            if name not in fields:
                row = next(number for number, cells in enumerate(listed, 1) if name in cells)
                raise UnknownNameError("field", name, fields, where=f"{self.path}, row {row}")
        if missing := [name for name in dict.fromkeys((*required, *present)) if name not in self.names]:
            said = f"there is no column {', '.join(missing)}; there are {', '.join(self.names)}"
            raise InputError(said, path=self.path, field=missing[0])
        out = [SheetRow(path=self.path, number=number, cells=cells) for number, cells in enumerate(listed, 1)]
        for record in out:
            for name in required:
                value = record.cells.get(name)
                if value is None or (isinstance(value, str) and not value.strip()):
                    raise record.error("is blank; every row needs one", name)
        return out

    def csv_text(self) -> str:
        """Return the rows as CSV, blank where there is nothing."""
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.names)
        listed = self.table.to_pylist() if isinstance(self.table, pa.Table) else self.table
        writer.writerows([row.get(name) for name in self.names] for row in listed)
        return out.getvalue()
