"""A study and lm-eval ask through one loop: whatever happens, both keep the same."""

from __future__ import annotations

import asyncio
import errno
import importlib
import json
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from vaeval_tasks.errors import InputError, ServiceError, VaevalError
from vaeval_tasks.hosts.lm_eval.dataset import load
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def doors(fakes: ModuleType) -> ModuleType:
    return importlib.import_module("doors")


@pytest.fixture(params=["study", "lm_eval"])
def door(request: pytest.FixtureRequest, doors: ModuleType) -> Callable[..., None]:
    return doors.DOORS[request.param]


def plain(response: Response) -> Response:
    """What does not depend on the door or on when it was."""
    return replace(response, response_id="", task="", path="", provisional_path="", created="", total_s=None)


def exchanges(run: RunDir) -> list[tuple[str, int, int]]:
    rows = [json.loads(line) for line in run.exchanges_log().read_text().splitlines()]
    names = {r.response_id: r.prompt_id for r in run.responses()}
    return [(names[row["response_id"]], row["attempt"], row["events"][0]["ns"]) for row in rows]


def test_a_failed_attempt_is_kept_and_followed_by_another(tmp_path, doors, door):
    door(tmp_path, doors.Misbehaving("busy", 2))
    run = RunDir(tmp_path)
    assert [(r.prompt_id, r.status.value, r.attempts) for r in run.responses()] == [
        ("p0", "ok", 1),
        ("p1", "ok", 2),
        ("p2", "ok", 1),
    ]
    (failed,) = run.failed_attempts()
    assert (failed.prompt_id, failed.status.value, failed.attempts, failed.error) == ("p1", "error", 1, "busy")
    assert failed.response_id == run.responses()[1].response_id
    assert sorted(exchanges(run)) == [("p0", 1, 1), ("p1", 1, 2), ("p1", 2, 3), ("p2", 1, 4)]


@pytest.mark.parametrize(
    ("how", "status", "why"),
    [
        ("defect", "error", "unexpected AttributeError: 'str' object has no attribute 'get' (doors.py, line "),
        ("hang", "timeout", "no end of the turn within 31 s"),
    ],
)
def test_what_an_adapter_does_wrong_costs_one_response(tmp_path, doors, door, how, status, why):
    system = doors.Misbehaving(how, 2)
    door(tmp_path, system)
    responses = RunDir(tmp_path).responses()
    assert [r.status.value for r in responses] == ["ok", status, "ok"]
    assert responses[1].error.startswith(why)
    again = doors.Misbehaving()
    door(tmp_path, again)
    assert again.asked == ["p1"], "a failed response is asked for again, the others are not"
    assert [(r.status.value, r.attempts) for r in RunDir(tmp_path).responses()] == [("ok", 1), ("ok", 2), ("ok", 1)]


@pytest.mark.parametrize("name", ["study", "lm_eval"])
def test_a_kill_in_the_middle(tmp_path, doors, name):
    killed = subprocess.run(
        [sys.executable, str(HERE / "doors.py"), name, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    run = RunDir(tmp_path)
    first = run.responses()
    assert [r.prompt_id for r in first] == ["p0"]
    again = doors.Misbehaving()
    doors.DOORS[name](tmp_path, again)
    assert again.asked == ["p1", "p2"]
    assert len(run.responses()) == 3
    assert run.responses()[0] == first[0]


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(tmp_path, doors, door):
    """``/dev/full`` takes nothing, as a disk without room."""
    run = RunDir(tmp_path)
    run.responses_log.symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"No space left on device.*run the same command again"):
        door(tmp_path, doors.Misbehaving())
    run.responses_log.unlink()
    door(tmp_path, doors.Misbehaving())
    assert [r.status.value for r in run.responses()] == ["ok"] * 3


def test_both_keep_the_same_records(tmp_path, doors):
    kept = []
    for name, ask in doors.DOORS.items():
        ask(tmp_path / name, doors.Misbehaving("busy", 2))
        run = RunDir(tmp_path / name)
        sounds = [(run.root / r.path).read_bytes() for r in run.responses()]
        kept.append(([plain(r) for r in run.responses()], [plain(r) for r in run.failed_attempts()], sounds))
    assert kept[0] == kept[1]


def test_both_work_where_an_event_loop_runs_already(tmp_path, doors, door):
    """As in a notebook."""

    async def cell() -> None:
        door(tmp_path, doors.Misbehaving())

    asyncio.run(cell())
    assert len(RunDir(tmp_path).responses()) == 3


def test_an_interrupt_in_a_notebook_ends_the_asking(tmp_path, doors, monkeypatch):
    monkeypatch.setattr(doors, "CLOCK", Clock())

    async def cell() -> None:
        doors.study(tmp_path, doors.Misbehaving("interrupt", 2))

    loop = asyncio.new_event_loop()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(cell())
    loop.close()
    assert [r.prompt_id for r in RunDir(tmp_path).responses()] == ["p0"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("vaeval-")]


def test_a_refusal_ends_the_harness_with_its_own_line(tmp_path, doors):
    class Refused(doors.Misbehaving):
        async def respond(self, conversation: Any, config: Any) -> Any:
            raise ServiceError("the key was refused")

    with pytest.raises(ServiceError, match="the key was refused"):
        doors.lm_eval(tmp_path, Refused())
    assert RunDir(tmp_path).responses() == []


@pytest.mark.parametrize("log", ["responses.jsonl", "attempts.jsonl", "exchanges.jsonl"])
def test_whichever_log_cannot_be_written_it_is_one_line(tmp_path, doors, door, log):
    (tmp_path / log).symlink_to("/dev/full")
    with pytest.raises(InputError, match="No space left on device"):
        door(tmp_path, doors.Misbehaving("busy", 1))


def test_a_full_disk_before_anything_is_asked_is_one_line(tmp_path, doors, monkeypatch):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RunDir, "note_within", full)
    system = doors.Misbehaving()
    with pytest.raises(InputError, match="No space left on device"):
        doors.lm_eval(tmp_path, system)
    assert system.asked == []


def test_an_adapter_that_cannot_be_made_is_one_line(tmp_path, doors, monkeypatch):
    def broken(self: Any) -> None:
        raise TypeError("missing an argument")

    monkeypatch.setattr(doors.MisbehavingLM, "open", broken)
    with pytest.raises(VaevalError, match="tone/default/default: its adapter cannot be made: unexpected TypeError"):
        doors.lm_eval(tmp_path, doors.Misbehaving())
    assert RunDir(tmp_path).responses() == []


def test_a_run_folder_of_0_1_0_is_gone_on_with(tmp_path, fakes, hub_folder):
    """Written by 0.1.0 for the two documents of two tasks; the last of its 12 requests timed out."""
    shutil.copytree(HERE / "run_0_1_0", tmp_path, dirs_exist_ok=True)
    before = RunDir(tmp_path).responses()
    model = fakes.ToneModel()
    for task in ("speaking_multi_round", "speaking_safety"):
        docs = load(config=task, dataset_path=str(hub_folder))["test"]
        requests = [SimpleNamespace(doc=doc, args=("text", {"until": []})) for doc in docs]
        fakes.ToneLM(model=model, run_dir=str(tmp_path)).generate_until(requests)
    assert len(model.asked) == 1
    after = RunDir(tmp_path).responses()
    assert after[:3] == before[:3]
    assert (after[3].status.value, after[3].attempts) == ("ok", 2)


def test_a_dialogue_keeps_the_attempts_and_exchanges_of_every_turn(tmp_path, doors):
    """The second of three turns fails once."""
    doc_turns = [[str(path)] for path in doors.clips(tmp_path).values()]
    empty = {"question": "", "references": [], "system_prompt": "", "role_audio": "", "user_emotion": "", "images": []}
    doc = {**empty, "item_id": "d", "task": "speaking_multi_round", "revision": "1", "turns": doc_turns}
    lm = doors.MisbehavingLM(system=doors.Misbehaving("busy", 2), run_dir=str(tmp_path))
    lm.generate_until([SimpleNamespace(doc=doc, args=("text", {"until": []}))], disable_tqdm=True)
    run = RunDir(tmp_path)
    (response,), (failed,) = run.responses(), run.failed_attempts()
    assert (response.turn, response.attempts, response.turn_texts) == (3, 2, ("hi",) * 3)
    assert (failed.response_id, failed.turn, failed.attempts) == (response.response_id, 2, 1)
    rows = [json.loads(line) for line in run.exchanges_log().read_text().splitlines()]
    assert [(row["turn"], row["attempt"]) for row in rows] == [(1, 1), (2, 1), (2, 2), (3, 2)]
    wavs = sorted(path.name for path in run.response_audio.iterdir())
    assert wavs == [f"{response.response_id}{part}.wav" for part in ("-turn1", "-turn2", "")]
