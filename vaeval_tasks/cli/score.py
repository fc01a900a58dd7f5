"""``vaeval score``: score a run's responses again, without the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.metrics.guest_scorers import ROLES
from vaeval_tasks.services.http.request_options import JUDGE_OPTIONS

if TYPE_CHECKING:
    from vaeval_tasks.scoring.forecast import MetricForecast

__all__ = ["score"]


def _own_scorers(values: tuple[str, ...]) -> dict[str, str]:
    """Read ``speech=acme-mos``.

    Raises:
        UnknownNameError: there is no such role.
        UsageError: a value is not of that form, or a role is named twice.
    """
    found: dict[str, str] = {}
    for value in values:
        role, _, name = value.partition("=")
        if not name:
            raise click.UsageError(f"--scorer: expected ROLE=NAME such as speech=package.module:Class, got {value!r}")
        if role not in ROLES:
            raise UnknownNameError("role", role, ROLES, where="--scorer")
        if role in found:
            raise click.UsageError(f"--scorer: {role} is given twice")
        found[role] = name
    return found


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of how a judge is asked, ``--judge-max-tokens`` and the others, to a verb."""
    for name, option in reversed(JUDGE_OPTIONS.items()):
        command = click.option(f"--{name.replace('_', '-')}", metavar=option.field.upper(), help=option.about)(command)
    return command


def _forecast_text(rows: Sequence[MetricForecast]) -> str:
    lines = [f"{'metric':16} {'to make':>8} {'at hand':>8} {'judge calls':>12} {'tokens in':>10}  scorer"]
    for row in rows:
        lines.append(f"{row.metric:16} {row.to_make:8} {row.at_hand:8} {row.calls:12} {row.tokens:10}  {row.scorer}")
    return "\n".join([*lines, "Nothing was asked. Tokens are estimated; the judge's replies come on top."])


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--profile", type=click.Choice(["reference", "offline"]), default="reference", show_default=True)
@click.option(
    "--scorer",
    "own",
    multiple=True,
    metavar="ROLE=NAME",
    help="A scorer of your own in the place of the profile's: ROLE is judge, speech, recogniser, speaker or emotion; "
    "NAME is what its package calls it, or package.module:Class; judge=local is a small model on this machine (vaeval "
    "weights pull judge). May be repeated.",
)
@click.option("--judge-url", help="An OpenAI-compatible endpoint.")
@click.option("--judge-model", help="The judge's name there.")
@click.option("--judge-prompts", help="A folder with another set of judge prompts.")
@judge_options
@click.option("--utmos-path", help="UTMOS22 weights.")
@click.option("--asr-model", help="The recogniser, by name or path.")
@click.option("--speaker-path", help="Speaker encoder weights.")
@click.option("--emotion-path", help="A folder of emotion2vec, or an audio classifier; none: judge without emotions.")
@click.option("--device", help="Where scorers run, such as cpu or cuda:0.")
@click.option(
    "--min-judged",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="A task of which a smaller share of items has a verdict and scores gets no score.",
)
@click.option("--seed", type=click.IntRange(min=0), expose_value=False, hidden=True, help="Intervals draw nothing now.")
@click.option(
    "--retry-unjudged", is_flag=True, help="Ask once more for verdicts that the judge could not give; they cost again."
)
@click.option(
    "--dry-run", is_flag=True, help="Print scores to make, judge calls and tokens; ask nothing, write nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead of a table.")
def score(run: Path, own: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Score the responses in the folder RUN again, without the model.

    What was scored by the same scorers is not scored again. Example: vaeval score RUN --profile offline
    """
    from vaeval_tasks.scoring.results_text import results_text
    from vaeval_tasks.verbs.score import score as score_run

    found = score_run(run, scorer=_own_scorers(own), **options)
    if found.forecast and not as_json:
        click.echo(_forecast_text(found.forecast))
        return
    for line in found.changes:
        click.echo(f"Note: {line}", err=True)
    text = json.dumps(found.to_json(), indent=1, sort_keys=True) if as_json else results_text(found.results)
    click.echo(text)
