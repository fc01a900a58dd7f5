"""``vaeval predictors``: automatic metrics against people."""

from __future__ import annotations

from pathlib import Path

import click

from vaeval_tasks.cli.sources import emit, output_options, resample_options
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.verbs.options import MOST_DRAWS

__all__ = ["predictors"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--rubric", "rubrics", multiple=True, metavar="KEY", help="Only this rubric; may be repeated.")
@click.option(
    "--by", type=click.Choice(["model", "config"]), default="config", show_default=True, help="What is ranked."
)
@click.option(
    "--splits", type=click.IntRange(1, MOST_DRAWS), default=1000, show_default=True, help="Halves for the ceiling."
)
@click.option("--raters", type=click.Choice(["human", "simulated"]), help="Which kind, where there are several.")
@resample_options
@output_options
def predictors(
    run: Path,
    rubrics: tuple[str, ...],
    by: str,
    splits: int,
    raters: str | None,
    seed: int,
    resamples: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Tell which automatic metric may stand in for people, and for what.

    Responses are measured first (latency, length, speaking rate, level); those scores are kept in the run. Then every
    metric is set against every rubric: over systems, over single choices, and in a small combination that is judged on
    prompts and models it was not made from.

    Example: vaeval predictors RUN --rubric overall --json
    """
    from vaeval_tasks.analysis.load.entities import Level
    from vaeval_tasks.analysis.load.measured import load_measured
    from vaeval_tasks.analysis.load.ratings import load_ratings, pick_rubrics
    from vaeval_tasks.analysis.load.source import Source
    from vaeval_tasks.analysis.predict.predictor_tables import predictor_tables, predictors_json
    from vaeval_tasks.analysis.predict.predictors import predict
    from vaeval_tasks.scoring.metric import MetricFamily
    from vaeval_tasks.scoring.scores import score_responses, scoring_jobs
    from vaeval_tasks.stats import Draws
    from vaeval_tasks.store.answers import latest
    from vaeval_tasks.store.lock import Writer, writing
    from vaeval_tasks.store.run import RunDir

    folder = RunDir.existing(run)
    source = Source(path=folder.root, rater_kind=raters or "")
    ratings = load_ratings(source)
    chosen = pick_rubrics(ratings.data.rubrics, rubrics)
    answers = [response for response in latest(folder.responses()) if not response.task]
    with writing(folder.root, Writer.score):
        score_responses(folder, scoring_jobs(answers, ()), None, families=[MetricFamily.measures])
    metrics = load_measured(source, ratings)
    with progress_bar(resamples + splits, "predictors", "draw") as bar:
        found = predict(
            ratings,
            metrics,
            chosen,
            level=Level(by),
            draws=Draws(replicates=resamples, seed=seed),
            splits=splits,
            progress=bar.update,
        )
    emit(predictors_json(found), predictor_tables(found), as_json=as_json, out=out)
