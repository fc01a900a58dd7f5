"""Check a run folder: fields, references between tables, audio files, and what has gone stale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vaeval_tasks.errors import VaevalError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.store.run import RECORDS, RunDir

__all__ = ["check"]

# table -> its column -> the tables that must know the value
REFERENCES: dict[str, dict[str, tuple[str, ...]]] = {
    "responses": {"prompt_id": ("prompts", "items")},
    "scores": {"response_id": ("responses",)},
    "pairs": {"prompt_id": ("prompts",)},
    "assignments": {"pair_id": ("pairs",), "rater_id": ("raters",)},
    "ratings": {"prompt_id": ("prompts",), "rater_id": ("raters",)},
    "mos": {"prompt_id": ("prompts",), "rater_id": ("raters",)},
    "comments": {"prompt_id": ("prompts",), "rater_id": ("raters",)},
    "judge_ratings": {"prompt_id": ("prompts",), "rater_id": ("judges",)},
}
KEYS = {
    "prompts": "prompt_id",
    "items": "item_id",
    "responses": "response_id",
    "pairs": "pair_id",
    "raters": "rater_id",
    "judges": "rater_id",
}


def check(run: RunDir) -> list[str]:
    """Return one sentence for every problem of the run; an empty list if all is well.

    A reference is checked only where the table it points to is part of the run.
    """
    problems: list[str] = []
    found: dict[str, list[Any]] = {}
    for table in RECORDS:
        try:
            if table == "responses":
                found[table] = run.responses()
            elif table == "scores":
                found[table] = run.scores()
            elif run.has(table):
                found[table] = run.read(table)
        except VaevalError as error:
            problems.append(str(error))
    for table, rows in found.items():
        problems.extend(_duplicates(table, rows))
        problems.extend(_references(table, rows, found))
    for table in ("prompts", "responses"):
        problems.extend(_audio(run.root, table, found.get(table, ())))
    return problems + run.stale()


def _duplicates(table: str, rows: list[Any]) -> Iterator[str]:
    if table in KEYS:
        seen: set[str] = set()
        for row in rows:
            key = getattr(row, KEYS[table])
            if key in seen:
                yield f"{table}: {KEYS[table]} {key!r} occurs twice"
            seen.add(key)


def _references(table: str, rows: list[Any], found: dict[str, list[Any]]) -> Iterator[str]:
    for column, targets in REFERENCES.get(table, {}).items():
        present = [t for t in targets if found.get(t)]
        if not present:
            continue
        known = {getattr(row, KEYS[target]) for target in present for row in found[target]}
        named = {getattr(row, column) for row in rows}
        if column == "pair_id":
            named = {name for name in named if not name.startswith("mos:")}  # a MOS task is one response, no pair
        unknown = sorted(named - known)
        if unknown:
            shown = ", ".join(unknown[:3]) + (" …" if len(unknown) > 3 else "")
            yield f"{table}: {len(unknown)} values of {column} are not in {' or '.join(present)} ({shown})"


def _audio(root: Path, table: str, rows: Iterable[Any]) -> Iterator[str]:
    for row in rows:
        if not row.path:
            continue
        file = root / row.path
        if not file.is_file():
            yield f"{table}: the audio {row.path} is missing"
        elif row.sha256 and sha256_file(file) != row.sha256:
            yield f"{table}: the audio {row.path} is not the file that was recorded (its hash differs)"
