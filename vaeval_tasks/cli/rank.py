"""``vaeval rank``: the board from ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import (
    FiniteRange,
    emit,
    level_option,
    output_options,
    reading_of,
    resample_options,
    source_options,
)

__all__ = ["rank"]


@click.command()
@source_options
@level_option
@click.option("--rubric", multiple=True, metavar="KEY", help="Only this rubric; may be repeated.")
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
def rank(as_json: bool, out: Path | None, **options: Any) -> None:
    """Rank models, configurations, voices or thinking levels from comparative ratings.

    SOURCE is a run folder, or a CSV, JSON lines or parquet file (- for standard input) with the columns prompt,
    a, b, rater, score (-3..3, positive where a is preferred), and optionally rubric and count.

    Example: vaeval rank ratings.csv --by config --ci sandwich --json
    """
    from vaeval_tasks.verbs.rank import rank as rank_source

    board = rank_source(**reading_of(options))
    emit(board.to_json(), board.tables(), as_json=as_json, out=out)
