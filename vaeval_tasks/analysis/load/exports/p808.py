"""Microsoft's P.808 toolkit: results of a batch of ACR, DCR, CCR (P.835, P.804), a row a session, or its votes.

Source: microsoft/P.808, P808Template/CCR_template.html (``Answer.Q1_URL`` is the processed clip's; the sign of
``Answer.q1`` is turned on the page, so that a positive one prefers the processed clip whichever came first;
``Answer.Q1_order`` is rp or pr) and result_parser.py (traps and gold clips, condition patterns, votes per worker).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, Row, rows_of, tell, told_parts
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

REFERENCE = "reference"
"""What the clip that a processed one is compared with is called."""
_QUESTION = re.compile(r"answer\.q(\d+)(?:_(sig|bak|ovrl|noise|col|loud|disc|reverb|echo|other|enrol))?")
_CONTROL = re.compile(r"input\.(tp\w*|trapping\w*|gold\w*)")


def _fits(sheet: Sheet) -> bool:
    names = {name.lower() for name in sheet.names}
    session = "workerid" in names and any(_QUESTION.fullmatch(name) for name in names)
    return session or {"workerid", "vote", "question_type"} <= names


def _read(sheet: Sheet, hints: Hints) -> Reading:
    given = [{name.lower().replace("_slide", ""): cell for name, cell in row.items()} for row in rows_of(sheet)]
    used = [row for row in given if str(row.get("assignmentstatus") or "").lower() != "rejected"]
    rows = [vote for row in used for vote in (_of_worker(row) if "vote" in row else _of_session(row, sheet))]
    if not hints.opinions:
        rows = [_compared(vote, hints) for vote in rows]
    told = [f"{len(given) - len(used)} rejected assignments are left out"] if len(used) < len(given) else []
    if any(_CONTROL.fullmatch(name) for row in given[:1] for name in row):
        told.append("traps and gold clips are left out")
    if not hints.opinions:
        told.append(f"every clip is compared with its {REFERENCE}; a positive score prefers the clip")
    return Reading(sheet=Sheet(sheet.path, tell(rows, hints, sheet.path), sheet.notes), notes=tuple(told))


def _of_worker(row: Row) -> Iterator[Row]:
    clip = str(row.get("file") or row.get("short_file_name"))
    yield {"item": clip, "rater": str(row["workerid"]), "score": row["vote"]}


def _of_session(row: Row, sheet: Sheet) -> Iterator[Row]:
    controls = {str(cell) for name, cell in row.items() if _CONTROL.fullmatch(name) and cell not in (None, "")}
    for name, cell in row.items():
        found = _QUESTION.fullmatch(name)
        if found is None or cell in (None, ""):
            continue
        url = row.get(f"answer.q{found[1]}_url") or row.get("file_url") or row.get("input.file_url")
        if not url:
            said = f"there is no column Answer.Q{found[1]}_URL, which says what was heard"
            raise InputError(said, path=sheet.path, field=name)
        if str(url) in controls:
            continue
        out: Row = {"item": str(url), "rater": str(row["workerid"]), "score": cell}
        if found[2]:
            out["rubric"] = found[2]
        if order := row.get(f"answer.q{found[1]}_order"):
            out["left_is_a"] = order == "pr"
        yield out


def _compared(vote: Row, hints: Hints) -> Row:
    """Return a vote as a comparison of the clip's system with the reference."""
    parts = told_parts(vote["item"], Hints(opinions=True, pattern=hints.pattern, key=hints.key))
    named = {"a": parts["config"]} if "config" in parts else {}
    return {**vote, **named, "prompt": parts.get("prompt"), "b": REFERENCE}


EXPORT = Export(name="p808", label="P.808", fits=_fits, read=_read)
