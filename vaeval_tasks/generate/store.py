"""Writes responses into a run folder: files first, then the line that says they are there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class _Line:
    response: Response
    stands: bool
    done: asyncio.Future[None]


class Store:
    """Saves responses from many sessions; lines that wait together are flushed to disk together."""

    def __init__(self, run: RunDir, *, rank: int = 0) -> None:
        self._run, self._rank = run, rank
        self._waiting: list[_Line] = []
        self._writing: asyncio.Task[None] | None = None

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
            name = f"{slug(response.config_id)}/{file_name(response.prompt_id)}"
            kept = await asyncio.to_thread(keep_reply, self._run, response, reply, name=name)
        except OSError as error:
            raise unwritable(self._run.root, error) from None
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(_Line(kept, stands, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        await done
        return kept

    async def _write(self) -> None:
        """Write what waits, until nothing waits."""
        while self._waiting:
            batch, self._waiting = self._waiting, []
            failure: InputError | None = None
            try:
                await asyncio.to_thread(self._append, batch)
            except OSError as error:
                failure = unwritable(self._run.root, error)
            for line in batch:
                if line.done.cancelled():
                    continue
                if failure is None:
                    line.done.set_result(None)
                else:
                    line.done.set_exception(failure)

    def _append(self, batch: list[_Line]) -> None:
        if standing := [line.response for line in batch if line.stands]:
            self._run.append("responses", *standing, rank=self._rank)
        if failed := [line.response for line in batch if not line.stands]:
            append_jsonl(self._run.attempts_log, *failed)
