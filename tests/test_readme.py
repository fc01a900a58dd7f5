"""The root README: short, its results fresh, its pictures small, its links and commands real; its notebooks run."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import click
import pictures
import pytest
from click.shell_completion import split_arg_string
from PIL import Image

from vaeval_tasks.cli import cli

TEXT = pictures.README.read_text(encoding="utf-8")
SHOWN, REFERENCE = TEXT.split("\n## Reference\n")
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
COMMAND = re.compile(r"(?:\$ )?(?:\.venv/bin/)?vaeval (?!VERB)(.+)")
NUMBER = re.compile(r"-?\d+\.\d+")
NOTEBOOKS = sorted((pictures.README.parent / ".github" / "notebooks").glob("*.ipynb"))


def test_the_page_is_short() -> None:
    assert len(SHOWN.split()) <= 900


def test_the_ranking_is_what_its_command_prints() -> None:
    assert pictures.block(TEXT, "ranking") == pictures.ranking_block()


def test_the_demos_table_has_every_row_and_every_number() -> None:
    lines = pictures.block(TEXT, "demo").splitlines()
    assert lines[0] == "$ vaeval demo"
    names = [line.split()[0] for line in lines[3:]]
    families = {"listening": 4, "speaking": 8, "viewing": 1}
    assert [n for n in names if n in families] == list(families)
    for family, members in families.items():
        assert sum(name.startswith(f"{family}_") for name in names) == members
    rows = [line for line in lines[3:] if line.split()[0] in families or line.startswith(("  ", "overall"))]
    assert len(rows) == 17
    column = lines[2].index("score") + len("score")
    for row in rows:
        assert NUMBER.fullmatch(row[column - 6 : column].strip()), row
        if row.startswith("  "):
            assert len(NUMBER.findall(row)) >= 6, row  # content, speech, consistency, score, its interval


def test_a_table_is_replaced_between_its_markers(tmp_path: Path) -> None:
    changed = pictures.with_block(TEXT, "demo", "$ vaeval demo\nno \\1 table")
    assert pictures.block(changed, "demo") == "$ vaeval demo\nno \\1 table"
    assert pictures.with_block(changed, "demo", pictures.block(TEXT, "demo")) == TEXT
    with pytest.raises(ValueError, match="0 blocks 'nothing'"):
        pictures.block(TEXT, "nothing")


def test_pictures_are_there_and_small() -> None:
    shown = {Path(src).name for _, src in LINK.findall(TEXT) if src}
    there = {path.name for path in pictures.PICTURES.iterdir()}
    assert shown == there == {"board-light.png", "board-dark.png", "rating-page.png"}
    for path in pictures.PICTURES.iterdir():
        assert path.stat().st_size < 80_000
        with Image.open(path) as picture:
            assert picture.width == round(pictures.VIEW["width"] * pictures.SCALE)
    light, dark = (_ground(pictures.PICTURES / f"board-{scheme}.png") for scheme in ("light", "dark"))
    assert dark < 60 < 200 < light


def _ground(path: Path) -> float:
    with Image.open(path) as picture:
        found: Any = picture.convert("L").getpixel((2, 2))
    return float(found)


def test_links_lead_to_files_of_the_repository(repository: Path) -> None:
    links = {a or b for a, b in LINK.findall(TEXT)}
    local = {link for link in links if not link.startswith("https://")}
    assert "card.md" in local
    assert {link for link in local if not (repository / link).is_file()} == set()


def _commands() -> list[str]:
    """Every command line of ``vaeval`` in the page's code, without what a shell would add."""
    fenced = re.findall(r"^```(?:bash|text)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    code = [line for block in fenced for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", TEXT)
    found = [COMMAND.match(line.split("&&")[-1].split("#")[0].strip()) for line in code]
    return sorted({match[1].strip() for match in found if match})


@pytest.mark.parametrize("command", _commands())
def test_commands_that_it_shows_are_understood(command: str) -> None:
    """Verb, subverb and every option exist; nothing is run."""
    words = split_arg_string(command.replace("…", "").replace("[", "").replace("]", ""))
    group: click.Command = cli
    while isinstance(group, click.Group) and words and not words[0].startswith("-"):
        context = click.Context(group)
        below = group.get_command(context, words[0])
        assert below is not None, f"no verb {words[0]!r}"
        group, words = below, words[1:]
    options = {name for parameter in group.params for name in (*parameter.opts, *parameter.secondary_opts)}
    if group.name == "lm-eval":  # its options are lm-eval's own
        options |= {"--model", "--model_args", "--tasks", "--metadata"}
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= options


def test_every_verb_is_in_the_reference() -> None:
    for verb in cli.list_commands(click.Context(cli)):
        assert re.search(rf"`(?:vaeval )?{verb}\b", REFERENCE), verb


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_of_format_4_and_stripped(path: Path) -> None:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    for cell in book["cells"]:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        assert cell["metadata"] == {}
        kinds = {"markdown": set(), "code": {"outputs", "execution_count"}}
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | kinds[cell["cell_type"]]
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_there_are_two_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["rank_your_ratings", "study_end_to_end"]


def run_notebook(path: Path) -> dict[str, Any]:
    """Run the code cells in order, as a notebook does; return its names, and what each cell shows under ``shown``."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            body = ast.parse("".join(cell["source"])).body
            last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, type_ignores=[]), f"{path.name}, cell {number}", "exec"), names)
            if last is not None:
                shown.append(eval(compile(last, f"{path.name}, cell {number}", "eval"), names))
    return names | {"shown": shown}


def test_the_notebook_of_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NOTEBOOKS[0].parent)
    found = run_notebook(NOTEBOOKS[0])
    assert found["board"].best_first == ("brand3", "brand5", "brand1", "brand2", "brand4")
    for result in found["shown"]:
        assert result is not None
    toy = found["shown"][-2]
    assert len(toy.rows) == 3
    assert all(row.low is not None for row in toy.rows)
    assert "_repr_html_" in dir(found["board"])


def test_the_notebook_of_a_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    found = run_notebook(NOTEBOOKS[1])
    work = Path.cwd()
    assert work.parent == tmp_path
    assert {row.entity.split("/")[-1] for row in found["board"].rows} == {"clear", "hissing", "noisy"}
    assert set(found["truth"]) == set(found["board"].best_first)
    assert "Simulated raters" in (work / "board.html").read_text(encoding="utf-8")
