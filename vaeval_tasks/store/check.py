"""Check a run folder: fields, logs, references between tables, audio files, and what has gone stale."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vaeval_tasks.errors import VaevalError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.store.log import damaged_lines
from vaeval_tasks.store.run import RECORDS, RunDir

__all__ = ["check"]

CONFIGS = "configurations"
"""What ``configs.yaml`` and the responses name, beside the tables."""

# table -> its column -> where the value must be known
REFERENCES: dict[str, dict[str, tuple[str, ...]]] = {
    "responses": {"prompt_id": ("prompts", "items")},
    "scores": {"response_id": ("responses",)},
    "pairs": {"prompt_id": ("prompts",)},
    "assignments": {"pair_id": ("pairs",), "rater_id": ("raters",)},
    "ratings": {"prompt_id": ("prompts",), "rater_id": ("raters",), "a": (CONFIGS,), "b": (CONFIGS,)},
    "mos": {"prompt_id": ("prompts",), "rater_id": ("raters",), "config_id": (CONFIGS,)},
    "comments": {
        "prompt_id": ("prompts",),
        "rater_id": ("raters",),
        "config_id": (CONFIGS,),
        "other_config_id": (CONFIGS,),
    },
    "judge_ratings": {"prompt_id": ("prompts",), "rater_id": ("judges",), "a": (CONFIGS,), "b": (CONFIGS,)},
    "events": {"assignment_id": ("assignments",)},
    "quality": {"rater_id": ("raters",), "assignment_id": ("assignments",)},
}
KEYS = {
    "prompts": "prompt_id",
    "items": "item_id",
    "responses": "response_id",
    "pairs": "pair_id",
    "raters": "rater_id",
    "judges": "rater_id",
    "assignments": "assignment_id",
}
UNIQUE = frozenset(KEYS) - {"items"}  # two tasks may have a document of one name


def check(run: RunDir, *, logs: Mapping[Path, type | None] | None = None, configs: Collection[str] = ()) -> list[str]:
    """Return one sentence for every problem of the run; an empty list if all is well.

    A reference is checked only where the table it points to is part of the run, be it empty.

    Args:
        run: the run folder.
        logs: its logs, and what their lines are; by default those of :meth:`RunDir.logs`.
        configs: the configurations that ``configs.yaml`` names.
    """
    problems: list[str] = []
    for path, record in (run.logs() if logs is None else logs).items():
        problems.extend(
            f"{path}: line {damage.number} is damaged ({damage.why}); move it aside with: vaeval check {run.root} "
            "--repair"
            for damage in damaged_lines(path, record)
        )
    found: dict[str, list[Any]] = {}
    for table in RECORDS:
        try:
            if rows := _rows(run, table):
                found[table] = rows
            elif run.has(table):
                found[table] = []
        except VaevalError as error:
            if " is damaged (" not in str(error):  # else it was told above
                problems.append(str(error))
    known = {table: {getattr(row, KEYS[table]) for row in rows} for table, rows in found.items() if table in KEYS}
    known[CONFIGS] = {*configs, *(response.config_id for response in found.get("responses", ()))}
    if not known[CONFIGS] and "responses" not in found:
        del known[CONFIGS]
    for table, rows in found.items():
        problems.extend(_duplicates(table, rows))
        problems.extend(_references(table, rows, known))
    for table in ("ratings", "judge_ratings"):
        if "pairs" in found:
            problems.extend(_undesigned(table, found.get(table, ()), found["pairs"]))
    for table in ("prompts", "responses"):
        problems.extend(_audio(run.root, table, found.get(table, ())))
    try:
        problems.extend(run.stale())
    except VaevalError as error:
        if " is damaged (" not in str(error):
            problems.append(str(error))
    return problems


def _rows(run: RunDir, table: str) -> list[Any]:
    if table == "responses":
        return run.responses()
    if table == "items":
        return run.items()
    if table == "scores":
        return run.scores()
    return run.read(table) if run.has(table) else []


def _duplicates(table: str, rows: list[Any]) -> Iterator[str]:
    if table in UNIQUE:
        seen: set[str] = set()
        for row in rows:
            key = getattr(row, KEYS[table])
            if key in seen:
                yield f"{table}: {KEYS[table]} {key!r} occurs twice"
            seen.add(key)


def _references(table: str, rows: list[Any], known: Mapping[str, set[str]]) -> Iterator[str]:
    for column, targets in REFERENCES.get(table, {}).items():
        present = [t for t in targets if t in known]
        if not present:
            continue
        named = {getattr(row, column) for row in rows} - {""}
        if column == "pair_id":
            named = {name for name in named if not name.startswith("mos:")}  # a MOS task is one response, no pair
        unknown = sorted(named - set().union(*(known[target] for target in present)))
        if unknown:
            yield f"{table}: {len(unknown)} values of {column} are not in {' or '.join(present)} ({_shown(unknown)})"


def _undesigned(table: str, rows: Iterable[Any], pairs: list[Any]) -> Iterator[str]:
    """Ratings of what no pair of the design compares."""
    designed = {(pair.prompt_id, pair.a, pair.b) for pair in pairs}
    unknown = sorted({(row.prompt_id, row.a, row.b) for row in rows} - designed)
    if unknown:
        shown = _shown([f"{prompt}: {a} and {b}" for prompt, a, b in unknown])
        yield f"{table}: {len(unknown)} comparisons are not in pairs ({shown})"


def _shown(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")


def _audio(root: Path, table: str, rows: Iterable[Any]) -> Iterator[str]:
    for row in rows:
        if not row.path:
            continue
        file = root / row.path
        if not file.is_file():
            yield f"{table}: the audio {row.path} is missing"
        elif row.sha256 and sha256_file(file) != row.sha256:
            yield f"{table}: the audio {row.path} is not the file that was recorded (its hash differs)"
