"""jsPsych: the data of a slider or button plugin, a row a trial (csv or json).

Source: jsPsych's documentation of html-, audio- and video-slider-response: ``response``, ``stimulus``, ``trial_type``,
``trial_index``; a slider runs from 0 to 100 where the trial says nothing else.
"""

from __future__ import annotations

from vaeval_tasks.analysis.load.column_names import likely_column
from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, Row, rows_of, tell
from vaeval_tasks.analysis.load.exports.preference_words import preference
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

_RATERS = (
    "subject_id",
    "subject",
    "participant_id",
    "participant",
    "PROLIFIC_PID",
    "prolific_pid",
    "worker_id",
    "run_id",
)


def _fits(sheet: Sheet) -> bool:
    return {"trial_type", "trial_index", "response"} <= set(sheet.names)


def _read(sheet: Sheet, hints: Hints) -> Reading:
    rater = next((name for name in _RATERS if name in sheet.names), None)
    needed = ("config",) if hints.opinions else ("a", "b")
    own = {ours: likely_column(ours, [n for n in sheet.names if n != "stimulus"]) for ours in ("prompt", *needed)}
    own["prompt"] = own["prompt"] if own["prompt"] not in ("trial_index", "trial_type") else None
    given = rows_of(sheet)
    sliders = [row for row in given if "slider" in str(row.get("trial_type"))]
    rated = sliders or [row for row in given if "response" in str(row.get("trial_type"))]
    rows: list[Row] = []
    for row in rated:
        if str(row.get("response") or "").strip().lower() in ("", "null", "none"):
            continue
        said = None if sliders or hints.opinions else preference(row["response"])
        out: Row = {
            "item": str(row.get("stimulus") or ""),
            "rater": str(row[rater]) if rater else "all",
            "score": row["response"] if said is None else said,
        }
        rows.append(out | {ours: row[name] for ours, name in own.items() if name and row.get(name) not in (None, "")})
    notes = [f"{len(rows)} of {len(given)} trials are ratings"]
    if sliders and not hints.opinions:
        notes.append("the slider runs from 0, a (the left or first one) preferred, to 100")
    scale = ("0..100" if hints.opinions else "100..0") if sliders else ""
    return Reading(sheet=Sheet(sheet.path, tell(rows, hints, sheet.path), sheet.notes), scale=scale, notes=tuple(notes))


EXPORT = Export(name="jspsych", label="jsPsych", fits=_fits, read=_read)
