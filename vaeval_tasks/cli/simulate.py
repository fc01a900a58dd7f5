"""``vaeval simulate`` and ``vaeval power``: studies with known truth, and how many ratings one needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import FiniteRange, emit, output_options
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.verbs.options import MOST_DRAWS

__all__ = ["power", "simulate"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--prompts", type=click.IntRange(1, 100_000), default=819, show_default=True)
@click.option("--raters", type=click.IntRange(1, 1_000_000), default=283, show_default=True, help="Raters of pairs.")
@click.option("--per-pair", type=click.IntRange(1, 1000), default=2, show_default=True, help="Raters of one pair.")
@click.option(
    "--completion", type=FiniteRange(0, 1, min_open=True), default=0.96, show_default=True, help="Tasks done."
)
@click.option("--mos-raters", type=click.IntRange(1, 1_000_000), default=251, show_default=True)
@click.option("--mos-per-sample", type=FiniteRange(min=0), default=1.55, show_default=True, help="0: no MOS.")
@click.option(
    "--comment-rate", type=FiniteRange(0, 1), default=0.3, show_default=True, help="MOS tasks with a comment."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def simulate(run: Path, per_pair: int, seed: int, **shape: Any) -> None:
    """Make a run folder with a study of known truth: pairs, ratings, MOS, comments, raters; truth.json has the truth.

    The defaults are the published study's: 19 configurations, 819 prompts, 283 raters, 153 thousand ratings.

    Example: vaeval simulate study --prompts 100 --raters 40 --seed 1
    """
    from vaeval_tasks.simulate import Shape, write_study
    from vaeval_tasks.simulate import simulate as draw

    study = draw(Shape(raters_per_pair=per_pair, **shape), seed=seed)
    made = write_study(study, run)
    for name, entry in made.manifest()["tables"].items():
        click.echo(f"{name}: {entry['rows']} rows, {made.path(name)}")
    click.echo(f"truth: {run / 'truth.json'}")


@click.command()
@click.option("--prompts", type=click.IntRange(2, 100_000), default=819, show_default=True)
@click.option("--raters", type=click.IntRange(2, 1_000_000), default=283, show_default=True)
@click.option("--per-pair", type=click.IntRange(1, 1000), default=2, show_default=True, help="Ratings of one pair.")
@click.option("--target", type=FiniteRange(min=1), help="Also: how many ratings for intervals of +-TARGET Elo?")
@click.option("--ci", type=click.Choice(["bootstrap", "sandwich", "iid"]), default="bootstrap", show_default=True)
@click.option(
    "--studies", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Simulated studies a plan."
)
@click.option(
    "--resamples", type=click.IntRange(20, MOST_DRAWS), default=200, show_default=True, help="Bootstrap resamples."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@output_options
def power(
    prompts: int,
    raters: int,
    per_pair: int,
    target: float | None,
    ci: str,
    studies: int,
    resamples: int,
    seed: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Print how wide intervals of the overall board will be for a planned study, and what a wanted width takes.

    Every plan has 19 configurations, each on every prompt in 10 pairs. Simulated, with the closed formula beside.

    Example: vaeval power --prompts 200 --raters 100 --per-pair 2 --target 25
    """
    from vaeval_tasks.analysis.rank import power as planning
    from vaeval_tasks.stats import Ci

    plan = planning.Plan(prompts=prompts, raters=raters, ratings_per_pair=per_pair)
    settings = planning.PowerSettings(ci=Ci(ci), studies=studies, resamples=resamples, seed=seed)
    with progress_bar(studies, "simulated studies", "study") as bar:
        widths = [planning.expected_width(plan, settings, progress=bar.update)]
        answer, refusal = None, None
        try:
            answer = planning.plan_for(target, plan, settings, progress=bar.update) if target else None
        except EstimationError as error:  # what the plan gives is known all the same
            refusal = error
    emit(planning.power_json(widths[0], answer), planning.power_tables(widths[0], answer), as_json=as_json, out=out)
    if refusal is not None:
        raise refusal
