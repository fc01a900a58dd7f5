"""``vaeval report``: draw the board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import resample_options
from vaeval_tasks.verbs.options import MOST_DRAWS

__all__ = ["report"]


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--published", type=click.Path(path_type=Path), help="Draw ready-made Elo and MOS figures (CSV) instead.")
@click.option("--out", type=click.Path(path_type=Path), help="The HTML file. [RUN/site/index.html]")
@click.option("--title", default="Preference board", show_default=True, help="The page's title.")
@click.option("--raters", type=click.Choice(["human", "simulated"]), help="Which kind, where there are several.")
@click.option("--splits", type=click.IntRange(0, MOST_DRAWS), default=20_000, show_default=True, help="Rater halves.")
@click.option("--samples", type=click.IntRange(min=0), default=3, show_default=True, help="Public prompts to play.")
@resample_options
def report(
    run: Path | None,
    published: Path | None,
    out: Path | None,
    title: str,
    **options: Any,
) -> None:
    """Draw the board of a run as one HTML file that needs no network and no script.

    Its numbers are those of `vaeval tables` and `vaeval predictors` with the same options. What the run lacks is
    left out and named at the end. Only prompts marked public can be played.

    Example: vaeval report RUN --out board.html
    """
    from vaeval_tasks.verbs.board import board_of_figures, board_of_run
    from vaeval_tasks.verbs.source import run_folder

    if (run is None) == (published is None):
        raise click.UsageError("Give a run folder, or ready-made figures with --published.")
    if published is not None:
        if out is None:
            raise click.UsageError("--published needs --out FILE.")
        made = board_of_figures(published, title=title)
    else:
        folder = run_folder(run or "")
        out = out or folder.root / "site" / "index.html"
        made = board_of_run(folder, title=title, **options)
    made.save(out)
    click.echo(f"{out}: {out.stat().st_size / 1e6:.2f} MB")
