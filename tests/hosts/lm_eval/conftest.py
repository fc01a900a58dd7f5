"""A tiny data set in the exact layout of the Hub, with every trap of the real one."""

from __future__ import annotations

import base64
import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vaeval_tasks import paths
from vaeval_tasks.audio import wav_bytes
from vaeval_tasks.sample.build import hub_schema
from vaeval_tasks.scoring.suite import FAMILIES, TASKS

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="session")
def fakes() -> ModuleType:
    """Stand-ins for a speech system and for scorers."""
    folder = str(Path(__file__).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("harness_fakes")


@pytest.fixture(autouse=True, scope="session")
def media_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of media away from the user's, with the user's weights in it (it stays set for later rooms)."""
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("cache")
    (folder / "weights").symlink_to(paths.cache_dir() / "weights")
    patch.setenv("VAEVAL_CACHE", str(folder))
    yield folder
    patch.undo()


@pytest.fixture
def fake_scorers(monkeypatch: pytest.MonkeyPatch, fakes: ModuleType) -> Callable[..., Any]:
    """Let the hooks find these scorers; call it with changes."""
    from vaeval_tasks.hosts.lm_eval import preflight
    from vaeval_tasks.metrics import profiles

    def use(**changes: Any) -> Any:
        chosen = fakes.scorers(**changes)
        monkeypatch.setattr(profiles, "load_scorers", lambda profile, **options: chosen)
        preflight.loaded_scorers.cache_clear()
        return chosen

    use()
    return use


@pytest.fixture(scope="session")
def make_row(fakes: ModuleType) -> Callable[..., dict[str, Any]]:
    """Return a row of the Hub's schema; unused media cells are empty bytes, as there."""

    def make(task: str, number: int, **changes: Any) -> dict[str, Any]:
        category = task.title().partition("_")
        sound = wav_bytes(fakes.tone(100 + 10 * TASKS.index(task) + number))
        row: dict[str, Any] = {f.name: b"" if f.type == pa.binary() else "" for f in hub_schema()}
        row |= {
            "id": f"{task.title()}_{number}",
            "category1": category[0],
            "category2": category[2],
            "user_audio_0": sound,
            "ref_answers": ["four"],
            "extra": {
                "user_audio_transcripts": [f"question {number} of {task}"],
                "raw_question": f"question {number}",
                "raw_options": [],
                "role_name": "",
                "user_audio_emotion": "",
            },
        }
        row["extra"] |= changes.pop("extra", {})
        return row | changes

    return make


def _trapped(task: str, number: int, fakes: ModuleType) -> dict[str, Any]:
    """What makes a task's rows as awkward as the real ones."""
    sound = wav_bytes(fakes.tone(900 + number))
    if task.startswith("listening"):
        return {"sound_audio": sound}
    if task.startswith("viewing"):
        return {f"image_{i}": PNG for i in range(5)} | {"extra": {"raw_options": ["A", "B"]}}
    traps: dict[str, dict[str, Any]] = {
        "speaking_multi_round": {
            **{f"user_audio_{i}": wav_bytes(fakes.tone(300 + 20 * i + number)) for i in range(7 if number else 3)},
            "ref_answers": ["a"] * (7 if number else 3),
            "extra": {"user_audio_transcripts": [f"turn {i}" for i in range(7 if number else 3)]},
        },
        "speaking_roleplay": {
            "system_prompt": "Speak like this: <audio>",
            "role_audio": sound,
            "ref_answers": ["['I am it''s \"role\"']"],
        },
        "speaking_safety": {"ref_answers": [], "extra": {"raw_question": "[]", "user_audio_transcripts": []}},
        "speaking_emotion": {"ref_answers": None, "extra": {"user_audio_emotion": "sad"}},
    }
    return traps.get(task, {})


@pytest.fixture(scope="session")
def hub_folder(
    tmp_path_factory: pytest.TempPathFactory, make_row: Callable[..., dict[str, Any]], fakes: ModuleType
) -> Path:
    """Two items of each of the 13 tasks."""
    root = tmp_path_factory.mktemp("hub")
    for family, tasks in FAMILIES.items():
        (root / family).mkdir()
        for task in tasks:
            rows = [make_row(task, n, **_trapped(task, n, fakes)) for n in range(2)]
            pq.write_table(pa.Table.from_pylist(rows, schema=hub_schema()), root / family / f"test_{task}.parquet")
    return root


@pytest.fixture(scope="session")
def evaluate(hub_folder: Path) -> Callable[..., Any]:
    """Run the harness in this process, on our tasks only."""

    def run(model: Any, tasks: list[str], *, dataset_path: str | None = None, **options: Any) -> Any:
        import lm_eval

        from vaeval_tasks.hosts.lm_eval.register import register, task_manager

        register()
        metadata = options.pop("metadata", {})
        manager = task_manager(dataset_path=dataset_path or str(hub_folder), **metadata)
        return lm_eval.simple_evaluate(model, tasks=tasks, task_manager=manager, bootstrap_iters=0, **options)

    return run


@pytest.fixture
def lm_eval_(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    fakes: Any,
    fake_scorers: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., str]:
    """Run ``vaeval lm-eval`` here; the harness's own 14 000 tasks are not indexed, which takes half a minute."""
    import lm_eval.tasks
    from lm_eval.api.registry import model_registry

    from vaeval_tasks.cli import main

    monkeypatch.setattr(lm_eval.tasks, "TaskManager", partial(lm_eval.tasks.TaskManager, include_defaults=False))
    monkeypatch.setitem(model_registry._objs, "vaeval-tone", fakes.ToneLM)
    monkeypatch.chdir(tmp_path)
    # the harness's handler keeps the stream of an earlier test, and would print a traceback for each line
    monkeypatch.setattr(logging, "raiseExceptions", False)
    fake_scorers()

    def run(*arguments: str, code: int = 0) -> str:
        if code:
            with pytest.raises(SystemExit) as caught:
                main(["lm-eval", *arguments])
            assert caught.value.code == code
            return capsys.readouterr().err
        assert main(["lm-eval", *arguments]) == 0
        return capsys.readouterr().out

    return run
