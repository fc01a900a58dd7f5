"""Several processes share a plan: one event loop keeps up with about 150 answers a second.

The parent shows how far they are. Each has a pipe to it, and what they have to say goes through that; when the pipe
closes, because the parent was interrupted or killed, they save what they hold and end.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.resource_tracker import ensure_running
from typing import Any, cast

from vaeval_tasks.asking.engine import Asking, Open
from vaeval_tasks.asking.ledger import Ledger
from vaeval_tasks.asking.pending import AskingPlan
from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir

__all__ = ["ask_in_processes"]

_END_S = 30.0
"""How long an interrupted process may take to save what it holds, in seconds."""


def ask_in_processes(
    ledger: Ledger, parts: Sequence[AskingPlan], *, clock: Clock, count: Callable[[str], object], open_system: Open
) -> dict[str, VaevalError]:
    """Ask for every response of some plans, each in a process of its own.

    Args:
        ledger: the run folder, whose lock the processes share: they may outlive this one by what they hold.
        parts: the plans; empty ones start no process.
        clock: measures waits and time limits.
        count: is told the status of each response that was kept, and of each attempt that another follows.
        open_system: makes an adapter ready; a function of a module.

    Returns:
        The configurations that were stopped, as :meth:`vaeval_tasks.asking.engine.Asking.answer_all` does.

    Raises:
        InputError: the disk is full or cannot be written.
        VaevalError: a process ended early, or this is Windows.
    """
    if sys.platform == "win32":  # its event loop cannot watch a pipe, so nobody could interrupt a process
        raise VaevalError("--processes: Windows asks in one process only; leave the option out")
    context = get_context("spawn")
    workers: dict[Connection, Any] = {}
    stopped: dict[str, VaevalError] = {}
    try:
        for part in (part for part in parts if part.units):
            ours, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(theirs, ledger.run, ledger.job, part, clock, open_system))
            with _interrupts_held():
                worker.start()
                workers[ours] = worker
            theirs.close()
        running = set(workers)
        while running:
            for pipe in cast("list[Connection]", wait(list(running))):
                if (news := _receive(pipe, workers[pipe])) is None:
                    running.discard(pipe)
                elif isinstance(news, str):
                    count(news)
                else:
                    for config_id, error in news.items():
                        stopped.setdefault(config_id, error)
    finally:
        for pipe in workers:
            pipe.close()
        for worker in workers.values():
            worker.join(_END_S)
            worker.kill()
    return stopped


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let an interrupt wait until the end of the block; processes started in it never see one.

    Interrupts reach the whole group. The others are told through the pipe, and must not be struck while they import;
    they inherit what this thread blocks. Another thread of this process may get the signal nevertheless, hence the
    handler, which only the main thread can set and needs.
    """
    ensure_running()  # else it is started by the first process, and lets interrupts through
    came: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number)) if in_main else None
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if in_main:
            signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        if came:
            signal.raise_signal(signal.SIGINT)


def _receive(pipe: Connection, worker: Any) -> str | dict[str, VaevalError] | None:
    """Return what a process has to say: a kind to count, the configurations it stopped, or None at its end."""
    try:
        news = pipe.recv()
    except EOFError:
        worker.join()
        if worker.exitcode:
            raise VaevalError(
                f"one of the processes that ask ended early (exit code {worker.exitcode}); run the same command again: "
                "finished responses are kept"
            ) from None
        return None
    if isinstance(news, VaevalError):
        raise news
    if not isinstance(news, str | dict):
        raise TypeError(f"a process said {news!r}")
    return news


def _work(pipe: Connection, run: RunDir, job: str, part: AskingPlan, clock: Clock, open_system: Open) -> None:
    """Ask for a part of the plan; runs in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with writing(run.root, Writer.generate, job=job) if job else nullcontext():
        asyncio.run(_until_the_pipe_closes(pipe, run, part, clock, open_system))


async def _until_the_pipe_closes(
    pipe: Connection, run: RunDir, part: AskingPlan, clock: Clock, open_system: Open
) -> None:
    asks = Asking(Ledger(run, rank=part.rank), open_system=open_system, clock=clock, count=pipe.send)
    asking = asyncio.ensure_future(asks.answer_all(part))
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(pipe.fileno())
        asking.cancel()

    loop.add_reader(pipe.fileno(), stop)
    try:
        stopped = await asking
        pipe.send({config_id: VaevalError(str(error)) for config_id, error in stopped.items()})
    except InputError as error:  # the disk is full
        pipe.send(InputError(str(error)))
    except (asyncio.CancelledError, ConnectionError):
        return
    finally:
        loop.remove_reader(pipe.fileno())
