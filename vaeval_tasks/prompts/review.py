"""A human reviewer's verdicts on takes; they override what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from vaeval_tasks.prompts.manifest import Script
from vaeval_tasks.store.sheets import read_sheet

__all__ = ["Review", "TakeVerdict", "read_reviews", "take_name"]

FIELDS = ("script_id", "take", "verdict", "reviewer", "note")


class TakeVerdict(StrEnum):
    """What a reviewer decided about a take."""

    accept = "accept"
    """Usable, whatever was measured."""
    reject = "reject"
    choose = "choose"
    """Usable, and the one to take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One verdict."""

    verdict: TakeVerdict
    reviewer: str = ""
    note: str = ""


def take_name(path: Path, folder: Path) -> str:
    """Return how a take is named in reports and verdicts: relative to the recordings where it lies below them."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def read_reviews(path: str | Path, scripts: list[Script], folder: Path) -> dict[tuple[str, str], Review]:
    """Read verdicts (script_id, take, verdict, reviewer, note), by (script_id, take).

    Raises:
        InputError: a row is malformed, decided twice, or chooses a second take of a script.
        UnknownNameError: a row names a script, take or verdict that there is not.
    """
    takes = {s.script_id: [take_name(t, folder) for t in s.takes] for s in scripts}
    out: dict[tuple[str, str], Review] = {}
    for row in read_sheet(path).records(FIELDS, required=FIELDS[:3]):
        script_id = row.one_of("script_id", "script", takes)
        take = row.one_of("take", "take", takes[script_id])
        verdict = TakeVerdict(row.one_of("verdict", "verdict", TakeVerdict))
        if (script_id, take) in out:
            raise row.error(f"{take!r} has a verdict already", "take")
        if verdict is TakeVerdict.choose and any(s == script_id and r.verdict is verdict for (s, _), r in out.items()):
            raise row.error(f"{script_id!r} has a chosen take already", "verdict")
        out[script_id, take] = Review(verdict=verdict, reviewer=row.text("reviewer"), note=row.text("note"))
    return out
