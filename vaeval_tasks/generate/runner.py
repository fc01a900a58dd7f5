"""Runs a plan, in this process or in several."""

from __future__ import annotations

import asyncio

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.generate.engine import ask_plan
from vaeval_tasks.generate.plan import Plan
from vaeval_tasks.generate.processes import ask_in_processes
from vaeval_tasks.generate.progress import Outcome, Progress
from vaeval_tasks.generate.store import unwritable
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.store.run import RunDir

__all__ = ["compact", "generate", "stopped_error"]


def generate(run: RunDir, plan: Plan, *, seed: int = 0, clock: Clock | None = None, processes: int = 1) -> Outcome:
    """Ask for every response of a plan and write each into the run's log as it comes.

    A kill at any moment loses only what was being asked: what is in the log is never asked for again.

    Args:
        run: the run folder.
        plan: what to ask, see :func:`vaeval_tasks.generate.plan.make_plan`.
        seed: of local sampling.
        clock: measures waits and time limits.
        processes: how many processes share the plan and its sessions; one keeps up with about 150 answers a second.

    Returns:
        Counts by status, and the configurations that were stopped because their key, model, voice or address was
        refused or nobody was there.

    Raises:
        InputError: the disk is full or cannot be written.
        VaevalError: one of several processes ended early.
    """
    clock = clock or Clock()
    with Progress(len(plan.jobs)) as progress:
        if processes == 1:
            stopped = asyncio.run(ask_plan(run, plan, seed=seed, clock=clock, count=progress.count))
        else:
            stopped = ask_in_processes(run, plan.split(processes), seed=seed, clock=clock, count=progress.count)
    return Outcome(progress.statuses, stopped)


def compact(run: RunDir) -> None:
    """Write the log into ``responses.parquet``; the log stays, as the history of the run.

    Raises:
        InputError: the disk is full or cannot be written.
    """
    try:
        run.write("responses", run.responses(), made_by="vaeval generate", inputs=("prompts",))
    except OSError as error:
        raise unwritable(run.root, error) from None


def stopped_error(outcome: Outcome, left: int) -> ServiceError:
    """Return one line about the configurations that were stopped."""
    first = next(iter(outcome.stopped.values()))
    _, *others = outcome.stopped
    more = f" Also stopped: {', '.join(others)}." if others else ""
    return ServiceError(f"{first}.{more} {left} responses are still to come; run the same command again")
