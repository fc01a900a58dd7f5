"""``vaeval score``: score a run's responses again, without the model."""

from __future__ import annotations

import json
from pathlib import Path

import click

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.run import RunDir

__all__ = ["score"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--profile", type=click.Choice(["reference", "offline"]), default="reference", show_default=True)
@click.option("--judge-url", help="An OpenAI-compatible endpoint.")
@click.option("--judge-model", help="The judge's name there.")
@click.option("--judge-prompts", help="A folder with another set of judge prompts.")
@click.option("--utmos-path", help="UTMOS22 weights.")
@click.option("--asr-model", help="The recogniser, by name or path.")
@click.option("--speaker-path", help="Speaker encoder weights.")
@click.option("--emotion-path", help="Emotion recogniser weights.")
@click.option("--device", help="Where scorers run, such as cpu or cuda:0.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap.")
@click.option("--json", "as_json", is_flag=True, help="Print results.json instead of a table.")
def score(run: Path, profile: str, seed: int, as_json: bool, **options: str | None) -> None:
    """Score the responses in the folder RUN again, without the model.

    What was scored by the same scorers is not scored again. Example: vaeval score RUN --profile offline
    """
    from vaeval_tasks.metrics import profiles
    from vaeval_tasks.scoring.results import changed_scorers, latest, read_results, score_run
    from vaeval_tasks.scoring.results_text import results_text

    folder = RunDir.existing(run)
    responses = latest(folder.responses())
    if not responses:
        raise InputError("there are no responses; make some with vaeval lm-eval or vaeval generate", path=run)
    before = read_results(folder)
    try:
        scorers = profiles.load_scorers(profile, **{name: v for name, v in options.items() if v is not None})
    except InputError as error:
        raise InputError(f"{error}; give --judge-url URL, or --profile offline") from None
    made = score_run(folder, responses, scorers, seed=seed)
    for line in changed_scorers(before, made):
        click.echo(f"Note: {line}", err=True)
    results = read_results(folder)
    click.echo(json.dumps(results.to_json(), indent=1, sort_keys=True) if as_json else results_text(results))
