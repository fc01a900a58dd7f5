"""``vaeval report``: draw the board."""

from __future__ import annotations

from pathlib import Path

import click

from vaeval_tasks.files import write_text

__all__ = ["report"]


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--published", type=click.Path(path_type=Path), help="Draw ready-made Elo and MOS figures (CSV) instead.")
@click.option("--out", type=click.Path(path_type=Path), help="The HTML file; RUN/site/index.html by default.")
@click.option("--title", default="Preference board", show_default=True, help="The page's title.")
def report(run: Path | None, published: Path | None, out: Path | None, title: str) -> None:
    """Draw the board of a run as one HTML file that needs no network and no script.

    Example: vaeval report RUN --out board.html
    """
    from vaeval_tasks.report.published import published_board
    from vaeval_tasks.report.render import render

    if (run is None) == (published is None):
        raise click.UsageError("Give a run folder, or ready-made figures with --published.")
    if published is not None:
        if out is None:
            raise click.UsageError("--published needs --out FILE.")
        board = published_board(published, title=title)
        write_text(out, render(board))
        click.echo(f"{out}: {out.stat().st_size / 1e6:.2f} MB")
