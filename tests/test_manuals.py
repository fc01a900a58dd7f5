"""Every example of a manual runs, or at least says what the command line understands."""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from vaeval_tasks.cli import cli, main
from vaeval_tasks.hosts.lm_eval.register import MODELS
from vaeval_tasks.hosts.lm_eval.run_settings import METADATA
from vaeval_tasks.scoring.suite import FAMILIES, GROUP, TASKS

REPOSITORY = Path(__file__).resolve().parent.parent
HOUSE = REPOSITORY / "vaeval_tasks" / "README.md"
FOLDERS = ("vaeval_tasks", "metrics", "task_configs", ".github")
PAGES = [
    "README.md",
    *sorted(p.relative_to(REPOSITORY).as_posix() for f in FOLDERS for p in (REPOSITORY / f).rglob("*.md")),
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:[A-Z_]+=\S+ )?(?:vaeval|python|torchrun|lm_eval) [^`]+)`")

# needs recordings, a model, a service, a reader of a page or the right to change what is installed
ASKS = {
    *("serve", "drive", "links", "export", "backup", "rater", "judge", "generate", "lm-eval", "score", "weights"),
    *("demo", "publish", "pair", "predictors", "prompts check", "prompts import", "prompts report", "tasks link"),
    "tasks unlink",
}
QUICK = {"resamples": "50", "splits": "50", "halves": "10", "studies": "1", "mos_raters": "12"}
"""Fewer draws than the defaults, where an example does not say how many."""
RUN = ("vaeval_tasks/analysis", "vaeval_tasks/report", "vaeval_tasks/simulate", "vaeval_tasks/store")
RUN_PAGES = (*(f"{room}/README.md" for room in RUN), "vaeval_tasks/asking/README.md", "vaeval_tasks/prompts/README.md")
PYTHON = ("vaeval_tasks/metrics/README.md", "vaeval_tasks/hosts/README.md", "vaeval_tasks/store/README.md")
"""Pages whose Python is run here. The others' is run by test_python_door, test_third_party, test_registry,
test_recipes and tests/testing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One command of a manual."""

    text: str
    words: tuple[str, ...]
    """Without variables before it, what is piped and where it goes."""
    out: str = ""
    """The file that takes its output."""


def blocks(manual: str, *kinds: str) -> list[str]:
    return [text for kind, text in FENCED.findall((REPOSITORY / manual).read_text("utf-8")) if kind in kinds]


def commands(block: str) -> list[Line]:
    found = []
    for text in block.replace("\\\n", " ").splitlines():
        scanner = shlex.shlex(text, posix=True, punctuation_chars="();<>|&")
        scanner.whitespace_split, scanner.commenters = True, "#"
        words: list[str] = []
        for word in [*scanner, ";"]:
            if word in (";", "&&", "&", "|", ">") and words:
                while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                    words = words[1:]
                if words:
                    found.append(Line(text=text.strip(), words=tuple(words)))
                words = [">"] if word == ">" else []
            elif word not in (";", "&&", "&", "|"):
                words.append(word)
    out: list[Line] = []
    for line in found:  # "> FILE" belongs to the command before it
        if line.words[0] == ">":
            out[-1] = Line(text=out[-1].text, words=out[-1].words, out=line.words[1])
        else:
            out.append(line)
    return out


def vaeval_words(line: Line) -> list[str] | None:
    """The arguments of ``vaeval``, however it is started; None where something else is."""
    words = list(line.words)
    if "vaeval_tasks.cli" in words:
        return words[words.index("vaeval_tasks.cli") + 1 :]
    return words[1:] if words[0] in ("vaeval", ".venv/bin/vaeval") else None


def lines_of(manual: str) -> list[Line]:
    """Every command of a manual, in blocks and within the text."""
    text = (REPOSITORY / manual).read_text("utf-8")
    inline = INLINE.findall(FENCED.sub("", text).replace("\n", " "))
    return [line for block in [*blocks(manual, "bash", "sh", "shell"), *inline] for line in commands(block)]


def check_vaeval(words: list[str]) -> None:
    """Let click read the arguments, without running anything; what stands for more (…) ends them."""
    words = [word for word in words if word not in ("…", "VERB", "--help")]
    command, name = cli, ""
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0).rstrip("`,")
        known = command.get_command(click.Context(command), name)
        assert known is not None, f"there is no verb {name!r}"
        command = known
    if command.name == "lm-eval":
        check_harness(words)
        return
    context = click.Context(command, info_name=name)
    given, left, _ = command.make_parser(context).parse_args(list(words))
    assert not left, f"{name}: too many arguments: {left}"
    for parameter in command.params:
        value = given.get(parameter.name or "")
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and isinstance(parameter.type, click.Choice | click.types._NumberRangeBase):
                parameter.type.convert(one, parameter, context)


def check_harness(words: list[str]) -> None:
    """Names that are ours: models, tasks, metadata."""
    options: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            options[word] = []
        elif options:
            options[list(options)[-1]].append(word)
    names = {*TASKS, GROUP, *(f"{GROUP}_{family}" for family in FAMILIES), "pub_quiz"}
    known = {"--model", "--model_args", "--tasks", "--metadata", "--include_path", "--output_path"}
    assert set(options) <= known | {"--apply_chat_template"}
    assert set(options.get("--model", ())) <= set(MODELS) | {"local-chat-completions"}
    assert {name for text in options.get("--tasks", ()) for name in text.split(",")} <= names
    assert {pair.split("=")[0] for pair in options.get("--metadata", ())} <= set(METADATA)


@pytest.mark.parametrize("manual", PAGES)
def test_the_command_line_understands_every_example(manual: str) -> None:
    for line in lines_of(manual):
        words = vaeval_words(line)
        try:
            if words is not None:
                check_vaeval(words)
            elif line.words[0] == "python" or line.words[0].endswith("/python"):
                check_python(line)
        except (AssertionError, click.UsageError) as error:
            pytest.fail(f"{manual}: {line.text}: {error}")


@pytest.mark.parametrize(
    "text",
    [
        *("vaeval rnk study", "vaeval rank study --cii iid", "vaeval rank study --ci idd", "vaeval tasks lst"),
        *("vaeval check A B", "vaeval generate RUN --processes 0", "A=1 vaeval mos x --bye model > y; vaeval demo"),
        *("vaeval lm-eval --model vaeval-ofline", "vaeval lm-eval --model vaeval --metadata profil=offline"),
        *("vaeval lm-eval --tasks listening_genral", "torchrun -m vaeval_tasks.cli generat RUN"),
    ],
)
def test_a_wrong_example_is_found(text: str) -> None:
    words = [vaeval_words(line) for line in commands(text)]
    assert words[0] is not None
    with pytest.raises((AssertionError, click.UsageError)):
        check_vaeval(words[0])


def check_python(line: Line) -> None:
    """What is run lies in the repository."""
    for word in line.words[1:]:
        if word.startswith(("tests/", "metrics/")):
            assert (REPOSITORY / word).exists(), f"there is no {word}"


@pytest.mark.parametrize("manual", PAGES)
def test_links_lead_somewhere(manual: str) -> None:
    folder = (REPOSITORY / manual).parent
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", (REPOSITORY / manual).read_text("utf-8"))):
        path, _, place = target.partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        found = folder / path if path else REPOSITORY / manual
        assert found.exists(), f"{manual}: {target}"
        if place:
            heads = re.findall(r"^#+ (.*)$", found.read_text("utf-8"), re.MULTILINE)
            assert place in {re.sub(r"[^\w\- ]", "", head).lower().replace(" ", "-") for head in heads}, target


@pytest.mark.parametrize("manual", PAGES)
def test_python_examples_are_python(manual: str) -> None:
    for block in blocks(manual, "python", "py"):
        source = f"{{{block}}}" if re.match(r'"\w+": ', block) else block  # an entry of a mapping
        compile(source, manual, "exec")
        for module, names in re.findall(r"^from (vaeval_tasks[\w.]*) import ([\w, ]+)$", block, re.MULTILINE):
            assert not [n for n in names.split(", ") if not hasattr(importlib.import_module(module), n)], module


@pytest.mark.parametrize("manual", [manual for manual in PAGES if re.search(r"/README.md$", manual)])
def test_the_modules_that_a_page_lists_are_there(manual: str) -> None:
    text = (REPOSITORY / manual).read_text("utf-8")
    if "## Modules\n" not in text:
        return
    folder, listed = (REPOSITORY / manual).parent, text.split("## Modules\n")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (`[^|]+) \|", listed, re.MULTILINE):
        for name in re.findall(r"`([\w/]+)`", row):
            places = [folder, folder.parent / "design"] if folder.name == "prompts" else [folder]
            rooms = [place.parent / name.rstrip("/") for place in places]
            inside = [place / name.rstrip("/") for place in places]
            assert any(p.is_dir() or p.with_suffix(".py").is_file() for p in [*rooms, *inside]), f"{manual}: {name}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples work on: a study, the public rating files, ready-made figures."""
    folder = tmp_path_factory.mktemp("made")
    main(["simulate", str(folder / "RUN"), "--prompts", "20", "--raters", "16", "--mos-raters", "12", "--seed", "1"])
    shutil.copytree(REPOSITORY / "tests" / "data" / "ratings", folder / "tests" / "data" / "ratings")
    (folder / "figures.csv").write_text("rubric,model,cmos_elo,cmos_elo_lo,cmos_elo_hi\noverall,x,1010,990,1030\n")
    (folder / "ratings.csv").write_text("prompt,a,b,rater,score\np1,x,y,r1,1\n")
    (folder / "mine.yaml").write_text("configurations:\n- {model: a, provider: offline, params: {}}\n")
    return folder


def quick(words: list[str]) -> list[str]:
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None
    names = {parameter.name: parameter.opts[0] for parameter in command.params}
    few = {names[name]: value for name, value in QUICK.items() if name in names}
    return [word for name, value in few.items() if name not in words for word in (name, value)]


@pytest.mark.parametrize("manual", RUN_PAGES)
def test_examples_run(
    manual: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    ran = 0
    for block in blocks(manual, "bash"):
        monkeypatch.chdir(tmp_path)
        for line in commands(block):
            words = vaeval_words(line)
            if line.words[0] == "cd":
                monkeypatch.chdir(tmp_path / line.words[1])
            if words is None or words[0] in ASKS or " ".join(words[:2]) in ASKS:
                continue
            capsys.readouterr()
            try:
                assert main([*words, *quick(words)]) == 0
            except SystemExit as left:
                pytest.fail(f"{manual}: {line.text}: {left.code} {capsys.readouterr().err}")
            if line.out:
                Path(line.out).write_text(capsys.readouterr().out, "utf-8")
            ran += 1
    assert ran


@pytest.mark.parametrize("manual", PYTHON)
def test_python_runs(manual: str, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    for block in blocks(manual, "python"):
        if "simple_evaluate" not in block:  # a quarter of an hour; tests/hosts/lm_eval does it with a fake
            exec(compile(block, manual, "exec"), {})


def test_the_layers_of_the_house_are_those_of_the_contract() -> None:
    contract = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    shown = "\n".join(contract["layers"])
    assert f"```\n{shown}\n```" in HOUSE.read_text("utf-8")


def test_the_house_has_every_room() -> None:
    table = HOUSE.read_text("utf-8").split("## Rooms")[1].split("\n## ")[0]
    named = set(re.findall(r"`([\w.]+)/?`", table))
    there = {
        path.name
        for path in HOUSE.parent.iterdir()
        if (path.is_dir() and (path / "__init__.py").is_file()) or (path.suffix == ".py" and path.stem != "__init__")
    }
    assert there <= named, there - named


def test_the_house_is_short() -> None:
    assert len(HOUSE.read_text("utf-8").split()) < 1600
