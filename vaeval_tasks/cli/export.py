"""``vaeval export``: from the collection to the run's tables. The app is imported when the verb runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vaeval_tasks.store.run import RunDir

if TYPE_CHECKING:
    from vaeval_tasks.collect.outgoing.export import Exported

__all__ = ["export"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--db", metavar="FILE-OR-URL", help="SQLite file or postgresql:// URL. [RUN/ratings.sqlite]")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["csv", "jsonl"]),
    help="Write this beside parquet; may be repeated.",
)
@click.option("--demographics", is_flag=True, help="Bring age and gender along, which are kept apart otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def export(run: Path, db: str | None, formats: tuple[str, ...], demographics: bool, as_json: bool) -> None:
    """Export what was collected: ratings, MOS, comments, raters, assignments, events and quality checks.

    Raters are pseudonyms, comments lose addresses and numbers, nobody's age or gender is told. What the quality
    rules leave out is marked, not deleted. Codebook and checksums go to RUN/export.
    Example: vaeval export RUN --format csv
    """
    from vaeval_tasks.collect.outgoing.export import Format
    from vaeval_tasks.collect.outgoing.export import export as export_run
    from vaeval_tasks.collect.serve import database_of

    folder = RunDir.existing(run)
    database = database_of(folder, db)
    try:
        done = export_run(folder, database, formats=[Format(f) for f in formats], demographics=demographics)
    finally:
        database.close()
    click.echo(json.dumps(asdict(done), indent=1, sort_keys=True) if as_json else _text(folder, done))


def _text(run: RunDir, done: Exported) -> str:
    from vaeval_tasks.collect.outgoing.export import FOLDER

    lines = [f"{n:8} {name}" for name, n in done.rows.items()]
    lines.append(f"{done.raters} raters: {done.accepted} accepted (pay them), {done.used} used in the analysis")
    lines.extend(f"{n:8} failed {reason}" for reason, n in done.reasons.items())
    lines.append(f"codebook and checksums: {run.root / FOLDER}")
    return "\n".join(lines)
