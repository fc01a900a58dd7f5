"""``vaeval rank``: the board from ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import (
    FiniteRange,
    bar,
    emit,
    level_option,
    output_options,
    resample_options,
    source_of,
    source_options,
)

__all__ = ["rank"]


@click.command()
@source_options
@level_option
@click.option("--rubric", "rubrics", multiple=True, metavar="KEY", help="Only this rubric; may be repeated.")
@click.option(
    "--engine",
    type=click.Choice(["ordinal", "massey", "fractional"]),
    default="ordinal",
    show_default=True,
    help="Ordinal Bradley-Terry, Massey, or Bradley-Terry on partial margins.",
)
@click.option(
    "--ci",
    type=click.Choice(["bootstrap", "sandwich", "iid"]),
    default="bootstrap",
    show_default=True,
    help="Bootstrap (as published) or sandwich, of raters and prompts where both are named; or independent ratings.",
)
@resample_options
@click.option("--ridge", type=FiniteRange(min=0), default=0.0, help="Penalty where no finite fit exists. [0]")
@click.option("--difference", nargs=2, multiple=True, metavar="A B", help="The interval of A less B; may be repeated.")
@click.option("--side", is_flag=True, help="Also look for an advantage of the side shown first.")
@output_options
def rank(
    by: str | None,
    rubrics: tuple[str, ...],
    engine: str,
    ci: str,
    seed: int,
    resamples: int,
    ridge: float,
    difference: tuple[tuple[str, str], ...],
    side: bool,
    as_json: bool,
    out: Path | None,
    **reading: Any,
) -> None:
    """Rank models, configurations, voices or thinking levels from comparative ratings.

    SOURCE is a run folder, or a CSV, JSON lines or parquet file (- for standard input) with the columns prompt,
    a, b, rater, score (-3..3, positive where a is preferred), and optionally rubric and count.

    Example: vaeval rank ratings.csv --by config --ci sandwich --json
    """
    from vaeval_tasks.analysis.load.entities import Level, default_level
    from vaeval_tasks.analysis.load.ratings import load_ratings, pick_rubrics
    from vaeval_tasks.analysis.rank import board as board_of
    from vaeval_tasks.analysis.rank.board_tables import board_tables
    from vaeval_tasks.stats import Ci, Engine, RankSettings

    ratings = load_ratings(source_of(reading))
    level = Level(by) if by else default_level(ratings.data.entities, ratings.configs)
    settings = RankSettings(engine=Engine(engine), ci=Ci(ci), resamples=resamples, seed=seed, ridge=ridge)
    with bar(resamples if ci == "bootstrap" else 0, "resamples", "fit") as update:
        board = board_of.rank(
            ratings,
            level=level,
            rubrics=pick_rubrics(ratings.data.rubrics, rubrics),
            settings=settings,
            pairs=difference,
            side=side,
            progress=update,
        )
    emit(board_of.board_json(board), board_tables(board), as_json=as_json, out=out)
