"""The manifest of a prompt set: one row a script, with the recordings (takes) of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.audio import SOUND_FILES
from vaeval_tasks.errors import InputError
from vaeval_tasks.rubrics import GATED
from vaeval_tasks.store.schema import Condition
from vaeval_tasks.store.sheets import SheetRow, read_sheet

__all__ = ["EXAMPLE", "FIELDS", "LEVELS", "Script", "read_manifest"]

FIELDS = ("script_id", "category", "difficulty", "condition", "gates", "script", "takes", "public")
LEVELS = ("L1", "L2", "L3", "L4", "L5")

EXAMPLE = Path(__file__).resolve().parent / "data" / "example.yaml"
"""Our own example set: eleven consumer categories x five levels, and degraded prompts. To be edited, not cited."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One row of a manifest."""

    script_id: str
    """Becomes the ``prompt_id`` and the name of the file."""
    category: str
    difficulty: str
    """``L1`` to ``L5``; may be empty for a degraded prompt."""
    condition: Condition
    gates: tuple[str, ...]
    script: str
    """The words to be said; empty switches the comparison with the transcript off."""
    takes: tuple[Path, ...]
    public: bool


def read_manifest(path: str | Path, recordings: str | Path | None = None) -> list[Script]:
    """Read a manifest, in any form that :mod:`vaeval_tasks.store.sheets` reads.

    Args:
        path: the manifest.
        recordings: the folder that takes are relative to; by default the manifest's. A row without takes gets
            the sound files there that are named ``SCRIPT_ID.*``, ``SCRIPT_ID_*`` or ``SCRIPT_ID-*``.

    Raises:
        InputError: a field is missing or malformed, or a script id is there twice.
        UnknownNameError: a condition, level or gated rubric is not known.
    """
    path = Path(path)
    folder = Path(recordings) if recordings is not None else path.parent
    if not folder.is_dir():
        raise InputError("no such folder of recordings", path=folder)
    found = sorted(p for p in folder.iterdir() if p.suffix.lower() in SOUND_FILES)
    rows = read_sheet(path).records(FIELDS, required=("script_id", "category"))
    scripts = [_script(row, folder, found) for row in rows]
    seen: dict[str, int] = {}
    for row, script in zip(rows, scripts, strict=True):
        first = seen.setdefault(script.script_id.lower(), row.number)  # file systems may not tell a from A
        if first != row.number:
            raise row.error(f"is the script id of row {first} already", "script_id")
    return scripts


def _script(row: SheetRow, folder: Path, found: Iterable[Path]) -> Script:
    script_id = row.text("script_id")
    if not _ID.fullmatch(script_id):
        raise row.error(f"{script_id!r} must be letters, digits, '.', '_' and '-'", "script_id")
    condition = Condition(row.one_of("condition", "condition", Condition, Condition.clean))
    difficulty = row.text("difficulty")
    if difficulty or condition is Condition.clean:
        row.one_of("difficulty", "difficulty", LEVELS)
    gates = row.texts_of("gates", "gated rubric", GATED)
    takes = row.texts("takes")
    named = re.compile(rf"{re.escape(script_id)}(?:[_-].*)?", re.IGNORECASE)
    return Script(
        script_id=script_id,
        category=row.text("category"),
        difficulty=difficulty,
        condition=condition,
        gates=tuple(g for g in GATED if g in gates),
        script=row.text("script"),
        takes=tuple(folder / take for take in takes) or tuple(p for p in found if named.fullmatch(p.stem)),
        public=row.flag("public"),
    )
