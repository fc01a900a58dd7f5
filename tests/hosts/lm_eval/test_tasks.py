"""Every YAML is loaded: the harness hides broken ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lm_eval.tasks import TaskManager
from lm_eval.tasks._index import Kind
from lm_eval.tasks._yaml_loader import load_yaml

from vaeval_tasks import paths
from vaeval_tasks.hosts.lm_eval.given import TEXT_OPTIONS
from vaeval_tasks.hosts.lm_eval.hooks import METRICS
from vaeval_tasks.hosts.lm_eval.register import task_manager
from vaeval_tasks.scoring.suite import FAMILIES, GROUP, TASKS

FILES = sorted(paths.task_configs_dir().rglob("*.yaml"))
LEAVES = [file for file in FILES if file.stem in TASKS]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_yaml_loads_and_its_functions_exist(file: Path) -> None:
    config = load_yaml(file, resolve_func=True)
    assert config["metadata"]["version"] == 1.0
    if "group" not in config:
        assert config["task"] == file.stem
        assert callable(config["custom_dataset"])
        assert {m["metric"] for m in config["metric_list"]} == set(METRICS)
        assert all(callable(m["aggregation"]) for m in config["metric_list"])
        assert config["generation_kwargs"] == TEXT_OPTIONS
        assert all(config["generation_kwargs"]["until"]), "no list of no stops is sent to a server"
        assert config["fewshot_config"] == {"samples": []}


def test_leaves_are_two_lines() -> None:
    assert [file.stem for file in LEAVES] == sorted(TASKS)
    for file in LEAVES:
        assert file.read_text() == f"include: _{file.parent.name}_base\ntask: {file.stem}\n"


def test_functions_are_named_by_installed_module_only() -> None:
    for file in paths.task_configs_dir().rglob("*"):
        if file.is_file():
            for name in re.findall(r"!function (\S+)", file.read_text()):
                assert name.startswith("vaeval_tasks.hosts.lm_eval.")


def test_the_index_has_13_leaves_and_4_groups() -> None:
    index = task_manager().task_index
    assert sorted(name for name, entry in index.items() if entry.kind is Kind.PY_TASK) == sorted(TASKS)
    groups = {name: entry.cfg for name, entry in index.items() if entry.kind is Kind.GROUP}
    assert set(groups) == {GROUP, *(f"{GROUP}_{family}" for family in FAMILIES)}
    for family, members in FAMILIES.items():
        assert groups[f"{GROUP}_{family}"]["task"] == list(members)


def test_no_name_is_taken_by_the_harness() -> None:
    """Their YAMLs are read as text: indexing them takes half a minute."""
    import lm_eval.tasks

    ours = {*TASKS, GROUP, *(f"{GROUP}_{family}" for family in FAMILIES)}
    named = re.compile(rb"^(?:task|group|tag): *[\"']?([\w.-]+)[\"']?\s*$", re.MULTILINE)
    root = Path(lm_eval.tasks.__file__).parent
    theirs = {
        m.decode() for file in root.rglob("*.yaml") if not file.is_symlink() for m in named.findall(file.read_bytes())
    }
    assert len(theirs) > 5000
    assert not ours & theirs


def test_a_further_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("task: mine\n")
    manager = task_manager(tmp_path, dataset_path="sample")
    assert isinstance(manager, TaskManager)
    assert "mine" in manager.all_tasks
    assert manager.metadata == {"dataset_path": "sample"}
