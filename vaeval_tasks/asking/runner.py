"""Runs a plan, in this process or in several; also where an event loop runs already, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from vaeval_tasks.asking.asking_progress import AskingOutcome, AskingProgress
from vaeval_tasks.asking.engine import Asking, Open, Recall
from vaeval_tasks.asking.ledger import Ledger, open_for_asking
from vaeval_tasks.asking.pending import AskingPlan, keep_configs, make_plan, settle_configs
from vaeval_tasks.asking.processes import ask_in_processes
from vaeval_tasks.asking.ranks import wait_for_all, world_size
from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.providers import check_access, create_model
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["generate", "generate_study", "stopped_error"]

T = TypeVar("T")


def generate(
    ledger: Ledger,
    plan: AskingPlan,
    *,
    open_system: Open = create_model,
    recall: Recall | None = None,
    clock: Clock | None = None,
    processes: int = 1,
    quiet: bool = False,
) -> AskingOutcome:
    """Ask for every response of a plan and write each into the run's log as it comes.

    A kill at any moment loses only what was being asked: what is in the log is never asked for again.

    Args:
        ledger: the run folder, see :func:`vaeval_tasks.asking.ledger.open_for_asking`.
        plan: what to ask; of a study see :func:`vaeval_tasks.asking.pending.make_plan`.
        open_system: makes the adapter of a configuration ready; for several processes a function of a module.
        recall: finds answers that exist already; for one process.
        clock: measures waits and time limits.
        processes: how many processes share the plan and its sessions; one keeps up with about 150 answers a second.
        quiet: show no progress.

    Returns:
        Counts by status, and the configurations that were stopped because their key, model, voice or address was
        refused or nobody was there.

    Raises:
        UnwritableError: the disk is full or cannot be written.
        VaevalError: one of several processes ended early.
    """
    clock = clock or Clock()
    with AskingProgress(len(plan.units), quiet=quiet) as progress:
        if processes == 1:
            asking = Asking(ledger, open_system=open_system, recall=recall, clock=clock, count=progress.count)
            stopped = _run(asking.answer_all(plan))
        else:
            parts = plan.split(processes)
            stopped = ask_in_processes(ledger, parts, clock=clock, count=progress.count, open_system=open_system)
    return progress.outcome(stopped)


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run work to its end, in a thread of its own where this one is busy with an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def begin() -> T:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1, "vaeval-asking") as pool:
        done = pool.submit(asyncio.run, begin())
        try:
            return done.result()
        except BaseException:
            loop, task = started.result()
            if task is not None and not done.done():  # interrupted: what is held is saved, then the thread ends
                loop.call_soon_threadsafe(task.cancel)
            raise


def generate_study(
    run: RunDir,
    configs: Sequence[ModelConfig] = (),
    *,
    limits: Mapping[str, int] | None = None,
    limit: int | None = None,
    retry_failed: bool = False,
    seed: int = 0,
    processes: int = 1,
    clock: Clock | None = None,
    quiet: bool = False,
) -> AskingOutcome:
    """Ask for a response of each configuration to each prompt of a study, and write the table of them.

    A run that was stopped goes on where it was. The processes that torchrun started share the work.

    Args:
        run: the run folder with its prompts.
        configs: the configurations; by default those that the run has used before.
        limits: sessions at once per provider, see :func:`vaeval_tasks.asking.pending.parse_sessions`.
        limit: only the first so many prompts.
        retry_failed: ask again for responses that timed out or failed.
        seed: of local sampling.
        processes: see :func:`generate`.
        clock: see :func:`generate`.
        quiet: see :func:`generate`.

    Raises:
        InputError: there are no prompts, a configuration differs from an earlier one of its name, a key is missing, or
            the disk is full.
    """
    with open_for_asking(run) as ledger:
        chosen = settle_configs(run, configs)
        options: dict[str, Any] = {"limits": limits, "limit": limit, "retry_failed": retry_failed, "seed": seed}
        plan = make_plan(run, chosen, **options, rank=ledger.rank, world=world_size())
        for config in {unit.config.config_id: unit.config for unit in plan.units}.values():
            check_access(config)
        if ledger.rank == 0:
            keep_configs(run, chosen)
        outcome = generate(ledger, plan, clock=clock, processes=processes, quiet=quiet)
        wait_for_all()
        if ledger.rank == 0:
            # the log stays, as the history of the run
            run.write("responses", run.responses(), made_by="vaeval generate", inputs=("prompts",))
    return outcome


def stopped_error(outcome: AskingOutcome) -> ServiceError:
    """Return one line about the configurations that were stopped."""
    first = next(iter(outcome.stopped.values()))
    _, *others = outcome.stopped
    more = f" Also stopped: {', '.join(others)}." if others else ""
    return ServiceError(f"{first}.{more} {outcome.left} responses are still to come; run the same command again")
