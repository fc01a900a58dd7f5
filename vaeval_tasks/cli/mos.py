"""``vaeval mos``: mean opinion scores of single responses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import emit, level_option, output_options, resample_options, source_of, source_options

__all__ = ["mos"]


@click.command()
@source_options
@level_option
@click.option("--rubric", "rubrics", multiple=True, metavar="KEY", help="Only this rubric; may be repeated.")
@click.option("--pooled", is_flag=True, help="Average over ratings at once; the default averages each sample first.")
@resample_options
@output_options
def mos(
    by: str | None,
    rubrics: tuple[str, ...],
    pooled: bool,
    seed: int,
    resamples: int,
    as_json: bool,
    out: Path | None,
    **reading: Any,
) -> None:
    """Print the mean opinion score of every entity, with its interval and distribution.

    SOURCE is a run folder, or a file with the columns prompt, config, rater, score (1..5), and optionally rubric.

    Example: vaeval mos RUN --rubric overall
    """
    from vaeval_tasks.analysis.load.entities import Level, default_level
    from vaeval_tasks.analysis.load.ratings import pick_rubrics
    from vaeval_tasks.analysis.mos.opinions import load_mos, mos_rows, mos_summaries, mos_table
    from vaeval_tasks.stats import Draws

    ratings = load_mos(source_of(reading))
    level = Level(by) if by else default_level(ratings.data.entities, ratings.configs)
    chosen = pick_rubrics(ratings.data.rubrics, rubrics)
    found = mos_summaries(ratings.at(level), chosen, Draws(replicates=resamples, seed=seed), pooled=pooled)
    result = {"rows": mos_rows(found), "by": level.value, "averaged": "ratings" if pooled else "samples", "seed": seed}
    emit(result, [mos_table(found)], as_json=as_json, out=out)
