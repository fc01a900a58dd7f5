"""``vaeval agree``: inter-rater agreement and split-half reliability."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import emit, output_options, reading_of, source_options
from vaeval_tasks.verbs.options import MOST_DRAWS

__all__ = ["agree"]


@click.command()
@source_options
@click.option("--rubric", multiple=True, metavar="KEY", help="Only this rubric; may be repeated.")
@click.option(
    "--orientation",
    type=click.Choice(["mirrored", "presented", "by-id"]),
    default="mirrored",
    show_default=True,
    help="Which side's sign a score takes; mirrored does not depend on the labels.",
)
@click.option(
    "--metric",
    type=click.Choice(["interval", "ordinal", "nominal", "ratio"]),
    default="interval",
    show_default=True,
    help="Of Krippendorff's alpha, by what the scores are: distances, an order, or mere names.",
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
def agree(as_json: bool, out: Path | None, **options: Any) -> None:
    """Print Krippendorff's alpha, ICC(1), Gwet's AC2 and the split-half correlation of the ranking.

    SOURCE is a run folder, or a file as rank takes it or, of opinion scores, as mos does.

    Where judge models rated the run too (vaeval judge), each is set beside people: how often it picks what they pick,
    its position bias, and its Elo beside theirs.

    Example: vaeval agree RUN --splits 2000
    """
    from vaeval_tasks.verbs.agree import agree as agree_on

    found = agree_on(**reading_of(options))
    emit(found.to_json(), found.tables(), as_json=as_json, out=out)
