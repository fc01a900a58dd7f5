"""Options that the analysis verbs share: what to read and how, and where the result goes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from vaeval_tasks.errors import InputError
from vaeval_tasks.verbs.options import FEWEST_DRAWS, MOST_DRAWS

__all__ = [
    "FiniteRange",
    "emit",
    "level_option",
    "output_options",
    "pairs_of",
    "reading_of",
    "resample_options",
    "source_of",
    "source_options",
]

F = TypeVar("F", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A number within limits; ``nan`` and ``inf``, which click lets through, are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or fail as a usage error."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def pairs_of(option: str, texts: Sequence[str], *, split_commas: bool = True) -> list[tuple[str, str]]:
    """Return the ``NAME=VALUE`` pairs of an option.

    Raises:
        click.BadParameter: one has no ``=``.
    """
    out = []
    for text in [part for t in texts for part in (t.split(",") if split_commas else [t])]:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"expected NAME=VALUE, got {text!r}", param_hint=option)
        out.append((name.strip(), value.strip()))
    return out


def _there(ctx: click.Context, param: click.Parameter, path: Path) -> Path:
    """Refuse a source that is not there before anything that reads one is imported."""
    if path != Path("-") and not path.exists():
        raise InputError("no such file", path=path)
    return path


def source_options(command: F) -> F:
    """Add the argument SOURCE and how to read it."""
    for decorate in reversed(
        (
            click.argument("source", type=click.Path(path_type=Path), callback=_there),
            click.option(
                "--columns",
                multiple=True,
                metavar="OURS=THEIRS,…",
                help="What the file calls our columns, such as a=left,b=right,score=rating.",
            ),
            click.option(
                "--scores",
                multiple=True,
                metavar="WORD=SCORE,…",
                help="Words for scores, such as a=1,b=-1,same=0; WORD=drop leaves its rows out.",
            ),
            click.option(
                "--scale",
                default="",
                metavar="LOW..HIGH",
                help="Of the scores, such as 0..100, 1..5:0.5 (in half points), 100..0 (the low end prefers a, or is "
                "best). [default: -3..3, of opinions 1..5, or found and said]",
            ),
            click.option(
                "--bins",
                type=click.IntRange(min=0),
                default=0,
                help="Put comparisons on so many levels. [default: none]",
            ),
            click.option(
                "--where",
                multiple=True,
                metavar="FIELD=VALUE",
                help="Only such prompts (a run: category, level, difficulty, condition) or rows (a file: any column). "
                "May be repeated: one field, either value; several fields, all of them.",
            ),
            click.option(
                "--format",
                metavar="TOOL",
                default="",
                help="Whose export it is: lmarena, label-studio, potato, jspsych, webmushra, p808, voicemos, argilla, "
                "google-forms; plain: nobody's. [default: found by the columns, and said]",
            ),
            click.option(
                "--pattern",
                default="",
                metavar="REGEX",
                help="Of an export: takes systems and prompts out of the names of its items, by named groups such as "
                "(?P<config>…), (?P<a>…), (?P<b>…), (?P<prompt>…).",
            ),
            click.option(
                "--wide",
                default="",
                metavar="REGEX",
                help="Columns that are called so hold ratings, a column a question; named groups say of what, such as "
                "(?P<rubric>…), (?P<config>…), (?P<prompt>…).",
            ),
            click.option(
                "--key",
                type=click.Path(path_type=Path, dir_okay=False),
                help="Of an export that does not name its systems: a table with the columns item, and a, b or config.",
            ),
            click.option("--encoding", default="auto", help="Of a text file. [default: found]"),
            click.option(
                "--duplicates",
                type=click.Choice(["error", "last", "keep"]),
                default="error",
                show_default=True,
                help="A second rating by one rater of the same thing.",
            ),
            click.option(
                "--rubrics",
                "rubrics_file",
                type=click.Path(path_type=Path, dir_okay=False),
                help="Questions of your own: YAML, a list of key and optionally label, text, group.",
            ),
            click.option("--any-rubric", is_flag=True, help="Take rubric names that are not of the study's twelve."),
            click.option(
                "--raters",
                type=click.Choice(["human", "simulated", "judge"]),
                help="Which kind, where a run holds several; kinds are never mixed.",
            ),
        )
    ):
        command = decorate(command)
    return command


def reading_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the source and how to read it, as the options of a verb name them, as arguments of its function."""
    return {
        **options,
        "columns": dict(pairs_of("--columns", options["columns"])),
        "scores": dict(pairs_of("--scores", options["scores"])),
        "where": pairs_of("--where", options["where"], split_commas=False),
    }


def source_of(options: Mapping[str, Any]) -> Any:
    """Return the source that the options of a verb name."""
    from vaeval_tasks.verbs.source import source_of as read_from

    return read_from(**reading_of(options))


def resample_options(command: F) -> F:
    """Add the seed and the number of bootstrap resamples."""
    for decorate in (
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of everything drawn."),
        click.option(
            "--resamples",
            type=click.IntRange(FEWEST_DRAWS, MOST_DRAWS),
            default=1000,
            show_default=True,
            help="Bootstrap resamples.",
        ),
    ):
        command = decorate(command)
    return command


def level_option(command: F) -> F:
    """Add ``--by``."""
    return click.option(
        "--by",
        type=click.Choice(["model", "config", "voice", "thinking"]),
        help="What is compared. [default: model where the names tell models, else config]",
    )(command)


def _writable(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file that could not be written in the end, before anything is computed."""
    from vaeval_tasks.analysis.table import require_ending

    if path is not None:
        require_ending(path)
    return path


def output_options(command: F) -> F:
    """Add ``--json`` and ``--out``."""
    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, dir_okay=False),
            callback=_writable,
            help="Write to a .json, .csv or .md file as well.",
        ),
    ):
        command = decorate(command)
    return command


def emit(result: Mapping[str, Any], tables: Sequence[Any], *, as_json: bool, out: Path | None) -> None:
    """Write a result to ``--out`` if named, then print it as JSON or as tables."""
    from vaeval_tasks.analysis.table import plain, write_result

    if out is not None:
        write_result(out, result, tables)
    if as_json:
        click.echo(json.dumps(plain(result), ensure_ascii=False, allow_nan=False))
    else:
        click.echo("\n".join(table.text() for table in tables), nl=False)
