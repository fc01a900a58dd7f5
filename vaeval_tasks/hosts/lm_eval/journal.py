"""What the processes of a harness run write into the run folder while it goes on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from vaeval_tasks.hosts.lm_eval.settings import rank
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus

__all__ = ["RETRIED", "Journal", "journal"]

RETRIED = (ResponseStatus.error, ResponseStatus.timeout)
"""A request that ended so is made again by the next run."""


class Journal:
    """The responses and documents of a run folder, each process with its own logs.

    Args:
        root: the run folder.
    """

    def __init__(self, root: Path) -> None:
        self.run = RunDir(root)
        self._responses = {r.response_id: r for r in self.run.responses()}
        self._items = {(i.task, i.item_id): i for i in self.run.items()}
        self._noted: dict[tuple[str, str], object] = {}

    def find(self, response_id: str) -> Response | None:
        """Return a response, None where there is none."""
        return self._responses.get(response_id)

    def answered(self, response_id: str) -> bool:
        """Whether a response is there and need not be asked for again."""
        found = self._responses.get(response_id)
        return found is not None and found.status not in RETRIED

    def add(self, item: Item, response: Response) -> None:
        """Keep a response and the document it answers, unless they are kept as they are."""
        if self._items.get((item.task, item.item_id)) != item:
            self._items[item.task, item.item_id] = item
            self.run.append("items", item, rank=rank())
        if self._responses.get(response.response_id) != response:
            self._responses[response.response_id] = response
            self.run.append("responses", response, rank=rank())

    def note(self, kind: str, name: str, value: object) -> None:
        """Keep a fact for ``results.json`` in ``run.json``, on the first process only."""
        if rank() == 0 and self._noted.get((kind, name)) != value:
            self._noted[kind, name] = value
            self.run.note(**{kind: self.run.manifest()["about"].get(kind, {}) | {name: value}})


@cache
def journal(root: Path) -> Journal:
    """Return the journal of a run folder, the same one each time within a process."""
    return Journal(root)
