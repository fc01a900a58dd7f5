"""The wheel, built and installed elsewhere, brings tasks, metrics and sample."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

PROBE = """
import json
from vaeval_tasks import paths
from vaeval_tasks.hosts.lm_eval.dataset import load
from vaeval_tasks.hosts.lm_eval.register import TASK_PACKAGE, task_manager
import importlib.util
import pathlib
import vaeval_tasks
print(json.dumps({
    "package": vaeval_tasks.__file__,
    "tasks": len(task_manager().all_subtasks),
    "plugin": str(pathlib.Path(list(importlib.util.find_spec(TASK_PACKAGE).submodule_search_locations)[0]).resolve()),
    "groups": len(task_manager().all_groups),
    "metrics": paths.metric_modules(),
    "sample": load(config="viewing_multi_discipline", dataset_path="sample")["test"].num_rows,
}))
"""


@pytest.fixture(scope="module")
def installed(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(repository)]
    subprocess.run(build, check=True, capture_output=True, cwd=folder)
    (wheel,) = folder.glob("vaeval-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True)
    return folder / "site"


def test_an_installed_wheel_finds_its_data(installed: Path, repository: Path, tmp_path: Path) -> None:
    import json

    environment = os.environ | {"PYTHONPATH": str(installed), "VAEVAL_CACHE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["package"].startswith(str(installed))
    assert (found["tasks"], found["groups"]) == (13, 4)
    assert Path(found["plugin"]) == (installed / "vaeval_tasks" / "_data" / "task_configs").resolve()
    assert found["metrics"] == sorted(
        p.parent.name for p in repository.glob("metrics/*/*.py") if p.stem == p.parent.name
    )
    assert found["sample"] >= 2


def test_the_wheel_declares_its_commands_and_models(installed: Path) -> None:
    (entry_points,) = installed.glob("vaeval-*.dist-info/entry_points.txt")
    text = entry_points.read_text()
    assert "vaeval = vaeval_tasks.cli:main" in text
    assert "[lm_eval.models]" in text
    assert "[lm_eval.tasks]\nvoiceassistant_eval = vaeval_tasks.hosts.lm_eval.plugin.task_configs" in text


def test_the_licences_are_declared_and_no_recording_of_others_is_given_on(
    repository: Path, installed: Path, tmp_path: Path
) -> None:
    """The tests' recordings and ratings have licences of their own: they stay in the repository."""
    from hatchling.builders.sdist import SdistBuilder

    (archive,) = SdistBuilder(str(repository)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    (given,) = installed.glob("vaeval-*.dist-info/licenses")
    for licence in ("LICENSE", "vaeval_tasks/metrics/NOTICE"):
        assert licence in names
        assert (given / licence).read_bytes() == (repository / licence).read_bytes()
    assert {"card.md", "pyproject.toml", "vaeval_tasks/sample/items.yaml"} <= names
    for found in (names, {path.relative_to(installed).as_posix() for path in installed.rglob("*")}):
        assert not {name for name in found if name.startswith("tests/") or name.endswith((".flac", ".mp3", ".ogg"))}
