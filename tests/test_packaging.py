"""What pyproject declares is what the code imports, and the base installation does what needs no model."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from vaeval_tasks.cli import VERBS

# distribution: the names it is imported by, where they differ
IMPORTED_AS = {
    "faster-whisper": "faster_whisper",
    "kaldi-native-fbank": "kaldi_native_fbank",
    "lm-eval": "lm_eval",
    "pillow": "PIL",
    "py-nanotts": "py_nanotts",
    "python-multipart": "python_multipart",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}
# distributions that are used and imported by nobody here: what else names them
NAMED_ONLY = {
    "psycopg": "postgresql+psycopg",  # SQLAlchemy's address
    "torchvision": 'find_spec("torchvision")',  # transformers imports it
}


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "pyproject.toml").read_text())["project"]


def declared(requirements: list[str]) -> set[str]:
    names = {re.match(r"[\w.-]+", line)[0] for line in requirements}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names - {"vaeval"}}


def imported(path: Path) -> Iterator[str]:
    """Yield the first parts of the names that a file imports, by ``require`` and ``find_spec`` too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("require", "find_spec", "import_module") and isinstance(node.args[0].value, str):
                yield node.args[0].value.partition(".")[0]


@pytest.fixture(scope="module")
def used(repository: Path) -> dict[str, set[str]]:
    """Return each package of others that is imported, with the files that do."""
    found: dict[str, set[str]] = {}
    for folder in ("vaeval_tasks", "metrics"):
        for path in (repository / folder).rglob("*.py"):
            for name in imported(path):
                if name not in sys.stdlib_module_names and name != "vaeval_tasks":
                    found.setdefault(name, set()).add(path.relative_to(repository).as_posix())
    return found


def test_what_is_imported_is_declared(project: dict[str, Any], used: dict[str, set[str]]) -> None:
    everywhere = declared(project["dependencies"]).union(
        *(declared(extra) for extra in project["optional-dependencies"].values())
    )
    guarded = {"httpx2", "pandas"}  # used only where somebody has them
    missing = {name: files for name, files in used.items() if name not in everywhere | guarded}
    assert missing == {}


def test_what_is_declared_is_imported(project: dict[str, Any], used: dict[str, set[str]], repository: Path) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (repository / "vaeval_tasks").rglob("*.py"))
    for group in (project["dependencies"], *project["optional-dependencies"].values()):
        for name in declared(group) - set(used):
            # "python_multipart" stands in the rating app's list of what it needs
            assert NAMED_ONLY.get(name, f'"{name}"') in text, f"nothing imports {name}"


def test_every_extra_is_in_all_but_those_that_clash_or_weigh_too_much(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(everything.removeprefix("vaeval[").removesuffix("]").split(",")) == set(extras) - {
        "all",
        "vision",
        "emotion",
    }


def blocked(project: dict[str, Any]) -> list[str]:
    """Return what an installation without extras may not import."""
    extras = set().union(*(declared(extra) for extra in project["optional-dependencies"].values()))
    return sorted((extras | {"ctranslate2", "tokenizers"}) - declared(project["dependencies"]))


# runs verbs in one process where packages are as if they were not installed, and tells what each said
PROBE = """
import contextlib, io, json, sys
blocked, verbs, typed = json.loads(sys.argv[1])
class But:
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, *where):
        return None if name.partition(".")[0] in blocked else self.finder.find_spec(name, *where)
sys.meta_path[:] = map(But, sys.meta_path)
sys.stdin = io.TextIOWrapper(io.BytesIO(typed.encode()))
from vaeval_tasks.cli import main
told = []
for verb in verbs:
    out, err, code = io.StringIO(), io.StringIO(), 0
    before = set(sys.modules)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(verb)
        except SystemExit as left:
            code = left.code
    told.append([verb, code, out.getvalue(), err.getvalue(), sorted(set(sys.modules) - before)])
print(json.dumps(told))
"""


def without_extras(
    project: dict[str, Any], folder: Path, verbs: list[list[str]], *, typed: str = "", more: tuple[str, ...] = ()
) -> list[tuple[list[str], int, str, str, list[str]]]:
    given = json.dumps([[*blocked(project), *more], verbs, typed])
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_KEY")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, given],
        cwd=folder,
        env=environment | {"VAEVAL_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_verb_shows_its_help_without_extras_and_without_heavy_libraries(
    project: dict[str, Any], tmp_path: Path
) -> None:
    heavy = ("lm_eval", "evaluate", "datasets", "sklearn")
    verbs = [[verb, "--help"] for verb in VERBS if verb != "lm-eval"]  # that help is the harness's own
    for verb, code, out, err, _ in without_extras(project, tmp_path, verbs, more=heavy):
        assert (code, err) == (0, ""), (verb, err)
        assert out.startswith("Usage: vaeval "), verb


def test_ratings_are_ranked_and_studies_simulated_without_extras(project: dict[str, Any], tmp_path: Path) -> None:
    rows = [f"p{i},{a},{b},r{i % 3},{i * i % 5 - 2}" for i in range(6) for a, b in ("xy", "yz", "zx")]
    text = "\n".join(["prompt,a,b,rater,score", *rows]) + "\n"
    (tmp_path / "ratings.csv").write_text(text)
    opinions = [f"p{i},{c},r{j},{1 + (i * j + ord(c)) % 5}" for i in range(4) for c in "xyz" for j in range(3)]
    (tmp_path / "mos.csv").write_text("\n".join(["prompt,config,rater,score", *opinions]) + "\n")
    few = ["--resamples", "20"]
    verbs = [
        ["rank", "ratings.csv", *few],
        ["rank", "-", *few],
        ["agree", "ratings.csv", "--splits", "10"],
        ["mos", "mos.csv", *few],
        ["simulate", "study", "--prompts", "19", "--raters", "6", "--mos-raters", "6"],
        ["tables", "study", "--splits", "10", *few],
        ["report", "study", "--splits", "10", *few],
        ["themes", "study"],
        ["check", "study"],
        ["power", "--prompts", "20", "--raters", "10", "--studies", "1", *few],
        ["tasks", "list"],
        ["configs", "list"],
        ["weights", "list"],
    ]
    told = without_extras(project, tmp_path, verbs, typed=text, more=("lm_eval", "evaluate", "datasets"))
    for verb, code, out, err, _ in told:
        assert (code, bool(out.strip())) == (0, True), (verb, err)
    assert told[0][2] == told[1][2]


def test_a_verb_without_its_extra_says_so_in_one_line_before_anything_heavy(
    project: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "study").mkdir()
    app = "Error: the rating app needs the package alembic. Install it with: pip install 'vaeval[study]'\n"
    demo = "Error: vaeval demo needs the package torch. Install it with: pip install 'vaeval[offline,study]'\n"
    expected = {
        ("serve", "study"): app,
        ("links", "study"): app,
        ("export", "study"): app,
        ("backup", "study"): app,
        ("rater", "delete", "study", "x"): app,
        ("demo",): demo,
    }
    told = without_extras(project, tmp_path, [list(verb) for verb in expected])
    for verb, code, out, err, loaded in told:
        assert (code, out, err) == (1, "", expected[tuple(verb)])
        assert {"lm_eval", "datasets", "evaluate", "numba", "scipy"} & set(loaded) == set(), verb


def test_formats_of_the_export_are_those_of_the_app() -> None:
    """They are written out in the command line, which must show them where the app cannot be imported."""
    from vaeval_tasks.cli.export import export
    from vaeval_tasks.collect.outgoing.export import Format

    (formats,) = (option.type.choices for option in export.params if option.name == "formats")
    assert list(formats) == list(Format)


def test_the_card_is_one_that_the_hub_reads(repository: Path) -> None:
    from huggingface_hub import DatasetCard

    card = DatasetCard((repository / "card.md").read_text(encoding="utf-8"))
    assert (card.data.license, card.data.language) == ("apache-2.0", ["en"])
    assert "voice-assistant" in card.data.tags
    assert card.text.lstrip().startswith("# Benchmark card")


def test_the_card_names_the_licence_of_every_package(repository: Path, project: dict[str, Any]) -> None:
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    wanted = {re.match(r"[\w.-]+", line)[0].replace("_", "-").lower() for group in groups for line in group}
    text = (repository / "card.md").read_text(encoding="utf-8")
    rows = re.search(r"^\| licence \| packages \|\n\|---\|---\|\n((?:\|.*\|\n)+)\n", text, re.MULTILINE)[1]
    named = [name for row in rows.splitlines() for name in row.split("|")[2].strip().split(", ")]
    # torchvision is in no environment that the table is made in: it clashes with a CPU build of torch
    assert sorted(named) == sorted(wanted - {"vaeval", "torchvision"})


def test_the_citation_is_of_this_version(repository: Path, project: dict[str, Any]) -> None:
    from vaeval_tasks import __version__

    cited = yaml.safe_load((repository / ".github" / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    assert (cited["title"], cited["version"], cited["license"]) == ("vaeval", __version__, project["license"])
    assert cited["authors"] == project["authors"]
