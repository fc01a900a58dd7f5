"""``vaeval compare`` and ``vaeval gate``: scored runs on the items they share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from vaeval_tasks.cli.sources import FiniteRange
from vaeval_tasks.errors import VaevalError
from vaeval_tasks.verbs.options import FEWEST_DRAWS, MOST_DRAWS

__all__ = ["compare", "gate"]

F = TypeVar("F", bound=Callable[..., Any])
_QUANTITIES = ["score", "content", "speech", "consistency", "similarity"]


def _shared_options(command: F) -> F:
    for decorate in (
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draws."),
        click.option(
            "--resamples",
            type=click.IntRange(FEWEST_DRAWS, MOST_DRAWS),
            default=4999,
            show_default=True,
            help="Exchanges of the two runs that are drawn for each p value.",
        ),
        click.option(
            "--allow-different",
            is_flag=True,
            help="Go on, and mark it, where scorers, revisions of the data or prompts differ.",
        ),
        click.option("--tasks", multiple=True, metavar="TASK,…", help="Only these tasks; may be repeated."),
    ):
        command = decorate(command)
    return command


def _names(tasks: tuple[str, ...]) -> list[str] | None:
    names = [name.strip() for text in tasks for name in text.split(",") if name.strip()]
    return names or None


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--all-pairs", is_flag=True, help="Compare each run with every other one, not with the first only.")
@click.option(
    "--margin", type=FiniteRange(min=0), metavar="POINTS", help="Differences within it are taken as none: equivalent."
)
@_shared_options
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page with players there.")
@click.option(
    "--audio",
    type=click.Choice(["embed", "link"]),
    default="embed",
    show_default=True,
    help="The page's sound: within it, of the worst items, or in the run folders.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to a .json, .csv, .md or .html file as well.",
)
def compare(runs: tuple[str, ...], tasks: tuple[str, ...], as_json: bool, out: Path | None, **options: Any) -> None:
    """Compare scored runs on the items they share. The first RUN is what the others differ from.

    RUN is a folder that vaeval lm-eval or vaeval score worked on; FOLDER@CONFIGURATION names one of several
    configurations, and a single folder compares its own. Of every task, family and the whole: the difference of the
    printed scores, its 95 % interval (documents are clusters), p after Holm, and what that says. Where scorers, the
    data's revision or prompts differ there is no comparison, unless --allow-different asks for a marked one.

    Example: vaeval compare runs/old runs/new --margin 1 --html compare.html
    """
    from vaeval_tasks.analysis.table import require_ending, write_result
    from vaeval_tasks.cli.sources import emit
    from vaeval_tasks.verbs.compare import compare as compare_runs

    if out is not None and out.suffix == ".html":
        options["html"], out = options["html"] or out, None
    if out is not None:
        require_ending(out)
    found = compare_runs(*runs, tasks=_names(tasks), **options)
    if out is not None:
        write_result(out, found.to_json(), [found.long_table()] if out.suffix == ".csv" else found.tables())
    emit(found.to_json(), found.tables(), as_json=as_json, out=None)


class _NoVerdict(click.ClickException):
    """A gate that could not compare: neither passed nor failed."""

    exit_code = 2


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--baseline", required=True, metavar="RUN", help="What RUN must not fall behind.")
@click.option(
    "--margin",
    type=FiniteRange(min=0),
    default=0.0,
    show_default=True,
    metavar="POINTS",
    help="A drop up to it is allowed: only one that is shown to be larger is a regression.",
)
@click.option(
    "--on",
    type=click.Choice(_QUANTITIES),
    multiple=True,
    default=["score"],
    show_default=True,
    help="What is checked; may be repeated.",
)
@click.option("--allow-partial", is_flag=True, help="Go on where RUN lacks tasks or many items of its baseline.")
@_shared_options
@click.option("--junit", "junit_file", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML there.")
@click.option(
    "--summary", type=click.Path(path_type=Path, dir_okay=False), help="Append Markdown there: $GITHUB_STEP_SUMMARY."
)
def gate(
    run: str, baseline: str, tasks: tuple[str, ...], junit_file: Path | None, summary: Path | None, **options: Any
) -> None:
    """Say whether RUN is really worse than its baseline: a gate for continuous integration.

    Every task (and the whole, where all 13 were run) is tested for a drop larger than the margin, one-sided, with
    2.5 % for all of them together (Holm). One line is printed; its first word is ok or regression.

    Exit codes: 0 no regression is shown, 1 a regression, 2 the two could not be compared (one line on standard error,
    an error and no failure in the JUnit file) or usage.

    Example: vaeval gate runs/new --baseline runs/main --margin 1 --junit gate.xml
    """
    from vaeval_tasks.files import write_text
    from vaeval_tasks.paired.gate_check import check_gate
    from vaeval_tasks.paired.gate_files import gate_markdown, junit, junit_error
    from vaeval_tasks.verbs.compare import known_tasks, sides_of

    try:
        sides = sides_of([run, baseline])
        result = check_gate(sides[0], sides[1], tasks=known_tasks(_names(tasks)), **options)
    except VaevalError as error:
        if junit_file is not None:
            write_text(junit_file, junit_error(str(error)))
        if summary is not None:
            _append(summary, f"### vaeval gate: no verdict\n\n{error}\n")
        raise _NoVerdict(str(error)) from None
    if junit_file is not None:
        write_text(junit_file, junit(result))
    if summary is not None:
        _append(summary, gate_markdown(result))
    click.echo(result.summary)
    if result.regressions:
        raise click.exceptions.Exit(1)


def _append(path: Path, text: str) -> None:
    # the summary of a job holds what its other steps wrote
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
