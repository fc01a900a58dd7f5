"""``vaeval check``: is a run folder whole?"""

from __future__ import annotations

from pathlib import Path

import click

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.check import check as find_problems
from vaeval_tasks.store.run import RECORDS, RunDir

__all__ = ["check"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
def check(run: Path) -> None:
    """Check a run folder: fields, references, audio files, and what has gone stale.

    Prints a line for every problem and exits 1 if there is any. Example: vaeval check my-run
    """
    folder = RunDir.existing(run)
    tables = [table for table in RECORDS if folder.has(table)]
    if not tables and not folder.responses_log.is_file():
        raise InputError("holds no table of a run; is it the right folder?", path=run)
    problems = find_problems(folder)
    for problem in problems:
        click.echo(problem)
    if problems:
        raise click.exceptions.Exit(1)
    click.echo(f"{run}: {', '.join(tables) or 'responses'}: all is well")
