"""Whose the tables of a run are: an export replaces what the same collection gave, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.run import RunDir

__all__ = ["EXPORTED", "MADE_BY", "require_collected", "require_same_collection"]

MADE_BY = "vaeval export"
"""What ``run.json`` says of a table that came from the app."""

EXPORTED = ("ratings", "mos", "comments", "raters", "assignments", "events", "quality")


def require_collected(run: RunDir) -> None:
    """Refuse a run whose ratings did not come from the app.

    Raises:
        InputError: they were simulated, imported, or nobody knows.
    """
    known = run.manifest()["tables"]
    for name in EXPORTED:
        made_by = known.get(name, {}).get("made_by", "something that run.json does not name")
        if run.has(name) and made_by != MADE_BY:
            raise InputError(
                f"the run's {name} were made by {made_by}, not collected by the rating app; people are asked in a "
                "run folder of their own",
                path=run.root,
            )


def require_same_collection(run: RunDir, tables: Mapping[str, Sequence[Any]]) -> None:
    """Refuse to replace the tables of a run by those of another collection, or by an older state of the same.

    Pseudonyms are keyed by the collection, and no task that was given out ever goes: so who has a task in the run's
    tables has one in the new ones, and there are as many tasks at least.

    Args:
        run: the run folder.
        tables: the rows that would be written.

    Raises:
        InputError: nothing was collected, or the tables there are not of this collection.
    """
    if not tables["assignments"]:
        raise InputError("nothing was collected yet: no task was given out", path=run.root)
    designed = {pair.pair_id for pair in run.read("pairs")}
    rated = {task.pair_id for task in tables["assignments"] if not task.pair_id.startswith("mos:")}
    if other := sorted(rated - designed):
        raise InputError(
            f"{len(other)} of the rated pairs are not of this run's design (first {other[0]!r}); the database is of "
            "another run: name the right one with --db",
            path=run.path("pairs"),
        )
    before = {rater.rater_id for rater in run.read("raters")} if run.has("raters") else set()
    tasks = len(run.read("assignments")) if run.has("assignments") else 0
    if gone := before - {rater.rater_id for rater in tables["raters"]}:
        raise InputError(
            f"{len(gone)} of its {len(before)} raters are not of this collection; it is not replaced: name the right "
            f"database with --db, or move the exported tables away first ({', '.join(EXPORTED)})",
            path=run.path("raters"),
        )
    if tasks > len(tables["assignments"]):
        raise InputError(
            f"holds {tasks} tasks, the collection only {len(tables['assignments'])}: this is an older copy of the "
            "database; it is not replaced. Name the right database with --db",
            path=run.path("assignments"),
        )
