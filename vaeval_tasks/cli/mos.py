"""``vaeval mos``: mean opinion scores of single responses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import emit, level_option, output_options, reading_of, resample_options, source_options

__all__ = ["mos"]


@click.command()
@source_options
@level_option
@click.option("--rubric", multiple=True, metavar="KEY", help="Only this rubric; may be repeated.")
@click.option("--pooled", is_flag=True, help="Average over ratings at once; the default averages each sample first.")
@resample_options
@output_options
def mos(as_json: bool, out: Path | None, **options: Any) -> None:
    """Print the mean opinion score of every entity, with its interval and distribution.

    SOURCE is a run folder, or a file with the columns prompt, config, rater, score (1..5), and optionally rubric.

    Example: vaeval mos RUN --rubric overall
    """
    from vaeval_tasks.verbs.mos import mos as mos_of

    found = mos_of(**reading_of(options))
    emit(found.to_json(), found.tables(), as_json=as_json, out=out)
