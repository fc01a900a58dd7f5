"""``import vaeval_tasks``: what it costs, what it names, and what a type checker sees."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import vaeval_tasks as vaeval

FUNCTIONS = [name for name in vaeval.__all__ if name != "__version__"]
HEAVY = ("numpy", "pyarrow", "pandas", "polars", "click", "scipy", "numba", "torch", "tqdm", "yaml", "datasets")


def python(*lines: str) -> str:
    """Run lines in a fresh interpreter and return what they print."""
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_and_looking_around_loads_nothing_heavy() -> None:
    loaded = python(
        "import sys, vaeval_tasks as vaeval",
        "assert {'rank', 'load'} <= set(dir(vaeval)) and vaeval.__version__",
        "print(*sys.modules)",
    ).split()
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)
    assert [name for name in loaded if name.startswith("vaeval_tasks.")] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_loads_neither_a_command_line_nor_a_frame_library(name: str) -> None:
    loaded = python("import sys", f"from vaeval_tasks import {name}", "print(*sys.modules)").split()
    assert not set(loaded) & {"click", "pandas", "polars", "torch", "transformers", "lm_eval", "vaeval_tasks.cli"}


def test_the_names_are_sorted_and_are_functions() -> None:
    assert vaeval.__all__ == sorted(vaeval.__all__)
    for name in FUNCTIONS:
        function = getattr(vaeval, name)
        assert (function.__name__, function.__doc__.count("Example::")) == (name, 1)
        assert name in dir(vaeval)
    with pytest.raises(AttributeError, match="has no attribute 'rnk'"):
        vaeval.rnk  # type: ignore[attr-defined]  # noqa: B018


def test_no_room_has_the_name_of_a_function() -> None:
    rooms = {module.name for module in pkgutil.iter_modules(vaeval.__path__)}
    assert not rooms & set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_order_of_imports_does_not_matter(name: str) -> None:
    rooms = [module.name for module in pkgutil.iter_modules(vaeval.__path__) if module.ispkg]
    everything = "".join(f"import vaeval_tasks.{room}\n" for room in rooms)
    engine = f"import vaeval_tasks.asking.engine, vaeval_tasks.verbs.{name}"
    check = f"import vaeval_tasks as v; assert callable(v.{name}) and v.{name}.__name__ == '{name}'"
    python(everything, engine, check)
    python(check, everything, engine, check, f"from vaeval_tasks import {name}; assert {name} is v.{name}")


def test_every_room_can_still_be_imported() -> None:
    for room in ("asking", "scoring", "verbs"):
        assert importlib.import_module(f"vaeval_tasks.{room}") is getattr(vaeval, room)


def test_a_type_checker_sees_the_signatures(tmp_path: Path, repository: Path) -> None:
    pytest.importorskip("mypy")
    right = "import vaeval_tasks as v\nfrom vaeval_tasks import generate\nreveal_type(v.rank('f.csv', ci='iid'))\n"
    right += "reveal_type(generate('r', dry_run=True).shares)\nreveal_type(v.generate('r').left)\n"
    (tmp_path / "use.py").write_text(right + "v.rank('f.csv', cj='iid')\nv.mos('f.csv', resamples='many')\n")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(repository / "pyproject.toml"),
        str(tmp_path / "use.py"),
    ]
    said = subprocess.run(command, capture_output=True, text=True, cwd=repository, check=False).stdout
    assert 'use.py:3: note: Revealed type is "vaeval_tasks.analysis.rank.board.Board"' in said
    assert 'use.py:4: note: Revealed type is "tuple[vaeval_tasks.asking.pending.Share, ...]"' in said
    assert 'use.py:5: note: Revealed type is "int"' in said
    assert 'use.py:6: error: Unexpected keyword argument "cj"' in said
    assert "use.py:7: error" in said


def test_the_examples_of_the_manual_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manual = (repository / "vaeval_tasks" / "analysis" / "README.md").read_text(encoding="utf-8")
    blocks = [part.partition("```")[0] for part in manual.split("```python\n")[1:]]
    assert len(blocks) >= 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # they are ours
    assert "note:" in capsys.readouterr().out
    assert (tmp_path / "board.html").is_file()
