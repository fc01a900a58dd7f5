"""Label Studio: the JSON export (tasks with annotations), and JSON_MIN and CSV (a row an annotation).

Source: HumanSignal/label-studio-sdk, converter/exports/csv2.py, and the guide's "task format".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vaeval_tasks.analysis.load.column_names import likely_column
from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, Row, rows_of, tell
from vaeval_tasks.analysis.load.exports.preference_words import preference
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

_KEPT = {"annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history", "id"}
_VALUES = ("selected", "rating", "number", "choices", "text")
_MARKS = {"left", "right"}


def _fits(sheet: Sheet) -> bool:
    names = set(sheet.names)
    return {"data", "annotations"} <= names or {"annotation_id", "lead_time"} <= names


def _read(sheet: Sheet, hints: Hints) -> Reading:
    nested = {"data", "annotations"} <= set(sheet.names)
    found = list(_of_tasks(sheet.table) if nested and isinstance(sheet.table, list) else _of_annotations(sheet))
    rows = []
    for data, answer in found:
        names = [name for name in data if isinstance(data[name], str | int)]
        row: Row = {"prompt": answer["task"], **answer, "item": answer["task"]}
        for ours in ("config",) if hints.opinions else ("a", "b"):
            if likely := likely_column(ours, names):
                row[ours] = data[likely]
        score = row["score"]
        if not hints.opinions:
            said = preference(score)
            row["score"] = score if said is None else (said > 0) - (said < 0) if score in _MARKS else said
        rows.append(row)
    marks = {str(answer["score"]) for _, answer in found} <= _MARKS
    scale = "-1..1" if marks and not hints.opinions else ""
    told = ("a cancelled annotation is left out; left is a, right is b",)
    return Reading(sheet=Sheet(sheet.path, tell(rows, hints, sheet.path), sheet.notes), scale=scale, notes=told)


def _of_tasks(tasks: list[dict[str, Any]]) -> Iterator[tuple[Row, Row]]:
    for task in tasks:
        for annotation in task.get("annotations") or []:
            if annotation.get("was_cancelled"):
                continue
            by = annotation.get("completed_by")
            rater = (by.get("email") or by.get("id")) if isinstance(by, dict) else by
            for result in annotation.get("result") or []:
                score = _value(result.get("value"))
                if score is not None:
                    yield (
                        task.get("data") or {},
                        {
                            "task": str(task.get("id")),
                            "rater": str(rater),
                            "rubric": _rubric(result.get("from_name"), task, annotation),
                            "score": score,
                        },
                    )


def _rubric(name: Any, task: Row, annotation: Row) -> str:
    """Return the control's name where there are several; with one, the question is the overall one."""
    controls = {r.get("from_name") for r in annotation.get("result") or [] if _value(r.get("value")) is not None}
    return str(name) if len(controls) > 1 else "overall"


def _of_annotations(sheet: Sheet) -> Iterator[tuple[Row, Row]]:
    rows = rows_of(sheet)
    controls = [name for name in sheet.names if name not in _KEPT and any(_is_answer(row.get(name)) for row in rows)]
    for number, row in enumerate(rows, 1):
        for name in controls:
            score = _value(row.get(name))
            if score is not None:
                task = str(row.get("id") or number)
                rubric = name if len(controls) > 1 else "overall"
                data = {k: v for k, v in row.items() if k not in _KEPT and k not in controls}
                yield data, {"task": task, "rater": str(row.get("annotator")), "rubric": rubric, "score": score}


def _is_answer(cell: Any) -> bool:
    """Whether a cell is what a control wrote: a side, or a result that is not one bare text."""
    value = _parsed(cell)
    return value in _MARKS if isinstance(value, str) else isinstance(value, list | dict) and _value(value) is not None


def _parsed(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(("[", "{")):
        try:
            return json.loads(cell)
        except ValueError:
            return cell
    return cell


def _value(cell: Any) -> Any:
    """Return the one answer of a result; None where it holds none that is a score."""
    value = _parsed(cell)
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else None
    if isinstance(value, dict):
        value = next((value[name] for name in _VALUES if name in value), None)
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return value if isinstance(value, str | int | float) else None


EXPORT = Export(name="label-studio", label="Label Studio", fits=_fits, read=_read)
