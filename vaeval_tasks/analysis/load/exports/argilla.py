"""Argilla: records as ``to_json`` and ``to_list`` write them, nested or flat.

Source: argilla-io/argilla, argilla/records/_io/_generic.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vaeval_tasks.analysis.load.column_names import likely_column
from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, Row, tell
from vaeval_tasks.analysis.load.exports.preference_words import preference
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

_FLAT = ".responses"
_USED = ("submitted", "", "none")


def _fits(sheet: Sheet) -> bool:
    names = set(sheet.names)
    flat = any(f"{name}.users" in names for name in names if name.endswith(_FLAT))
    return flat or {"fields", "responses"} <= names


def _read(sheet: Sheet, hints: Hints) -> Reading:
    listed = sheet.table if isinstance(sheet.table, list) else sheet.table.to_pylist()
    rows: list[Row] = []
    discarded = 0
    for number, record in enumerate(listed, 1):
        answers = list(_answers(record))
        data = {**record, **(record.get("fields") or {}), **(record.get("metadata") or {})}
        known = {name: value for name, value in data.items() if isinstance(value, str | int)}
        parts = {
            ours: known[likely]
            for ours in (("config",) if hints.opinions else ("a", "b"))
            if (likely := likely_column(ours, list(known)))
        }
        item = str(record.get("id") or record.get("_server_id") or number)
        for question, value, user, status in answers:
            if str(status or "").lower() not in _USED:
                discarded += 1
                continue
            said = None if hints.opinions else preference(value)
            several = len({name for name, *_ in answers}) > 1
            rubric = question if several else "overall"
            rows.append(
                {"item": item, "rater": user, "rubric": rubric, "score": value if said is None else said} | parts
            )
    if not rows:
        raise InputError("no record has a submitted response", path=sheet.path)
    told = (f"{discarded} responses that are not submitted are left out",) if discarded else ()
    return Reading(sheet=Sheet(sheet.path, tell(rows, hints, sheet.path), sheet.notes), notes=told)


def _answers(record: Row) -> Iterator[tuple[str, Any, str, Any]]:
    """Yield question, value, user and status of every response."""
    nested = record.get("responses")
    for question, given in nested.items() if isinstance(nested, dict) else ():
        for one in given or []:
            yield question, one.get("value"), str(one.get("user_id")), one.get("status")
    for name, values in record.items():
        if name.endswith(_FLAT) and isinstance(values, list):
            users, states = record.get(f"{name}.users") or [], record.get(f"{name}.status") or []
            for at, value in enumerate(values):
                user = users[at] if at < len(users) else "all"
                yield name.removesuffix(_FLAT), value, str(user), states[at] if at < len(states) else None


EXPORT = Export(name="argilla", label="Argilla", fits=_fits, read=_read)
