"""Responses that wait together are written together; what goes wrong with one is told to those it concerns."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError
from vaeval_tasks.generate.store import Store
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response, ResponseStatus

REPLY = Reply(
    status=ResponseStatus.ok,
    audio=Clip(np.full(240, 0.1, np.float32), 24000),
    events=({"ns": 1, "direction": "sent", "message": {}},),
)


def response(number: int) -> Response:
    return Response(response_id=f"c/p{number}", prompt_id=f"p{number}", config_id="c", status=ResponseStatus.error)


def save(run: RunDir, *replies: Reply) -> list[Response | BaseException]:
    """Save replies at once and return what each of those who wait gets."""

    async def go() -> list[Response | BaseException]:
        store = Store(run)
        saves = [store.save(response(number), reply) for number, reply in enumerate(replies)]
        try:
            return await asyncio.wait_for(asyncio.gather(*saves, return_exceptions=True), 20)
        finally:
            await store.close()

    return asyncio.run(go())


def test_a_sound_that_cannot_be_written_fails_alone(tmp_path):
    """A folder stands where the second sound belongs."""
    run = RunDir(tmp_path)
    (run.response_audio / "c" / "p1.wav").mkdir(parents=True)
    first, second, third = save(run, REPLY, REPLY, REPLY)
    assert isinstance(second, InputError)
    assert "run the same command again" in str(second)
    assert [r.response_id for r in run.responses()] == ["c/p0", "c/p2"]
    assert run.responses() == [first, third]
    assert len(run.exchanges_log().read_text().splitlines()) == 2


def test_a_defect_is_raised_and_keeps_nobody_waiting(tmp_path):
    bad = replace(REPLY, events=({"ns": 1, "direction": "sent", "message": {1, 2}},))
    (got,) = save(RunDir(tmp_path), bad)
    assert isinstance(got, TypeError)


def test_a_full_log_fails_all_that_wait(tmp_path):
    run = RunDir(tmp_path)
    run.responses_log.symlink_to("/dev/full")
    got = save(run, REPLY, REPLY)
    assert all(isinstance(one, InputError) and "No space left on device" in str(one) for one in got)


@pytest.mark.parametrize("stands", [True, False])
def test_only_what_stands_is_a_response(tmp_path, stands):
    run = RunDir(tmp_path)

    async def go() -> None:
        store = Store(run)
        await store.save(response(0), REPLY, stands=stands)
        await store.close()

    asyncio.run(go())
    assert (len(run.responses()), len(run.failed_attempts())) == ((1, 0) if stands else (0, 1))
