"""The ``vaeval`` command line: one module per group of verbs, imported when a verb is used."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any, NoReturn

import click

from vaeval_tasks import __version__
from vaeval_tasks.errors import UnknownNameError, VaevalError

__all__ = ["cli", "main"]

# verb: (module below vaeval_tasks.cli, one line of help). The functions are named after their verbs.
VERBS: dict[str, tuple[str, str]] = {
    "configs": ("configs", "List and show the 19 published model configurations."),
    "prompts": ("prompts", "Check, select and import the recordings of a prompt set."),
    "generate": ("generate", "Ask models for responses to the prompts of a run; resumes where it stopped."),
    "responses": ("responses", "Bring answers that were recorded elsewhere into a study."),
    "pair": ("pair", "Design which configurations are compared on which prompt."),
    "serve": ("collect", "Serve the rating app for a run's pairs."),
    "links": ("collect", "Make personal links for raters."),
    "drive": ("collect", "Let simulated raters take a study through the app."),
    "rater": ("collect", "Delete a rater's personal data."),
    "export": ("export", "Export what was collected into the run's tables."),
    "backup": ("collect", "Copy a run's rating databases."),
    "rank": ("rank", "Rank models from comparative ratings, with intervals."),
    "agree": ("agree", "How far raters agree, and how stable the ranking is."),
    "cluster": ("cluster", "Which rubrics measure the same."),
    "mos": ("mos", "Mean opinion scores of single responses."),
    "themes": ("themes", "What free-text comments speak of."),
    "tables": ("tables", "Write every published table of a study."),
    "simulate": ("simulate", "Make a study with known truth."),
    "power": ("simulate", "How wide intervals will be, and how many ratings a width takes."),
    "publish": ("publish", "Upload a metric module to the Hub as a Space."),
    "demo": ("demo", "All 13 tasks on the embedded sample, with the offline model and metrics."),
    "lm-eval": ("harness", "Run lm-evaluation-harness with our tasks and models registered."),
    "tasks": ("harness", "List the tasks, say where they are, link them into lm-eval."),
    "score": ("score", "Score a run's responses again, without the model."),
    "compare": ("compare", "Compare scored runs on the items they share."),
    "gate": ("compare", "Exit 1 where a run is really worse than its baseline, for CI."),
    "check": ("check", "Check a run folder: fields, references, audio files, staleness."),
    "judge": ("judge", "Let an audio-capable chat model rate the pairs, in both orders."),
    "predictors": ("predictors", "Which automatic metric may stand in for people, and for what."),
    "report": ("report", "Draw the board: one HTML file."),
    "weights": ("weights", "Fetch and list model weights, as checked data."),
}


class _Failed(Exception):
    """An error of the system, carried past click."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class _Lazy(click.Group):
    """A group that imports a verb's module only when the verb is used, so that ``--help`` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"vaeval_tasks.cli.{VERBS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            raise click.UsageError(str(UnknownNameError("verb", args[0], VERBS)))
        return super().resolve_command(ctx, args)

    # click would end the program itself, with another code, where a pipe is broken
    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except OSError as error:
            raise _Failed(error) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            raise _Failed(error) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in VERBS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="vaeval")
def cli() -> None:
    """Score voice assistants by machine, on 13 tasks, and by people, as a ranking."""


def main(args: list[str] | None = None) -> int:
    """Run the command line and return 0, or leave with another exit code.

    Raises:
        SystemExit: 1: something the user can fix (told in one line), 2: usage, 130: interrupted, 141: nobody reads
            the output any more.
    """
    with suppress(AttributeError):  # a name that the terminal's encoding lacks is escaped, as on standard error
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = cli.main(args=args, prog_name="vaeval", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except VaevalError as error:
        _end(str(error))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; run the same command again to go on.", err=True)
        sys.exit(130)
    except Exception as error:
        _failed(error.error if isinstance(error, _Failed) else error)
        raise
    if isinstance(code, int) and code:  # what a verb gave to click's Exit
        sys.exit(code)
    return 0


def _failed(error: Exception) -> None:
    """End with one line for what is no defect."""
    from vaeval_tasks.cli import failures

    if isinstance(error, BrokenPipeError) and failures.output_closed():
        failures.silence()
        sys.exit(failures.SIGPIPE_CODE)
    line = failures.told(error)
    if line is not None:
        if line.startswith("standard output"):
            failures.silence()
        _end(line)


def _end(line: str) -> NoReturn:
    click.echo(f"Error: {line}", err=True)
    sys.exit(1)
