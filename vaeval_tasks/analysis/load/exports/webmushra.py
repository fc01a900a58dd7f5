"""webMUSHRA: ``mushra.csv``, ``lms.csv`` and ``lss.csv`` of a test. Source: audiolabs/webMUSHRA, service/write.php."""

from __future__ import annotations

from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, rows_of
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

_FORMS = {("rating_stimulus", "rating_score"): "0..100", ("stimuli", "stimuli_rating"): ""}
_TEST = "session_test_id"


def _fits(sheet: Sheet) -> bool:
    return "trial_id" in sheet.names and any(set(form) <= set(sheet.names) for form in _FORMS)


def _read(sheet: Sheet, hints: Hints) -> Reading:
    (config, score), scale = next((f, s) for f, s in _FORMS.items() if set(f) <= set(sheet.names))
    before = sheet.names[: sheet.names.index("trial_id")]  # the questions that the test asks of a participant
    who = ["session_uuid"] if "session_uuid" in before else [name for name in before if name != _TEST] or [_TEST]
    rows = [
        {
            "prompt": str(row["trial_id"]),
            "config": str(row[config]),
            "rater": " ".join(str(row[name]) for name in who),
            "score": str(row[score]).strip(),
        }
        for row in rows_of(sheet)
    ]
    told = (f"raters are told by {', '.join(who)}", "hidden reference and anchors are systems like the others")
    return Reading(sheet=Sheet(sheet.path, rows, sheet.notes), scale=scale, notes=told)


EXPORT = Export(name="webmushra", label="webMUSHRA", fits=_fits, read=_read, opinions=True)
