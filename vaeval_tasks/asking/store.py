"""Writes responses into a run folder: files first, then the line that says they are there."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from threading import Thread

from vaeval_tasks.asking.dialogue import Asked, KeptAs
from vaeval_tasks.asking.kept import exchange_line, keep_sounds
from vaeval_tasks.asking.ledger import Entry, Ledger, UnwritableError
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.errors import fault
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.store.schema import Response, ResponseStatus
from vaeval_tasks.store.tables import from_row, to_row

__all__ = ["Store"]


@dataclass(slots=True, eq=False)
class _Waiting:
    """A reply that waits to be written, and what became of it."""

    unit: AskingUnit
    asked: Asked
    kept_as: KeptAs
    response: Response | None = None
    failure: Exception | None = None
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


def _settle(batch: list[_Waiting]) -> None:
    for waiting in batch:
        if not waiting.done.done():  # else nobody waits any more
            waiting.done.set_result(None)


class Store:
    """Saves responses in a thread of its own; what waits together is flushed to disk together.

    One thread, not one per session: many that write at once take turns with the event loop and make it wait.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = Thread(target=self._work, name="vaeval-store", daemon=True)
        self._thread.start()

    async def save(self, unit: AskingUnit, asked: Asked, kept_as: KeptAs = KeptAs.answer) -> Response:
        """Keep a reply; when this returns, a kill can no longer lose it.

        A reply that cannot be kept as it is (no text where text belongs, what JSON does not know) becomes an error
        that says so.

        Raises:
            UnwritableError: the disk is full or cannot be written.
        """
        waiting = _Waiting(unit, asked, kept_as)
        self._queue.put(waiting)
        await waiting.done
        if isinstance(waiting.failure, OSError):
            raise UnwritableError(self._ledger.run.root, waiting.failure) from None
        if waiting.failure is not None:
            raise waiting.failure
        assert waiting.response is not None  # noqa: S101
        return waiting.response

    async def close(self) -> None:
        """Write what waits and end the thread."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        going_on = True
        while going_on:
            found = [self._queue.get()]
            while not self._queue.empty():
                found.append(self._queue.get())
            going_on = None not in found
            batch = [waiting for waiting in found if waiting is not None]
            self._write(batch)
            self._loop.call_soon_threadsafe(_settle, batch)

    def _write(self, batch: list[_Waiting]) -> None:
        """Write files, then the lines; what goes wrong is told to those who wait, whatever it is."""
        entries: dict[int, Entry] = {}
        for number, waiting in enumerate(batch):
            try:
                entries[number] = self._entry(waiting)
            except Exception as error:
                waiting.failure = error
        try:
            self._ledger.append(list(entries.values()))
        except Exception as error:
            for number in entries:
                batch[number].failure = error

    def _entry(self, waiting: _Waiting) -> Entry:
        reply, asked = waiting.asked.reply, waiting.asked
        try:
            return self._kept(waiting, asked, reply)
        except OSError:
            raise
        except Exception as error:  # the reply is not what its type says
            why = f"the reply cannot be kept: unexpected {fault(error)}"
        asked = replace(asked, turn_texts=())
        try:
            return self._kept(waiting, asked, Reply(status=ResponseStatus.error, error=why, events=reply.events))
        except (TypeError, ValueError):  # not even what was sent and received
            return self._kept(waiting, asked, Reply(status=ResponseStatus.error, error=why))

    def _kept(self, waiting: _Waiting, asked: Asked, reply: Reply) -> Entry:
        """Write the sounds and return the lines, which are known to be readable again."""
        unit = waiting.unit
        if reply.status.failed and reply.audio is not None:  # what failed on the way is not an answer to be rated
            reply = replace(reply, audio=None, provisional=reply.provisional or reply.audio)
        name = unit.sound_name
        if waiting.kept_as is not KeptAs.answer:  # beside the answer that will stand, not in its place
            name += f"-turn{asked.turn}" if asked.turn else ""
            name += f"-attempt{asked.attempts}" if waiting.kept_as is KeptAs.failed_attempt else ""
        bare = Response(
            response_id=unit.response_id,
            prompt_id=unit.prompt_id,
            config_id=unit.config.config_id,
            status=reply.status,
            task=unit.task,
            turn=asked.turn,
            turn_texts=asked.turn_texts,
            attempts=asked.attempts,
        )
        response = keep_sounds(self._ledger.run, bare, reply, name=name, rank=self._ledger.rank)
        row, exchange = to_row(response), exchange_line(response, reply)
        f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}{exchange}".encode()
        from_row(Response, row, path=self._ledger.run.responses_log, number=0)
        waiting.response = response
        return Entry(
            response=response if waiting.kept_as is KeptAs.answer else None,
            failed=response if waiting.kept_as is KeptAs.failed_attempt else None,
            item=unit.item,
            exchange=exchange,
        )
