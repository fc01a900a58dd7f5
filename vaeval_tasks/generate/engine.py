"""Asks for the responses of a plan, each provider with as many sessions at once as it allows."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.generate.plan import Job, Plan
from vaeval_tasks.generate.progress import RETRIED
from vaeval_tasks.generate.retry import Asked, ask
from vaeval_tasks.generate.store import Store
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Conversation, Reply, SpeechModel, Turn
from vaeval_tasks.models.providers import create_model, provider
from vaeval_tasks.models.speech_in import with_files
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, Prompt, Response, ResponseStatus

__all__ = ["ask_plan"]


_GAP_S = 0.004
"""Between two requests: about what one costs this process. Sessions that begin together stay together, are all done
at once, and then all wait; one after another they keep the services busy."""


class _Broken(Exception):
    """The run cannot go on for anybody: the disk cannot be written."""

    def __init__(self, error: InputError) -> None:
        super().__init__(str(error))
        self.error = error


class _Engine:
    def __init__(self, run: RunDir, plan: Plan, *, seed: int, clock: Clock, count: Callable[[str], None]) -> None:
        self._run, self._plan, self._seed, self._clock, self._count = run, plan, seed, clock, count
        self._models: dict[str, SpeechModel] = {}
        self._next_start = 0.0
        """When the next request may begin, on the loop's clock."""
        self._checked: set[str] = set()
        """Prompts whose file was found to be the right one."""
        self.stopped: dict[str, VaevalError] = {}

    async def go(self) -> None:
        """Work until every job is done, every configuration is stopped, or the disk is full."""
        self._store = Store(self._run, rank=self._plan.rank)
        workers = []
        for name, sessions in self._plan.sessions.items():
            jobs = deque(job for job in self._plan.jobs if job.config.provider == name)
            workers += [self._work(jobs) for _ in range(min(sessions, len(jobs)))]
        try:
            await _all(workers)
        except _Broken as broken:
            raise broken.error from None
        finally:
            for model in self._models.values():
                await model.close()
            await self._store.close()

    async def _work(self, jobs: deque[Job]) -> None:
        """Ask one job after another. The last answer is saved while the next is being asked for."""
        saving: asyncio.Task[None] | None = None
        try:
            while jobs:
                job = jobs.popleft()
                if job.config.config_id in self.stopped:
                    continue
                if provider(job.config.provider).addresses:  # a model in process wants its requests together
                    await self._wait_for_gap()
                asked = await self._ask(job)
                if saving is not None:
                    await saving
                saving = asyncio.create_task(self._keep(job, asked)) if asked is not None else None
        finally:
            if saving is not None:
                await saving

    async def _wait_for_gap(self) -> None:
        now = asyncio.get_running_loop().time()
        start = max(now, self._next_start)
        self._next_start = start + _GAP_S
        if start > now:
            await asyncio.sleep(start - now)

    async def _ask(self, job: Job) -> Asked | None:
        """Return the reply that stands, or None where the configuration cannot go on."""

        async def on_failed(attempt: int, reply: Reply) -> None:
            self._count(RETRIED)
            await self._save(_response(job, attempt), reply, stands=False)

        try:
            if job.prompt.prompt_id not in self._checked:
                await with_files([self._run.root / job.prompt.path], _check, self._run, job.prompt)
                self._checked.add(job.prompt.prompt_id)
            turn = Turn(role="user", audio=(self._run.root / job.prompt.path,))
            conversation = Conversation(turns=(turn,), seed=self._seed)
            return await ask(self._model(job.config), conversation, job.config, clock=self._clock, on_failed=on_failed)
        except InputError as error:  # this prompt cannot be asked; the others can
            return Asked(reply=Reply(status=ResponseStatus.error, error=str(error)), attempts=1)
        except VaevalError as error:
            self.stopped.setdefault(job.config.config_id, error)
            return None

    async def _keep(self, job: Job, asked: Asked) -> None:
        response = await self._save(_response(job, asked.attempts), asked.reply, stands=True)
        self._count(response.status.value)

    async def _save(self, response: Response, reply: Reply, *, stands: bool) -> Response:
        try:
            return await self._store.save(response, reply, stands=stands)
        except InputError as error:
            raise _Broken(error) from None

    def _model(self, config: ModelConfig) -> SpeechModel:
        """Return the adapter; voices of one model share it, so that weights are loaded and connections opened once."""
        key = json.dumps([config.provider, config.params.get("model"), config.connection], sort_keys=True)
        if key not in self._models:
            self._models[key] = create_model(config)
        return self._models[key]


async def _all(workers: Iterable[Awaitable[None]]) -> None:
    """Run workers together; the first exception stops the others after they have saved what they hold."""
    tasks = [asyncio.ensure_future(worker) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _response(job: Job, attempt: int) -> Response:
    return Response(
        response_id=job.response_id,
        prompt_id=job.prompt.prompt_id,
        config_id=job.config.config_id,
        status=ResponseStatus.error,
        attempts=job.attempts + attempt,
    )


def _check(run: RunDir, prompt: Prompt) -> None:
    """Look whether a prompt can be asked.

    Raises:
        InputError: the prompt's file is missing, or is not the one of ``prompts.parquet``.
    """
    path = run.root / prompt.path
    if not prompt.path or not path.is_file():
        raise InputError(f"prompt {prompt.prompt_id!r} has no audio file", path=path)
    if prompt.sha256 and sha256_file(path) != prompt.sha256:
        raise InputError(f"prompt {prompt.prompt_id!r} is not the file that prompts.parquet names", path=path)


async def ask_plan(
    run: RunDir, plan: Plan, *, seed: int, clock: Clock, count: Callable[[str], None]
) -> dict[str, VaevalError]:
    """Ask for every response of a plan.

    Args:
        run: the run folder.
        plan: what to ask, see :func:`vaeval_tasks.generate.plan.make_plan`.
        seed: of local sampling.
        clock: measures waits and time limits.
        count: is told the status of each response that was kept, and of each attempt that another follows.

    Returns:
        The configurations that were stopped because their key, model, voice or address was refused or nobody was
        there.

    Raises:
        InputError: the disk is full or cannot be written.
    """
    engine = _Engine(run, plan, seed=seed, clock=clock, count=count)
    await engine.go()
    return engine.stopped
