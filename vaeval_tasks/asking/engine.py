"""Asks many units, each provider with as many sessions at once as it allows, and keeps everything that comes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from vaeval_tasks.asking.asking_progress import FOLLOWED
from vaeval_tasks.asking.dialogue import Asked, KeptAs, hold, in_process
from vaeval_tasks.asking.ledger import NO_ROOM, Ledger, UnwritableError
from vaeval_tasks.asking.pending import AskingPlan
from vaeval_tasks.asking.store import Store
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.errors import InputError, VaevalError, fault
from vaeval_tasks.files import sha256_file
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Reply, SpeechModel
from vaeval_tasks.models.providers import create_model
from vaeval_tasks.models.speech_in import with_files
from vaeval_tasks.store.schema import ModelConfig, Response, ResponseStatus

__all__ = ["Asking", "Open", "Recall"]

_GAP_S = 0.004
"""Between two requests: about what one costs this process. Sessions that begin together stay together, are all done
at once, and then all wait; one after another they keep the services busy."""
_CLOSE_S = 30.0
"""How long an adapter may take to close, in seconds."""

Open = Callable[[ModelConfig], SpeechModel]
"""Makes the adapter of a configuration ready."""
Recall = Callable[[AskingUnit], Asked | None]
"""Returns the answer to a unit that exists already, or None where the system must be asked."""


class Asking:
    """Asks systems and keeps what they answer, in a running event loop: a whole plan, or unit by unit.

    A host with a loop of its own awaits :meth:`answer` for each unit::

        async with Asking(ledger) as asking:
            response = await asking.answer(unit)

    Args:
        ledger: the run folder, see :func:`vaeval_tasks.asking.ledger.open_for_asking`.
        open_system: makes an adapter ready.
        recall: finds answers that exist already.
        clock: measures waits and time limits.
        count: is told the status of each response that was kept, and of each attempt that another follows.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        open_system: Open = create_model,
        recall: Recall | None = None,
        clock: Clock | None = None,
        count: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._ledger, self._open, self._recall, self._count = ledger, open_system, recall, count
        self._clock = clock or Clock()
        self._systems: dict[str, SpeechModel] = {}
        self._next_start = 0.0
        """When the next request may begin, on the loop's clock."""
        self._checked: set[Path] = set()
        """Clips that were found to be the right ones."""
        self.stopped: dict[str, VaevalError] = {}
        """Configurations that cannot go on: refused, or nobody was there."""

    async def __aenter__(self) -> Self:
        self._store = Store(self._ledger)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            for system in self._systems.values():
                with contextlib.suppress(Exception):  # everything it said is kept already
                    await asyncio.wait_for(system.close(), _CLOSE_S)
        finally:
            self._systems.clear()
            await self._store.close()

    async def answer(self, unit: AskingUnit) -> Response:
        """Ask a unit and keep the answer, good or bad.

        Raises:
            UnwritableError: the disk is full or cannot be written.
            VaevalError: the configuration cannot go on.
        """
        asked = await self.ask(unit)
        if asked is None:
            raise self.stopped[unit.config.config_id]
        return await self.keep(unit, asked)

    async def ask(self, unit: AskingUnit) -> Asked | None:
        """Return the reply that stands, still to be kept, or None where the configuration cannot go on.

        Raises:
            UnwritableError: the disk is full or cannot be written.
        """
        config = unit.config

        async def keep(asked: Asked, kept_as: KeptAs) -> Path | None:
            response = await self._store.save(unit, asked, kept_as)
            if kept_as is KeptAs.failed_attempt:
                self._count(FOLLOWED)
            return self._ledger.run.root / response.path if response.path else None

        try:
            known = await asyncio.to_thread(self._recall, unit) if self._recall is not None else None
            if known is not None:
                return replace(known, attempts=unit.attempts + 1)
            if (system := self._system(config)) is None:
                return None
            await self._check(unit)
            if not in_process(config):  # a system in this process wants its requests together
                await self._wait_for_gap()
            return await hold(system, unit, clock=self._clock, keep=keep)
        except UnwritableError:
            raise
        except InputError as error:  # this unit cannot be asked; the others can
            why = str(error)
        except VaevalError as error:
            self.stopped.setdefault(config.config_id, error)
            return None
        except OSError as error:
            if error.errno in NO_ROOM:
                raise UnwritableError(self._ledger.run.root, error) from None
            why = f"unexpected {fault(error)}"
        except Exception as error:  # one malformed reply is a fault of this response, not the end of the run
            why = f"unexpected {fault(error)}"
        return Asked(reply=Reply(status=ResponseStatus.error, error=why), attempts=unit.attempts + 1)

    async def keep(self, unit: AskingUnit, asked: Asked) -> Response:
        """Keep the reply that stands.

        Raises:
            UnwritableError: the disk is full or cannot be written.
        """
        response = await self._store.save(unit, asked)
        self._count(response.status.value)
        return response

    async def answer_all(self, plan: AskingPlan) -> dict[str, VaevalError]:
        """Open, ask for every response of a plan, and close.

        Returns:
            The configurations that were stopped: their key, model, voice or address was refused, or nobody was there.

        Raises:
            UnwritableError: the disk is full or cannot be written.
        """
        async with self:
            workers = []
            for name, sessions in plan.sessions.items():
                units = deque(unit for unit in plan.units if unit.config.provider == name)
                workers += [self._work(units) for _ in range(min(sessions, len(units)))]
            await _all(workers)
        return self.stopped

    async def _work(self, units: deque[AskingUnit]) -> None:
        """Ask one unit after another. The last answer is saved while the next is being asked for."""
        saving: asyncio.Task[Response] | None = None
        try:
            while units:
                unit = units.popleft()
                if unit.config.config_id in self.stopped:
                    continue
                asked = await self.ask(unit)
                if saving is not None:
                    await saving
                saving = asyncio.create_task(self.keep(unit, asked)) if asked is not None else None
        finally:
            if saving is not None:
                await saving

    async def _check(self, unit: AskingUnit) -> None:
        for path, sha256 in unit.sha256.items():
            if path not in self._checked:
                await with_files([path], _check, unit.prompt_id, path, sha256)
                self._checked.add(path)

    async def _wait_for_gap(self) -> None:
        now = asyncio.get_running_loop().time()
        start = max(now, self._next_start)
        self._next_start = start + _GAP_S
        if start > now:
            await asyncio.sleep(start - now)

    def _system(self, config: ModelConfig) -> SpeechModel | None:
        """Return the adapter, None where it cannot be opened, which stops the configuration.

        Voices of one model share it, so that weights are loaded and connections opened once.
        """
        key = json.dumps([config.provider, config.params.get("model"), config.connection], sort_keys=True)
        if key not in self._systems:
            try:
                self._systems[key] = self._open(config)
            except VaevalError as error:
                self.stopped.setdefault(config.config_id, error)
                return None
            except Exception as error:
                why = f"{config.config_id}: its adapter cannot be made: unexpected {fault(error)}"
                self.stopped.setdefault(config.config_id, VaevalError(why))
                return None
        return self._systems[key]


def _check(prompt_id: str, path: Path, sha256: str) -> None:
    """Look whether a clip can be sent.

    Raises:
        InputError: it is missing, or is not the one that was named.
    """
    if not path.is_file():
        raise InputError(f"prompt {prompt_id!r} has no audio file", path=path)
    if sha256 and sha256_file(path) != sha256:
        raise InputError(f"prompt {prompt_id!r} is not the file that prompts.parquet names", path=path)


async def _all(workers: Iterable[Awaitable[None]]) -> None:
    """Run workers together; the first exception stops the others after they have saved what they hold."""
    tasks = [asyncio.ensure_future(worker) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
