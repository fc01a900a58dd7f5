"""Potato: csv, tsv, parquet (``instance_id, user_id, SCHEMA.LABEL …``) and jsonl (``labels``).

Source: davidjurgens/potato, potato/export/tabular_exporter.py and docs on pairwise annotation: ``selection`` is A, B or
tie; ``scale_value`` is negative where the left item is preferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, Row, rows_of, tell
from vaeval_tasks.analysis.load.exports.preference_words import preference
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

_OWN = ("instance_id", "user_id", "annotator_origin", "annotator_origin_detail")


def _fits(sheet: Sheet) -> bool:
    return {"instance_id", "user_id"} <= set(sheet.names)


def _read(sheet: Sheet, hints: Hints) -> Reading:
    rows = []
    slider = False
    for row in rows_of(sheet):
        answers = list(_answers(row))
        for schema, label, value in answers:
            score, slid = _score(label, value, hints)
            slider = slider or slid
            item = str(row["instance_id"])
            rubric = schema if len({schema for schema, _, _ in answers}) > 1 else "overall"
            rows.append({"item": item, "rater": str(row["user_id"]), "rubric": rubric, "score": score})
    scale = "" if slider or hints.opinions else "-1..1"
    told = "a slider's negative values prefer a, the left one" if slider else "selection A is a, B is b"
    return Reading(
        sheet=Sheet(sheet.path, tell(rows, hints, sheet.path), sheet.notes),
        scale=scale,
        notes=() if hints.opinions else (told,),
    )


def _answers(row: Row) -> Iterator[tuple[str, str, Any]]:
    """Yield schema, label and value of every answer of a row."""
    labels = row.get("labels")
    if isinstance(labels, dict):
        for schema, given in labels.items():
            for label, value in given.items() if isinstance(given, dict) else [("", given)]:
                yield schema, label, value
        return
    for name, value in row.items():
        if name not in _OWN and value not in (None, "") and not name.endswith(("._spans", "._room", "._room_id")):
            schema, _, label = name.partition(".")
            yield schema, label, value


def _score(label: str, value: Any, hints: Hints) -> tuple[Any, bool]:
    if hints.opinions:
        return (label if str(value).lower() == "true" else value), False
    if label == "scale_value":
        try:
            return -float(value), True
        except ValueError:
            return value, True
    said = preference(value)
    return (value if said is None else (said > 0) - (said < 0)), False


EXPORT = Export(name="potato", label="Potato", fits=_fits, read=_read)
