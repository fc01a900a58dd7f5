"""``vaeval cluster``: which rubrics measure the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import (
    emit,
    level_option,
    output_options,
    pairs_of,
    resample_options,
    source_of,
    source_options,
)
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.verbs.options import MOST_DRAWS

__all__ = ["cluster"]


@click.command()
@source_options
@level_option
@click.option("--rubric", "rubrics", multiple=True, metavar="KEY", help="Only these rubrics. [all but overall]")
@click.option("--groups", type=click.IntRange(min=1), default=2, show_default=True, help="How many groups.")
@click.option(
    "--halves", type=click.IntRange(0, MOST_DRAWS), default=500, show_default=True, help="Halves of the raters."
)
@click.option(
    "--pool",
    multiple=True,
    metavar="NAME=A+B",
    help="Fit entities as one. [the two GPT-Realtime models, where both are there]",
)
@click.option("--no-pool", is_flag=True, help="Pool nothing.")
@resample_options
@output_options
def cluster(
    by: str | None,
    rubrics: tuple[str, ...],
    groups: int,
    halves: int,
    pool: tuple[str, ...],
    no_pool: bool,
    seed: int,
    resamples: int,
    as_json: bool,
    out: Path | None,
    **reading: Any,
) -> None:
    """Group rubrics by what their rankings have beside general quality, and say how far to trust the groups.

    Example: vaeval cluster RUN --groups 2
    """
    from vaeval_tasks.analysis.agree import rubric_groups
    from vaeval_tasks.analysis.load.entities import Level, default_level
    from vaeval_tasks.analysis.load.ratings import load_ratings, pick_rubrics
    from vaeval_tasks.stats import Draws

    ratings = load_ratings(source_of(reading))
    level = Level(by) if by else default_level(ratings.data.entities, ratings.configs)
    named = {name: tuple(value.split("+")) for name, value in pairs_of("--pool", pool, split_commas=False)}
    published = rubric_groups.published_pool(ratings.at(level).entities)
    with progress_bar(resamples, "resamples", "fit") as bar:
        found = rubric_groups.clusters(
            ratings,
            [r for r in pick_rubrics(ratings.data.rubrics, rubrics) if rubrics or r != "overall"],
            level=level,
            k=groups,
            draws=Draws(replicates=resamples, seed=seed),
            halves=halves,
            pool={} if no_pool else named or published,
            progress=bar.update,
        )
    emit(
        rubric_groups.cluster_json(found),
        [rubric_groups.cluster_table(found, ratings.questions)],
        as_json=as_json,
        out=out,
    )
