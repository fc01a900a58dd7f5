"""Writes responses into a run folder: files first, then the line that says they are there."""

from __future__ import annotations

import asyncio
from pathlib import Path

from vaeval_tasks.errors import InputError
from vaeval_tasks.models.kept import keep_reply
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.run import RunDir
from vaeval_tasks.schema import Response
from vaeval_tasks.tables import append_jsonl

__all__ = ["Store", "unwritable"]


def unwritable(root: Path, error: OSError) -> InputError:
    """Return the error of a disk that is full or cannot be written."""
    return InputError(
        f"cannot be written ({error.strerror or error}); make room and run the same command again: finished "
        "responses are kept",
        path=root,
    )


class Store:
    """Saves responses from many sessions; lines that wait together are flushed to disk together."""

    def __init__(self, run: RunDir) -> None:
        self._run = run
        self._waiting: list[tuple[Path, Response, asyncio.Future[None]]] = []
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
            kept = await asyncio.to_thread(keep_reply, self._run, response, reply)
        except OSError as error:
            raise unwritable(self._run.root, error) from None
        log = self._run.responses_log if stands else self._run.attempts_log
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((log, kept, done))
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
                await asyncio.to_thread(_append, batch)
            except OSError as error:
                failure = unwritable(self._run.root, error)
            for _, _, done in batch:
                if done.cancelled():
                    continue
                if failure is None:
                    done.set_result(None)
                else:
                    done.set_exception(failure)


def _append(batch: list[tuple[Path, Response, asyncio.Future[None]]]) -> None:
    for log in {path for path, _, _ in batch}:
        append_jsonl(log, *[response for path, response, _ in batch if path == log])
