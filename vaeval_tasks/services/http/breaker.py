"""Whether an endpoint is gone: asked of the endpoint, and never read from a batch of requests nobody could answer."""

from __future__ import annotations

import threading
from collections.abc import Callable

from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome

__all__ = ["Breaker"]

_PROBE_AFTER = 8
"""So many requests in a row without any answer, and the endpoint is asked whether it is there."""


class Breaker:
    """Stops a batch once the endpoint is plainly gone. Thread-safe.

    A request that failed for good after all its attempts says nothing about the next one: twelve items that a server
    cannot digest may come in a row. So after some of them one small request of our own is sent, and only its failure
    is believed.

    Args:
        probe: sends one small request, once, and says what came of it.
        after: requests in a row without an answer before it is sent; a refused connection sends it at once.
    """

    def __init__(self, probe: Callable[[], HttpOutcome], *, after: int = _PROBE_AFTER) -> None:
        self._probe, self._after = probe, after
        self._in_a_row = 0
        self._lock = threading.Lock()
        self.reason = ""
        """Why nothing more is to be asked; "" while all is well."""

    def open(self, reason: str) -> None:
        """Stop: nothing more is to be asked."""
        self.reason = self.reason or reason

    def note(self, outcome: HttpOutcome) -> None:
        """Take in what finally came of a request."""
        with self._lock:
            self._in_a_row = self._in_a_row + 1 if outcome.meaning.silent else 0
            if outcome.meaning is HttpMeaning.unreachable or self._in_a_row >= self._after:
                self._ask()

    def gone(self) -> str:
        """Ask the endpoint now, and return why nothing more is to be asked, "" if it is there."""
        with self._lock:
            self._ask()
        return self.reason

    def _ask(self) -> None:
        self._in_a_row = 0
        if self.reason:
            return
        found = self._probe()
        if found.meaning.silent:
            self.open(found.reason)
