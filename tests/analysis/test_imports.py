"""What a small job may import: heavy libraries are loaded by what calls them, never by the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NEVER = ("pandas", "scipy.stats", "torch", "transformers", "datasets", "evaluate", "lm_eval", "sklearn", "pooch")
PROBE = """
import sys
from vaeval_tasks.cli import main
try:
    main(sys.argv[1:])
except SystemExit as left:
    assert left.code == 1, left.code
print("loaded:", *sys.modules)
"""
ROWS = [f"p{p},{a},{b},r{r},{(p + r + 2) % 4 - 1}" for p in range(6) for r in range(5) for a, b in ("xy", "yz", "zx")]


def loaded(*arguments: object) -> set[str]:
    """Run a verb in a fresh interpreter and return the modules it loaded."""
    command = [sys.executable, "-c", PROBE, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few ratings, some of them tied."""
    path = tmp_path_factory.mktemp("small") / "r.csv"
    path.write_text("\n".join(["prompt,a,b,rater,score", *ROWS]) + "\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "also_not"),
    [
        (("rank",), ("scipy.optimize", "pyarrow.parquet", "numba")),
        (("rank", "--ci", "sandwich"), ("scipy.optimize", "yaml", "pyarrow.parquet", "numba")),
        (("rank", "--ci", "iid", "--engine", "massey"), ("scipy.optimize", "yaml", "numba")),
        (("agree",), ("scipy.optimize", "numba")),
        (("mos", "--columns", "config=a,score=score"), ("yaml", "numba")),
        (("rank", "--columns", "score=points"), ("scipy", "yaml", "numba", "tqdm", "pyarrow.parquet")),
        (("mos",), ("scipy", "yaml", "numba", "tqdm")),
    ],
    ids=" ".join,
)
def test_a_verb_loads_no_library_that_it_does_not_need(
    arguments: tuple[str, ...], also_not: tuple[str, ...], table: Path
) -> None:
    verb, *options = arguments
    found = loaded(verb, table, *options)
    assert "pyarrow" in found
    assert not found & {*NEVER, *also_not}


@pytest.mark.parametrize("verb", ["rank", "agree", "cluster", "mos", "themes"])
def test_a_file_that_is_not_there_is_refused_before_numpy_is_loaded(verb: str, tmp_path: Path) -> None:
    assert not loaded(verb, tmp_path / "none.csv") & {*NEVER, "numpy", "pyarrow", "scipy", "numba"}
