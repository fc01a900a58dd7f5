"""Google Forms: the responses as CSV or a spreadsheet, a row a person, a column a question.

A grid's columns are called ``Question [Row]``: the row is the item, the question is the rubric where there are several.
"""

from __future__ import annotations

import re
from typing import Any

from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, Row, rows_of, tell
from vaeval_tasks.analysis.load.exports.preference_words import preference
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

_TIME = ("Timestamp", "Zeitstempel", "Horodateur", "Marca temporal", "Carimbo de data/hora")
_PERSON = ("email address", "username", "participant id", "participant", "your id", "name", "worker id", "prolific id")


def _fits(sheet: Sheet) -> bool:
    return sheet.names[0] in _TIME and len(sheet.names) > 1


def _read(sheet: Sheet, hints: Hints) -> Reading:
    person = next((name for name in sheet.names if name.lower() in _PERSON), None)
    given = rows_of(sheet)
    asked = [name for name in sheet.names[1:] if name != person and _rated([r.get(name) for r in given], hints)]
    if not asked:
        raise InputError("no question is answered on a scale or with a side", path=sheet.path)
    parts = {name: re.fullmatch(r"(.*?)\s*\[(.*)\]", name) for name in asked}
    questions = {found[1] for found in parts.values() if found}
    rows: list[Row] = []
    for number, row in enumerate(given, 1):
        for name in asked:
            cell = row.get(name)
            if cell in (None, ""):
                continue
            found = parts[name]
            said = None if hints.opinions else preference(cell)
            one: Row = {
                "item": found[2] if found else name,
                "rater": str(row[person]) if person else f"row {number}",
                "score": cell if said is None else said,
            }
            rows.append(one | ({"rubric": found[1]} if found and len(questions) > 1 else {}))
    left = [name for name in sheet.names[1:] if name not in asked and name != person]
    notes = [f"{len(asked)} columns are questions" + (f"; not {', '.join(left)}" if left else "")]
    notes.append(f"raters are told by {person!r}" if person else "every row is a rater of its own")
    return Reading(sheet=Sheet(sheet.path, tell(rows, hints, sheet.path), sheet.notes), notes=tuple(notes))


def _rated(cells: list[Any], hints: Hints) -> bool:
    """Whether most of a column's answers are numbers or, of comparisons, sides."""
    given = [str(cell).strip() for cell in cells if cell not in (None, "")]
    number = re.compile(r"-?\d+(\.\d+)?")
    rated = [bool(number.fullmatch(c)) or (not hints.opinions and preference(c) is not None) for c in given]
    return sum(rated) > len(given) / 2


EXPORT = Export(name="google-forms", label="Google Forms", fits=_fits, read=_read)
