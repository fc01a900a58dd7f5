"""LMArena: battles of its public data sets (lmsys/chatbot_arena_conversations, lmarena-ai/arena-human-preference-*)."""

from __future__ import annotations

from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, Row, rows_of
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

_WINNERS = ("winner_model_a", "winner_model_b", "winner_tie")
_WORDS = {"model_a": "1", "model_b": "-1", "tie": "0", "tie (bothbad)": "0", "both_bad": "0", "bothbad": "0"}
_PROMPTS = ("question_id", "evaluation_session_id", "conversation_id", "id")
_RATERS = ("judge", "judge_hash", "user_id", "session_id")
_READ = "winner is a's or b's; a tie and 'both bad' are 0"


def _fits(sheet: Sheet) -> bool:
    names = set(sheet.names)
    return {"model_a", "model_b"} <= names and ("winner" in names or set(_WINNERS) <= names)


def _read(sheet: Sheet, hints: Hints) -> Reading:
    columns = {"a": "model_a", "b": "model_b", "score": "winner"}
    for ours, theirs in (("prompt", _PROMPTS), ("rater", _RATERS)):
        if found := [name for name in theirs if name in sheet.names]:
            columns[ours] = found[0]
    if "winner" not in sheet.names:  # the form of the Kaggle competition
        sheet = Sheet(sheet.path, [row | {"winner": _winner(row)} for row in rows_of(sheet)], sheet.notes)
    return Reading(sheet=sheet, columns=columns, words=_WORDS, scale="-1..1", notes=(_READ,))


def _winner(row: Row) -> str:
    marks = [str(row[name]) in ("1", "1.0", "True", "true") for name in _WINNERS]
    return ("model_a", "model_b", "tie")[marks.index(True)] if sum(marks) == 1 else ""


EXPORT = Export(name="lmarena", label="LMArena battles", fits=_fits, read=_read, opinions=False)
