"""Check the columns of a ratings file: identifiers, scores, counts, rubrics. Only distinct values are looked at."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.load.scale import Scale, found_scale
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.rubrics import STUDY, Questions
from vaeval_tasks.store.sheets import Column, flag, real

__all__ = ["DROP", "Names", "ScoreColumn", "constant", "counts", "flags", "identifiers", "rubric_names", "scores"]

_DECIMAL_COMMA = re.compile(r"-?\d+,\d{1,2}")
"""What a spreadsheet in most of Europe writes; no score has so many digits that this were a thousand."""
DROP = "drop"
"""A score word mapped to this leaves its rows out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Distinct names and a code per row."""

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    def present(self, rows: NDArray[np.int64]) -> tuple[str, ...]:
        """Return the names that some rows hold, in the order of their codes."""
        return tuple(self.names[i] for i in np.unique(self.codes[rows]))


def constant(name: str, rows: int) -> Names:
    """Return a column that holds one name."""
    return Names(names=(name,), codes=np.zeros(rows, dtype=np.int64))


def _each(column: Column, path: Path, check: Callable[[Any], Any]) -> list[Any]:
    """Apply a check to every distinct value; its ValueError becomes an error at the first bad row."""
    out: list[Any] = []
    problems: list[tuple[int, str]] = []
    for code, value in enumerate(column.values):
        try:
            out.append(check(value))
        except ValueError as error:
            problems.append((column.row_of(code), str(error)))
    if problems:
        row, message = min(problems)
        raise InputError(message, path=path, row=row, field=column.name)
    return out


def _identifier(value: Any) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError("is blank; every row needs an identifier")
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"{value!r} is no identifier; use text or whole numbers")


def identifiers(column: Column, path: Path) -> Names:
    """Return a column of identifiers, text or whole numbers, with names in the order they first appear.

    Raises:
        InputError: a cell is blank or of another type, the types are mixed, or two spellings of one number meet.
    """
    kinds = [type(value) for value in column.values]
    for code, kind in enumerate(kinds):
        if kind is not kinds[0] and kind is not type(None):
            said = f"{column.values[code]!r} is {kind.__name__}, row 1 has {kinds[0].__name__}; use one type"
            raise InputError(said, path=path, row=column.row_of(code), field=column.name)
    texts = _each(column, path, _identifier)
    spelled: dict[str, str] = {}
    for code, text in enumerate(texts):
        if re.fullmatch(r"\d+(\.0+)?", text):
            first = spelled.setdefault(text.split(".")[0].lstrip("0") or "0", text)
            if first != text:
                said = f"{text!r} and {first!r} are one number in two spellings; write identifiers in one way"
                raise InputError(said, path=path, row=column.row_of(code), field=column.name)
    names = tuple(dict.fromkeys(texts))
    at = {name: i for i, name in enumerate(names)}
    return Names(names=names, codes=np.array([at[t] for t in texts], dtype=np.int64)[column.codes])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreColumn:
    """A column of scores and the scale that they are on."""

    scores: NDArray[np.float64]
    """As the file has them; NaN where a word says the row is to be dropped."""
    scale: Scale
    notes: tuple[str, ...]
    """That the scale was found."""


def scores(
    column: Column, path: Path, usual: Scale, declared: Scale | None = None, words: Mapping[str, str] | None = None
) -> ScoreColumn:
    """Return a column of scores.

    Args:
        column: the column.
        path: the file, for messages.
        usual: the scale where nothing else is declared or found.
        declared: the scale as it was named.
        words: other spellings, such as ``{"a": "1", "b": "-1", "same": "0", "": "drop"}``.

    Raises:
        InputError: a score is blank, text, NaN, or not on the scale.
    """
    words = words or {}
    scale = declared or usual
    wanted = f"scores are {scale.wanted}"

    def parsed(value: Any) -> float:
        text = "" if value is None else str(value).strip()
        if text in words:
            text = words[text]
            if text == DROP:
                return math.nan
        if not text:
            raise ValueError(f"is blank; {wanted}")
        if _DECIMAL_COMMA.fullmatch(text):
            text = text.replace(",", ".")
        try:
            return real(text)
        except ValueError as error:
            raise ValueError(f"{error}; {wanted}{'' if words else '; --scores gives words a score'}") from None

    values = np.array(_each(column, path, parsed), dtype=np.float64)
    rows = values[column.codes]
    notes: tuple[str, ...] = ()
    if declared is None:
        scale, note = found_scale(rows[~np.isnan(rows)], usual=usual)
        notes = (note,) if note else ()
    for number, code in sorted((column.row_of(code), code) for code in range(len(values))):
        if not math.isnan(values[code]) and (problem := scale.problem(float(values[code]))):
            said = f"{problem}; scores are {scale.wanted}; --scale declares another scale"
            raise InputError(said, path=path, row=number, field=column.name)
    return ScoreColumn(scores=rows, scale=scale, notes=notes)


def counts(column: Column, path: Path) -> NDArray[np.float64]:
    """Return a column of counts.

    Raises:
        InputError: a count is not a finite number of 0 or more.
    """

    def check(value: Any) -> float:
        try:
            number = real(value)
        except ValueError as error:
            raise ValueError(f"{error}; counts are 0 or more") from None
        if number < 0:
            raise ValueError(f"{value} is no count; counts are 0 or more")
        return number

    return np.array(_each(column, path, check), dtype=np.float64)[column.codes]


def flags(column: Column, path: Path) -> NDArray[np.bool_]:
    """Return a column of true and false (also 1 and 0, yes and no).

    Raises:
        InputError: a cell is something else.
    """
    return np.array(_each(column, path, flag), dtype=bool)[column.codes]


def rubric_names(column: Column, path: Path, *, any_rubric: bool, questions: Questions = STUDY) -> Names:
    """Return a column of rubric keys, ordered as the questions are; a rubric's label is taken too.

    Args:
        column: the column.
        path: the file, for messages.
        any_rubric: take other names as they are.
        questions: which there are.

    Raises:
        InputError: a cell is blank.
        UnknownNameError: a name is none of the keys and labels.
    """
    named = identifiers(column, path)
    known = [questions.get(name) for name in named.names]
    keys = [name if one is None else one.key for name, one in zip(named.names, known, strict=True)]
    for code, one in enumerate(known):
        if one is None and not any_rubric:
            row = int(np.argmax(named.codes == code)) + 1
            where = f"{path}, row {row}, field {column.name!r}"
            other = "--any-rubric takes others, --rubrics names your own"
            raise UnknownNameError("rubric", keys[code], questions.keys, where=f"{where} ({other})")
    names = tuple([k for k in questions.keys if k in keys] + sorted(set(keys) - set(questions.keys)))
    return Names(names=names, codes=np.array([names.index(k) for k in keys], dtype=np.int64)[named.codes])
