"""The items of a data set that cannot be asked, such as one whose clip is broken: left out, named and counted."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from vaeval_tasks.asking.ledger import Ledger
from vaeval_tasks.asking.ranks import rank
from vaeval_tasks.errors import InputError

__all__ = ["LeftOut", "left_out", "note_data", "remember"]

SHOWN = 5
"""How many are named in the log; all are in ``results.json``."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One item that cannot be asked."""

    item_id: str
    column: str
    reason: str

    @classmethod
    def of(cls, item_id: str, error: InputError) -> LeftOut:
        """Return the record of what is wrong with an item."""
        return cls(item_id=item_id, column=error.field or "", reason=error.reason)

    def __str__(self) -> str:
        """The item, the column and the reason."""
        return f"{self.item_id!r} ({self.column}): {self.reason}"


_found: dict[tuple[str, str], tuple[LeftOut, ...]] = {}
"""By task and revision of its data: the harness carries documents only, and these have none."""


def remember(task: str, revision: str, items: Sequence[LeftOut]) -> None:
    """Keep what was left out when the data were loaded, and say so."""
    _found[task, revision] = tuple(items)
    if rank():
        return  # the first process says it
    for item in items[:SHOWN]:
        log.warning("%s: item left out: %s", task, item)
    if len(items) > SHOWN:
        log.warning("%s: %d more items left out; see results.json", task, len(items) - SHOWN)


def left_out(task: str, revision: str) -> tuple[LeftOut, ...]:
    """Return the items that were left out of a task's data in this process."""
    return _found.get((task, revision), ())


def note_data(ledger: Ledger, task: str, revision: str) -> None:
    """Note in a run folder which data a task had, and what was left out of them."""
    ledger.note("data", task, revision)
    rows = [{"item_id": i.item_id, "column": i.column, "reason": i.reason} for i in left_out(task, revision)]
    if rows or task in ledger.run.manifest()["about"].get("left_out", {}):
        ledger.note("left_out", task, rows)
