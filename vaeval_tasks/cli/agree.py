"""``vaeval agree``: inter-rater agreement and split-half reliability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vaeval_tasks.cli.sources import MOST_DRAWS, bar, emit, output_options, source_of, source_options

if TYPE_CHECKING:
    from vaeval_tasks.analysis.load.ratings import Ratings
    from vaeval_tasks.analysis.load.source import Source
    from vaeval_tasks.analysis.table import Table

__all__ = ["agree"]


@click.command()
@source_options
@click.option("--rubric", "rubrics", multiple=True, metavar="KEY", help="Only this rubric; may be repeated.")
@click.option(
    "--orientation",
    type=click.Choice(["mirrored", "presented", "by-id"]),
    default="mirrored",
    show_default=True,
    help="Which side's sign a score takes; mirrored does not depend on the labels.",
)
@click.option(
    "--weights",
    type=click.Choice(["quadratic", "linear", "ordinal", "identity"]),
    default="quadratic",
    show_default=True,
    help="Gwet's agreement weights; identity is AC1.",
)
@click.option(
    "--splits",
    type=click.IntRange(0, MOST_DRAWS),
    default=20_000,
    show_default=True,
    help="Random halves of the raters.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the splits.")
@output_options
def agree(
    rubrics: tuple[str, ...],
    orientation: str,
    weights: str,
    splits: int,
    seed: int,
    as_json: bool,
    out: Path | None,
    **reading: Any,
) -> None:
    """Print Krippendorff's alpha, ICC(1), Gwet's AC2 and the split-half correlation of the ranking.

    Where judge models rated the run too (vaeval judge), each is set beside people: how often it picks what they pick,
    its position bias, and its Elo beside theirs.

    Example: vaeval agree RUN --splits 2000
    """
    from vaeval_tasks.analysis.agree import agreement as agreement_of
    from vaeval_tasks.analysis.load.entities import Level, default_level
    from vaeval_tasks.analysis.load.ratings import load_ratings, pick_rubrics
    from vaeval_tasks.errors import EstimationError
    from vaeval_tasks.stats import Orientation, Weights

    source = source_of(reading)
    ratings = load_ratings(source)
    if not ratings.has_raters or not ratings.has_prompts:
        raise EstimationError(f"{ratings.path}: agreement needs to know who rated what; the file names no raters")
    chosen = pick_rubrics(ratings.data.rubrics, rubrics)
    found = agreement_of.agreements(
        ratings, chosen, orientation=Orientation(orientation.replace("-", "_")), weights=Weights(weights)
    )
    halves: tuple[agreement_of.LevelSplitHalf, ...] = ()
    if splits:
        levels = [Level.config]
        if default_level(ratings.data.entities, ratings.configs) is Level.model:
            levels.append(Level.model)
        with bar(splits * len(levels), "split halves", "split") as update:
            halves = agreement_of.split_halves(ratings, chosen, levels, splits=splits, seed=seed, progress=update)
    tables = [agreement_of.agreement_table(found), *([agreement_of.split_half_table(halves)] if halves else [])]
    beside = _judges(source, ratings, chosen, seed)
    judges = {table.name: list(table.rows) for table in beside}
    result = {"rows": agreement_of.agreement_rows(found), "split_half": agreement_of.split_half_rows(halves), **judges}
    emit(result, [*tables, *beside], as_json=as_json, out=out)


def _judges(source: Source, ratings: Ratings, rubrics: tuple[str, ...], seed: int) -> list[Table]:
    """Return the tables of judges beside people; none where no judge rated the run."""
    from vaeval_tasks.analysis.agree.judged import judge_tables, judge_views, load_judged
    from vaeval_tasks.analysis.load.entities import default_level
    from vaeval_tasks.stats import Draws

    if source.run is None or not source.run.has("judge_ratings"):
        return []
    level = default_level(ratings.data.entities, ratings.configs)
    return judge_tables(judge_views(ratings, load_judged(source), rubrics, level, Draws(seed=seed)))
