"""``vaeval themes``: what free-text comments speak of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import emit, level_option, output_options, resample_options, source_of, source_options

__all__ = ["themes"]


def _show_lexicon(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """Print the ten published themes and stop; nothing else that the verb is given is read."""
    if wanted:
        from vaeval_tasks.analysis.comments.lexicon import DEFAULT

        click.echo(DEFAULT.read_text(encoding="utf-8"), nl=False)
        ctx.exit()


@click.command()
@source_options
@level_option
@click.option(
    "--lexicon", type=click.Path(path_type=Path), help="Themes and their words, a YAML file. [the ten published]"
)
@click.option(
    "--clusters", type=click.IntRange(min=0), default=8, show_default=True, help="Unsupervised clusters; 0 for none."
)
@click.option(
    "--show-lexicon",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_lexicon,
    help="Print the published lexicon, to copy and edit, and stop; needs no SOURCE.",
)
@resample_options
@output_options
def themes(
    by: str | None,
    lexicon: Path | None,
    clusters: int,
    seed: int,
    resamples: int,
    as_json: bool,
    out: Path | None,
    **reading: Any,
) -> None:
    """Print how often the comments on each entity mention each theme, and clusters of comments.

    SOURCE is a run folder, or a file with the columns prompt, config, rater, text.

    Example: vaeval themes RUN --clusters 0
    """
    from vaeval_tasks.analysis.comments import themes as found_in
    from vaeval_tasks.analysis.comments.lexicon import DEFAULT, load_lexicon
    from vaeval_tasks.analysis.load.entities import Level, default_level
    from vaeval_tasks.stats import Draws

    words = load_lexicon(lexicon or DEFAULT)
    comments = found_in.load_comments(source_of(reading))
    level = Level(by) if by else default_level(comments.configs, comments.known)
    draws = Draws(replicates=resamples, seed=seed)
    found = found_in.theme_rates(comments, words, level, draws)
    groups = found_in.comment_clusters(comments, level, draws, k=clusters, seed=seed) if clusters else ()
    tables = [found_in.theme_table(found), *([found_in.cluster_table(groups)] if groups else [])]
    emit(found_in.themes_json(comments, found, groups), tables, as_json=as_json, out=out)
