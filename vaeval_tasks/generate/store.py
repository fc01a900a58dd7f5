"""Writes responses into a run folder: files first, then the line that says they are there."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from vaeval_tasks.errors import InputError
from vaeval_tasks.models.kept import file_name, keep_reply
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.run import RunDir
from vaeval_tasks.schema import Response, slug
from vaeval_tasks.tables import append_jsonl

__all__ = ["Store", "unwritable"]


def unwritable(root: Path, error: OSError) -> InputError:
    """Return the error of a disk that is full or cannot be written."""
    return InputError(
        f"cannot be written ({error.strerror or error}); make room and run the same command again: finished "
        "responses are kept",
        path=root,
    )


@dataclass(slots=True, eq=False)
class _Line:
    response: Response
    stands: bool
    written: bool = False
    failure: OSError | None = None


class Store:
    """Saves responses from many sessions; lines that wait together are flushed to disk together."""

    def __init__(self, run: RunDir, *, rank: int = 0) -> None:
        self._run, self._rank = run, rank
        self._waiting: deque[_Line] = deque()
        self._writing = Lock()

    async def save(self, response: Response, reply: Reply, *, stands: bool = True) -> Response:
        """Keep a reply; when this returns, a kill can no longer lose it.

        Args:
            response: ids and number of attempts.
            reply: what came.
            stands: False for a failed attempt that will be followed by another.

        Raises:
            InputError: the disk is full or cannot be written.
        """
        try:
            return await asyncio.to_thread(self._save, response, reply, stands)
        except OSError as error:
            raise unwritable(self._run.root, error) from None

    def _save(self, response: Response, reply: Reply, stands: bool) -> Response:
        name = f"{slug(response.config_id)}/{file_name(response.prompt_id)}"
        line = _Line(keep_reply(self._run, response, reply, name=name), stands)
        self._waiting.append(line)
        with self._writing:
            if not line.written:  # else the thread that held the lock before has taken this line with its own
                self._write()
        if line.failure is not None:
            raise line.failure
        return line.response

    def _write(self) -> None:
        """Write what waits with one flush."""
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        failure = None
        try:
            self._append(batch)
        except OSError as error:
            failure = error
        for line in batch:
            line.written, line.failure = True, failure

    def _append(self, batch: list[_Line]) -> None:
        if standing := [line.response for line in batch if line.stands]:
            self._run.append("responses", *standing, rank=self._rank)
        if failed := [line.response for line in batch if not line.stands]:
            append_jsonl(self._run.attempts_log, *failed)
