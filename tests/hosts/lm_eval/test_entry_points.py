"""What lm-eval's own plug-in mechanism finds of ours: models (its pull request 4013) and tasks (4015).

Written anew from what these do. Models: each entry point becomes a lazy placeholder unless the name is taken. Tasks:
the module before a colon is located without being imported; a package counts as its folder, another module as the one
that it lies in; both come after the harness's own tasks and before ``--include_path``; what is broken is passed over.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import lm_eval.tasks.manager
import pytest
from lm_eval.api.registry import Registry
from lm_eval.tasks import TaskManager

from vaeval_tasks import paths
from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.hosts.lm_eval.register import MODELS, TASK_PACKAGE, our_folders, task_manager
from vaeval_tasks.scoring.suite import GROUP, TASKS


@pytest.fixture
def declared(repository: Path) -> dict[str, list[importlib.metadata.EntryPoint]]:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    return {
        group: [importlib.metadata.EntryPoint(name, value, group) for name, value in points.items()]
        for group, points in project["entry-points"].items()
    }


def folders_of(points: list[importlib.metadata.EntryPoint]) -> list[Path]:
    found: list[Path] = []
    for point in points:
        try:
            spec = importlib.util.find_spec(point.value.partition(":")[0].strip())
        except (ImportError, ValueError):
            continue
        if spec is None:
            continue
        places = list(spec.submodule_search_locations or [])
        if places or spec.origin:
            folder = Path(places[0]).resolve() if places else Path(str(spec.origin)).resolve().parent
            if folder not in found:
                found.append(folder)
    return found


def test_the_tasks_are_found(declared: dict[str, Any], tmp_path: Path) -> None:
    assert [point.value for point in declared["lm_eval.tasks"]] == [TASK_PACKAGE]
    broken = importlib.metadata.EntryPoint("broken", "no.such.package", "lm_eval.tasks")
    folders = folders_of([broken, *declared["lm_eval.tasks"]])
    assert folders == [paths.task_configs_dir().resolve()]
    manager = TaskManager(include_defaults=False, include_path=[str(folder) for folder in folders])
    assert set(TASKS) <= set(manager.all_subtasks)
    assert GROUP in manager.all_groups


def test_a_task_that_was_found_so_runs(
    declared: dict[str, Any], tmp_path: Path, fakes: Any, fake_scorers: Any, hub_folder: Path
) -> None:
    import lm_eval

    folders = [str(folder) for folder in folders_of(declared["lm_eval.tasks"])]
    manager = TaskManager(include_defaults=False, include_path=folders, metadata={"dataset_path": str(hub_folder)})
    model = fakes.ToneLM(run_dir=str(tmp_path))
    found = lm_eval.simple_evaluate(model, tasks=["speaking_assistant"], task_manager=manager, bootstrap_iters=0)
    assert found["results"]["speaking_assistant"]["vae_missing,none"] == 0


def test_finding_the_tasks_imports_nothing_heavy() -> None:
    code = (
        "import importlib.util, sys\n"
        f"assert importlib.util.find_spec({TASK_PACKAGE!r}).submodule_search_locations\n"
        "print([m for m in ('torch', 'datasets', 'lm_eval', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_harness_that_finds_our_tasks_is_not_told_again(
    monkeypatch: pytest.MonkeyPatch, declared: dict[str, Any], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Else it warns of each task that one from the same file replaces it."""
    assert our_folders() == [str(paths.task_configs_dir().resolve())]
    found = folders_of(declared["lm_eval.tasks"])
    monkeypatch.setattr(lm_eval.tasks.manager, "discover_plugin_task_paths", lambda: found, raising=False)
    assert our_folders() == []
    with caplog.at_level(logging.WARNING):
        TaskManager(include_defaults=False, include_path=[*map(str, found), *our_folders()])
    assert "overrides" not in caplog.text
    monkeypatch.setattr(lm_eval.tasks.manager, "discover_plugin_task_paths", lambda: [tmp_path], raising=False)
    assert set(TASKS) <= set(task_manager().all_subtasks)


def test_the_models_are_found(declared: dict[str, Any]) -> None:
    from lm_eval.api.model import LM

    registry: Any = Registry("model", base_cls=LM)
    registry.register("vaeval-omni", target=MODELS["vaeval-omni"])  # as register() does; it stays
    for point in declared["lm_eval.models"]:
        if point.name not in registry:
            registry.register(point.name, target=point)
    assert set(MODELS) == set(registry.keys())
    for name in MODELS:
        assert issubclass(registry.get(name), SpeechLM)
