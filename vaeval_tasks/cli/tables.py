"""``vaeval tables``: every published table of a study, in one go."""

from __future__ import annotations

import json
from pathlib import Path

import click

from vaeval_tasks import __version__
from vaeval_tasks.cli.sources import resample_options
from vaeval_tasks.files import sha256_file, write_text
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.verbs.options import MOST_DRAWS

__all__ = ["tables"]

INPUTS = ("ratings", "mos", "comments", "raters", "prompts")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The folder for the tables. [RUN/analysis]")
@click.option(
    "--splits", type=click.IntRange(0, MOST_DRAWS), default=20_000, show_default=True, help="Halves for table A3."
)
@click.option(
    "--raters", type=click.Choice(["human", "simulated", "judge"]), help="Which kind, where there are several."
)
@resample_options
def tables(run: Path, out: Path | None, splits: int, raters: str | None, seed: int, resamples: int) -> None:
    """Write every published table of a run as CSV and Markdown: A1 to A10, board, voice_margin, thinking.

    A table whose input the run does not have is named with the reason, and not written. about.json says what the
    tables were made from.

    Example: vaeval tables RUN --out tables
    """
    from vaeval_tasks.analysis.load.source import Source
    from vaeval_tasks.analysis.study_analysis import AnalysisSettings, StudyAnalysis, study_tables
    from vaeval_tasks.store.run import RunDir

    source = Source(path=RunDir.existing(run).root, rater_kind=raters or "")
    with progress_bar(2 * resamples + 2 * splits, "tables", "draw") as bar:
        settings = AnalysisSettings(resamples=resamples, splits=splits, seed=seed)
        made = study_tables(StudyAnalysis(source=source, settings=settings, progress=bar.update))
    missing = {name: str(lacking.error) for name, lacking in made.missing.items()}
    folder = out or run / "analysis"
    about = {
        "version": __version__,
        "seed": seed,
        "resamples": resamples,
        "splits": splits,
        "inputs": {name: sha256_file(source.run.path(name)) for name in INPUTS if source.run and source.run.has(name)},
        "missing": missing,
    }
    for table in made.tables:
        paths = table.write(folder)
        click.echo(f"{table.name}: {paths[0]}, {paths[1].name}")
    write_text(folder / "about.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    for name, reason in missing.items():
        click.echo(f"{name}: not written, {reason}")
