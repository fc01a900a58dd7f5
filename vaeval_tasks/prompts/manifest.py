"""The manifest of a prompt set: one row a script, with the recordings (takes) of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.rubrics import GATED
from vaeval_tasks.store.rows import field_list, read_rows
from vaeval_tasks.store.schema import Condition

__all__ = ["EXAMPLE", "FIELDS", "LEVELS", "SOUND_FILES", "Script", "read_manifest"]

FIELDS = ("script_id", "category", "difficulty", "condition", "gates", "script", "takes", "public")
LEVELS = ("L1", "L2", "L3", "L4", "L5")
SOUND_FILES = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif")

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
    """Read a manifest (CSV, TSV, JSONL, JSON or YAML).

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
    rows = read_rows(path, FIELDS, required=("script_id", "category"))
    scripts = [_script(row, path, number, folder, found) for number, row in enumerate(rows, 1)]
    seen: dict[str, int] = {}
    for number, script in enumerate(scripts, 1):
        first = seen.setdefault(script.script_id.lower(), number)  # file systems may not tell a from A
        if first != number:
            raise InputError(f"is the script id of row {first} already", path=path, row=number, field="script_id")
    if not scripts:
        raise InputError("holds no rows", path=path)
    return scripts


def _script(row: dict[str, Any], path: Path, number: int, folder: Path, found: Iterable[Path]) -> Script:
    where = f"{path}, row {number}"
    script_id = str(row["script_id"])
    if not _ID.fullmatch(script_id):
        raise InputError(
            f"{script_id!r} must be letters, digits, '.', '_' and '-'", path=path, row=number, field="script_id"
        )
    condition = _known("condition", row.get("condition") or Condition.clean.value, list(Condition), where)
    difficulty = str(row.get("difficulty") or "")
    if difficulty or condition == Condition.clean:
        _known("difficulty", difficulty, LEVELS, where)
    gates = field_list(row.get("gates"), path=path, row=number, field="gates")
    for gate in gates:
        _known("gated rubric", gate, GATED, where)
    takes = field_list(row.get("takes"), path=path, row=number, field="takes")
    named = re.compile(rf"{re.escape(script_id)}(?:[_-].*)?", re.IGNORECASE)
    return Script(
        script_id=script_id,
        category=str(row["category"]).strip(),
        difficulty=difficulty,
        condition=Condition(condition),
        gates=tuple(g for g in GATED if g in gates),
        script=str(row.get("script") or "").strip(),
        takes=tuple(folder / take for take in takes) or tuple(p for p in found if named.fullmatch(p.stem)),
        public=_flag(row.get("public"), path, number),
    )


def _known(kind: str, name: str, known: Iterable[str], where: str) -> str:
    names = [str(k) for k in known]
    if name not in names:
        raise UnknownNameError(kind, name, names, where=where)
    return name


def _flag(value: Any, path: Path, number: int) -> bool:
    if isinstance(value, bool) or value is None:
        return bool(value)
    text = str(value).strip().lower()
    if text not in ("", "true", "false", "yes", "no", "1", "0"):
        raise InputError(f"expected true or false, got {value!r}", path=path, row=number, field="public")
    return text in ("true", "yes", "1")
