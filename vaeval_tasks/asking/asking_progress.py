"""How far a run has come, for its user and for its caller."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from vaeval_tasks.errors import VaevalError
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.store.schema import ResponseStatus

__all__ = ["FOLLOWED", "AskingOutcome", "AskingProgress"]

FOLLOWED = "retried"
"""Counts attempts that another follows; every other kind is the status of a response."""


@dataclass(slots=True)
class AskingOutcome:
    """What became of a plan."""

    statuses: Counter[str] = field(default_factory=Counter)
    """Responses of this run by status, and attempts that another followed (:data:`FOLLOWED`)."""
    stopped: dict[str, VaevalError] = field(default_factory=dict)
    """Configurations that could not go on, and why."""
    left: int = 0
    """Responses that are still to come."""


class AskingProgress:
    """A bar of responses, with every kind but success counted beside it."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        self.statuses: Counter[str] = Counter()
        self._total = total
        self._bar = progress_bar(total, "responses", "response", shown=not quiet)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def outcome(self, stopped: dict[str, VaevalError]) -> AskingOutcome:
        """Return what came, and how much did not."""
        done = self.statuses.total() - self.statuses[FOLLOWED]
        return AskingOutcome(+self.statuses, stopped, self._total - done)

    def count(self, kind: str) -> None:
        """Count a response by its status, or an attempt that another follows."""
        self.statuses[kind] += 1
        if kind != ResponseStatus.ok.value:
            failures = {k: n for k, n in sorted(self.statuses.items()) if k != ResponseStatus.ok.value}
            self._bar.set_postfix(failures, refresh=False)
        if kind != FOLLOWED:
            self._bar.update()
