"""A small simulated run, ratings files, and the command line in process."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.cli import main
from vaeval_tasks.simulate import Shape, SimulatedStudy, simulate, write_study


@dataclass(frozen=True)
class Done:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        def refuse(name: str) -> None:
            raise AssertionError(f"{name} in JSON")

        return json.loads(self.out, parse_constant=refuse)


Invoke = Callable[..., Done]


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Run a ``vaeval`` command in process."""

    def run(*args: object) -> Done:
        capsys.readouterr()
        code = 0
        try:
            main([str(a) for a in args])
        except SystemExit as left:
            code = int(left.code or 0)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return run


@pytest.fixture(scope="session")
def small_study() -> SimulatedStudy:
    """171 prompts, 50 raters: every pair of configurations ten times twice."""
    return simulate(Shape(prompts=171, raters=50, mos_raters=40, mos_per_sample=1.2), seed=11)


@pytest.fixture(scope="session")
def small_run(small_study: SimulatedStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of the small study. Nothing may write to it."""
    root = tmp_path_factory.mktemp("study") / "run"
    write_study(small_study, root)
    return root


HEADER = ("prompt", "a", "b", "rater", "rubric", "score")


@pytest.fixture
def ratings_csv(tmp_path: Path) -> Callable[..., Path]:
    """Write rows to a CSV file and return its path."""

    def write(rows: Sequence[Sequence[object]], header: Sequence[str] = HEADER, name: str = "ratings.csv") -> Path:
        path = tmp_path / name
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        return path

    return write


@pytest.fixture
def good_rows() -> list[list[object]]:
    """Three systems, two raters, three prompts; x is liked best."""
    rows: list[list[object]] = []
    for prompt in ("p1", "p2", "p3"):
        for rater, shift in (("r1", 0), ("r2", -1)):
            rows.append([prompt, "x", "y", rater, "overall", 1 + shift + (prompt == "p3")])
            rows.append([prompt, "z", "y", rater, "overall", -shift - (prompt == "p2")])
            rows.append([prompt, "z", "x", rater, "overall", -2 - shift + (prompt == "p1")])
    return rows
