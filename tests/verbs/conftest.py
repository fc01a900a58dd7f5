"""What the doors are compared on: the command line in process, ratings as a file and as a frame."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.cli import main
from vaeval_tasks.simulate import Shape, simulate, write_study

Verb = Callable[..., Any]

WORDS = {"left": 1, "right": -1, "same": 0}
COLUMNS = {"a": "first", "b": "second", "score": "verdict"}
RATINGS: list[dict[str, Any]] = [
    {
        "prompt": f"p{p}",
        "first": a,
        "second": b,
        "rater": r,
        "verdict": ("left", "same", "right", "left")[(p * 5 + r * 3 + ord(a) * 7) % 4],
        "panel": "En" if r < 4 else "De",
    }
    for p in range(9)
    for r in range(6)
    for a, b in ("xy", "yz", "zx")
]
OPINIONS: list[dict[str, Any]] = [
    {"prompt": f"p{p}", "config": c, "rater": r, "score": 1 + (p + r * 2 + ord(c)) % 5}
    for p in range(6)
    for r in range(4)
    for c in "xyz"
]


@pytest.fixture
def verb_json(capsys: pytest.CaptureFixture[str]) -> Verb:
    """Run a verb with ``--json`` and return what it printed."""

    def run(*arguments: object) -> Any:
        capsys.readouterr()
        assert main([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def _written(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def ratings_file(tmp_path: Path) -> Path:
    """The ratings as CSV."""
    return _written(tmp_path / "ratings.csv", RATINGS)


@pytest.fixture
def opinions_file(tmp_path: Path) -> Path:
    """The opinion scores as CSV."""
    return _written(tmp_path / "mos.csv", OPINIONS)


@pytest.fixture(scope="session")
def study_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a small simulated study. Nothing may write to it."""
    root = tmp_path_factory.mktemp("study") / "run"
    write_study(simulate(Shape(prompts=171, raters=50, mos_raters=40, mos_per_sample=1.2), seed=11), root)
    return root
