"""VoiceMOS Challenge (BVCC): TRAINSET, DEVSET and TESTSET, ``sysID,uttID,rating,ignore,listenerinfo`` without a header.

Source: the README of the challenge's data. The listener is ``{}_AGERANGE_LISTENERID_GENDER_…``. Lists of one rating a
row with a header (``wav``, ``worker``, ``mos``, ``system``) are read too; ``*_mos_list.txt`` are means, not ratings.
"""

from __future__ import annotations

import re

from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading, Row, rows_of
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORT"]

_WAV, _WORKER, _SYSTEM = ("wav", "wavname", "wav_name"), ("worker", "listener", "listener_id", "judge"), "system"


def _headless(sheet: Sheet) -> bool:
    names = sheet.names
    rating = re.fullmatch(r"\d+(\.\d+)?", names[2]) if len(names) == 5 else None
    return rating is not None and names[4].count("_") >= 3 and names[1].startswith(names[0].split("-")[0])


def _fits(sheet: Sheet) -> bool:
    names = set(sheet.names)
    return _headless(sheet) or ("mos" in names and bool(names & set(_WAV)) and bool(names & set(_WORKER)))


def _read(sheet: Sheet, hints: Hints) -> Reading:
    if _headless(sheet):
        listed = [list(sheet.names), *(list(row.values()) for row in rows_of(sheet))]
        rows = [_row(str(s), str(u), str(who).split("_")[2], score) for s, u, score, _, who in listed]
        told = "there is no header; the listener is the third part of the fifth column"
    else:
        wav, worker = (next(n for n in some if n in sheet.names) for some in (_WAV, _WORKER))
        has = _SYSTEM in sheet.names
        rows = [
            _row(str(row[_SYSTEM]) if has else str(row[wav]).split("-")[0], str(row[wav]), str(row[worker]), row["mos"])
            for row in rows_of(sheet)
        ]
        told = "a wav is its system's and its utterance's" if has else "the system is what stands before the first -"
    return Reading(sheet=Sheet(sheet.path, rows, sheet.notes), notes=(told,))


def _row(system: str, wav: str, rater: str, score: object) -> Row:
    utterance = re.sub(rf"^{re.escape(system)}[-_/]", "", wav)
    return {"prompt": utterance, "config": system, "rater": rater, "score": score}


EXPORT = Export(name="voicemos", label="VoiceMOS", fits=_fits, read=_read, opinions=True)
