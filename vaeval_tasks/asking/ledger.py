"""What a run folder holds of answers while more are asked for, and the one place that appends to its logs."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vaeval_tasks.asking.ranks import rank
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.log import append_jsonl, append_lines
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response

__all__ = ["NO_ROOM", "Entry", "Ledger", "UnwritableError", "open_for_asking"]

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says of a disk that is full."""


class UnwritableError(InputError):
    """The disk is full or cannot be written: nobody can go on asking."""

    def __init__(self, root: Path, error: OSError) -> None:
        super().__init__(
            f"cannot be written ({error.strerror or error}); make room and run the same command again: finished "
            "responses are kept",
            path=root,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is to be appended for one reply."""

    response: Response | None = None
    """An answer that stands."""
    failed: Response | None = None
    """An attempt that another follows."""
    item: Item | None = None
    """The document that is answered."""
    exchange: str = ""
    """A line of the log of exchanges."""


class Ledger:
    """The responses and documents of a run folder; each process appends to logs of its own.

    Args:
        run: the run folder.
        rank: the number of the process.
        job: the job that holds the run's lock, for processes that are to share it.
    """

    def __init__(self, run: RunDir, *, rank: int = 0, job: str = "") -> None:
        self.run, self.rank, self.job = run, rank, job
        self._noted: dict[tuple[str, str], object] = {}

    @cached_property
    def responses(self) -> dict[str, Response]:
        """Every response by its id."""
        return {r.response_id: r for r in self.run.responses()}

    @cached_property
    def _items(self) -> dict[tuple[str, str], Item]:
        return {(i.task, i.item_id): i for i in self.run.items()}

    @cached_property
    def _failed(self) -> dict[str, int]:
        return {r.response_id: r.attempts for r in self.run.failed_attempts()}

    def answered(self, response_id: str) -> bool:
        """Whether a response is there and did not fail."""
        found = self.responses.get(response_id)
        return found is not None and not found.status.failed

    def attempts(self, response_id: str) -> int:
        """How many attempts at a response that is not answered have failed so far."""
        found = self.responses.get(response_id)
        return max(self._failed.get(response_id, 0), found.attempts if found is not None else 0)

    def append(self, entries: Sequence[Entry]) -> None:
        """Append to the logs, durably and each once for all entries; what is there as it is stays.

        Raises:
            OSError: the disk is full or cannot be written.
        """
        items = {(e.item.task, e.item.item_id): e.item for e in entries if e.item is not None}
        if fresh := {key: item for key, item in items.items() if self._items.get(key) != item}:
            self.run.append("items", *fresh.values(), rank=self.rank)
            self._items.update(fresh)
        if lines := [e.exchange for e in entries if e.exchange]:
            append_lines(self.run.exchanges_log(self.rank), lines)
        if failed := [e.failed for e in entries if e.failed is not None]:
            append_jsonl(self.run.attempts_log, *failed)
        if standing := [e.response for e in entries if e.response is not None]:
            self.run.append("responses", *standing, rank=self.rank)
            if "responses" in self.__dict__:  # else they are read when somebody asks
                self.responses.update((r.response_id, r) for r in standing)

    def note(self, kind: str, name: str, value: object) -> None:
        """Keep a fact for ``results.json`` in ``run.json``, once, and on the first process only."""
        if self.rank == 0 and self._noted.get((kind, name)) != value:
            self._noted[kind, name] = value
            self.run.note_within(kind, **{name: value})


@contextmanager
def open_for_asking(run: RunDir) -> Iterator[Ledger]:
    """Open a run folder to ask for responses, with its lock: every host comes through here.

    Raises:
        RunBusyError: another process asks for responses of this run.
        UnwritableError: the disk is full or cannot be written.
    """
    try:
        with writing(run.root, Writer.generate) as job:
            yield Ledger(run, rank=rank(), job=job)
    except OSError as error:
        if error.errno in NO_ROOM | {errno.EROFS, errno.EACCES}:
            raise UnwritableError(run.root, error) from None
        raise
