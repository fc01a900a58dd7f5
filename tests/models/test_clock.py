"""One timer for many waits: it rings in time, only for the wait it was set for, and leaves real cancels alone."""

from __future__ import annotations

import asyncio
import time

import pytest

from vaeval_tasks.models.clock import Alarm, Clock


def test_a_wait_that_is_too_long_ends_in_time() -> None:
    async def late() -> float:
        alarm, began = Alarm(), time.monotonic()
        for _ in range(3):
            with alarm.within(60.0):
                await asyncio.sleep(0)
        with pytest.raises(TimeoutError), alarm.within(0.05):  # shorter than what the timer was set for
            await asyncio.sleep(30)
        with pytest.raises(TimeoutError), alarm.within(0.05):  # and it works again
            await asyncio.sleep(30)
        alarm.stop()
        return time.monotonic() - began

    assert asyncio.run(late()) >= 0.1  # that it rang at all says that it rang before 30 s


def test_many_short_waits_may_last_longer_than_one_limit() -> None:
    async def steady() -> int:
        alarm = Alarm()
        for _ in range(8):
            with alarm.within(0.5):
                await asyncio.sleep(0.1)
        alarm.stop()
        task = asyncio.current_task()
        return task.cancelling() if task is not None else -1

    assert asyncio.run(steady()) == 0


def test_a_cancel_from_outside_stays_a_cancel() -> None:
    async def wait() -> None:
        with Alarm().within(30.0):
            await asyncio.sleep(60)

    async def cancelled() -> None:
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


def test_an_error_inside_is_not_hidden() -> None:
    async def fail() -> None:
        with Alarm().within(30.0):
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        asyncio.run(fail())


def test_a_faster_clock_shortens_waits() -> None:
    assert Clock(4.0).on_the_wall(8.0) == 2.0
    assert Clock().on_the_wall(-1.0) == 0.0
