"""Writes responses into a run folder: files first, then the line that says they are there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from vaeval_tasks.errors import InputError
from vaeval_tasks.generate.kept import append_exchanges, file_name, keep_sounds
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response, slug
from vaeval_tasks.store.tables import append_jsonl

__all__ = ["Store", "unwritable"]


def unwritable(root: Path, error: OSError) -> InputError:
    """Return the error of a disk that is full or cannot be written."""
    return InputError(
        f"cannot be written ({error.strerror or error}); make room and run the same command again: finished "
        "responses are kept",
        path=root,
    )


@dataclass(slots=True, eq=False)
class _Item:
    """A reply that waits to be written, and what became of it."""

    response: Response
    reply: Reply
    stands: bool
    failure: Exception | None = None
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


def _settle(batch: list[_Item]) -> None:
    for item in batch:
        if not item.done.done():  # else nobody waits any more
            item.done.set_result(None)


class Store:
    """Saves responses in a thread of its own; what waits together is flushed to disk together.

    One thread, not one per session: many that write at once take turns with the event loop and make it wait.
    """

    def __init__(self, run: RunDir, *, rank: int = 0) -> None:
        self._run, self._rank = run, rank
        self._waiting: SimpleQueue[_Item | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = Thread(target=self._work, name="vaeval-store", daemon=True)
        self._thread.start()

    async def save(self, response: Response, reply: Reply, *, stands: bool = True) -> Response:
        """Keep a reply; when this returns, a kill can no longer lose it.

        Args:
            response: ids and number of attempts.
            reply: what came.
            stands: False for a failed attempt that will be followed by another.

        Raises:
            InputError: the disk is full or cannot be written.
        """
        item = _Item(response, reply, stands)
        self._waiting.put(item)
        await item.done
        if isinstance(item.failure, OSError):
            raise unwritable(self._run.root, item.failure) from None
        if item.failure is not None:
            raise item.failure
        return item.response

    async def close(self) -> None:
        """Write what waits and end the thread."""
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        going_on = True
        while going_on:
            waiting = [self._waiting.get()]
            while not self._waiting.empty():
                waiting.append(self._waiting.get())
            going_on = None not in waiting
            batch = [item for item in waiting if item is not None]
            self._write(batch)
            self._loop.call_soon_threadsafe(_settle, batch)

    def _write(self, batch: list[_Item]) -> None:
        """Write files, then the lines; what goes wrong is told to those who wait, whatever it is."""
        for item in batch:
            name = f"{slug(item.response.config_id)}/{file_name(item.response.prompt_id)}"
            try:
                item.response = keep_sounds(self._run, item.response, item.reply, name=name, rank=self._rank)
            except Exception as error:
                item.failure = error
        whole = [item for item in batch if item.failure is None]
        try:
            self._append(whole)
        except Exception as error:
            for item in whole:
                item.failure = error

    def _append(self, batch: list[_Item]) -> None:
        append_exchanges(self._run, [(item.response, item.reply) for item in batch], rank=self._rank)
        if standing := [item.response for item in batch if item.stands]:
            self._run.append("responses", *standing, rank=self._rank)
        if failed := [item.response for item in batch if not item.stands]:
            append_jsonl(self._run.attempts_log, *failed)
