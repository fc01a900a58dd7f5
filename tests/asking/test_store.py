"""Responses that wait together are written together; what goes wrong with one is told to those it concerns."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest

from vaeval_tasks.asking.dialogue import Asked, KeptAs
from vaeval_tasks.asking.ledger import Ledger
from vaeval_tasks.asking.store import Store
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, Response, ResponseStatus

CONFIG = ModelConfig(model="c", provider="chat_audio")
NAME = "c-default-default"
TONE = Clip(np.full(240, 0.1, np.float32), 24000)
REPLY = Reply(status=ResponseStatus.ok, audio=TONE, events=({"ns": 1, "direction": "sent", "message": {}},))


def unit(number: int) -> AskingUnit:
    return AskingUnit(response_id=f"c/p{number}", prompt_id=f"p{number}", config=CONFIG, turns=(), seeds=())


def save(run: RunDir, *replies: Reply, kept_as: KeptAs = KeptAs.answer, **more) -> list[Response | BaseException]:
    """Save replies at once and return what each of those who wait gets."""

    async def go() -> list[Response | BaseException]:
        store = Store(Ledger(run))
        saves = [store.save(unit(n), Asked(reply=reply, **more), kept_as) for n, reply in enumerate(replies)]
        try:
            return await asyncio.wait_for(asyncio.gather(*saves, return_exceptions=True), 20)
        finally:
            await store.close()

    return asyncio.run(go())


def test_a_sound_that_cannot_be_written_fails_alone(tmp_path):
    """A folder stands where the second sound belongs."""
    run = RunDir(tmp_path)
    (run.response_audio / NAME / "p1.wav").mkdir(parents=True)
    first, second, third = save(run, REPLY, REPLY, REPLY)
    assert isinstance(second, InputError)
    assert "run the same command again" in str(second)
    assert [r.response_id for r in run.responses()] == ["c/p0", "c/p2"]
    assert run.responses() == [first, third]
    assert len(run.exchanges_log().read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"events": ({"message": {1, 2}},)}, "TypeError"),
        ({"text": None}, "InputError"),
        ({"text": "\ud800"}, "UnicodeEncodeError"),
        ({"total_s": float("nan")}, "ValueError"),
        ({"usage": [1]}, "InputError"),
        ({"status": "ok"}, "AttributeError"),
        ({"audio": b"RIFF"}, "AttributeError"),
        ({"first_audio_s": "soon"}, "InputError"),
    ],
)
def test_a_reply_that_is_not_what_it_must_be_is_an_error_of_its_own(tmp_path, changes, why):
    """The others that wait are kept, and the run folder stays readable."""
    run = RunDir(tmp_path)
    save(run, REPLY, replace(REPLY, **changes), REPLY, turn=1, turn_texts=(changes.get("text", "x"),))
    first, bad, third = run.responses()
    assert bad.status is ResponseStatus.error
    assert bad.error.startswith(f"the reply cannot be kept: unexpected {why}")
    if "text" not in changes:
        assert (first.status, third.status) == (ResponseStatus.ok, ResponseStatus.ok)
    logged = [json.loads(line)["response_id"] for line in run.exchanges_log().read_text().splitlines()]
    assert logged == (["c/p0", "c/p2"] if "events" in changes else ["c/p0", "c/p1", "c/p2"])


def test_a_full_log_fails_all_that_wait(tmp_path):
    run = RunDir(tmp_path)
    run.responses_log.symlink_to("/dev/full")
    got = save(run, REPLY, REPLY)
    assert all(isinstance(one, InputError) and "No space left on device" in str(one) for one in got)


@pytest.mark.parametrize("kept_as", list(KeptAs))
def test_only_what_stands_is_a_response(tmp_path, kept_as):
    """The sounds of what does not stand lie beside those of the answer, not in their place."""
    run = RunDir(tmp_path)
    (kept,) = save(run, REPLY, kept_as=kept_as, turn=2, attempts=3)
    assert len(run.responses()) == (kept_as is KeptAs.answer)
    assert len(run.failed_attempts()) == (kept_as is KeptAs.failed_attempt)
    ending = {"answer": "", "failed_attempt": "-turn2-attempt3", "earlier_turn": "-turn2"}[kept_as]
    assert kept.path == f"audio/responses/{NAME}/p0{ending}.wav"
    (line,) = run.exchanges_log().read_text().splitlines()
    assert json.loads(line) == {"response_id": "c/p0", "attempt": 3, "turn": 2, "events": list(REPLY.events)}


def test_the_sound_of_a_failed_answer_is_provisional(tmp_path):
    (kept,) = save(RunDir(tmp_path), Reply(status=ResponseStatus.timeout, audio=TONE))
    assert (kept.path, kept.provisional_path) == ("", f"audio/responses/{NAME}/p0.provisional.wav")
