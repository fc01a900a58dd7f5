"""``vaeval check``: is a run folder whole?"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.check import check as find_problems
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.log import damaged_path, repair_log
from vaeval_tasks.store.run import RECORDS, RunDir

__all__ = ["check"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--repair", is_flag=True, help="Move damaged lines of the logs to FILE.damaged and say what is lost.")
def check(run: Path, repair: bool) -> None:
    """Check a run folder: fields, references, audio files, and what has gone stale.

    Prints a line for every problem and exits 1 if there is any. Example: vaeval check my-run
    """
    from vaeval_tasks.analysis.load.source import configs_of

    folder = RunDir.existing(run)
    logs = _logs(folder)
    tables = [table for table in RECORDS if folder.has(table)]
    if not tables and not logs:
        raise InputError("holds no table of a run; is it the right folder?", path=run)
    if repair:
        _repair(folder, logs)
    problems = find_problems(folder, logs=logs, configs=configs_of(folder))
    for problem in problems:
        click.echo(problem)
    if problems:
        raise click.exceptions.Exit(1)
    click.echo(f"{run}: {', '.join(tables) or 'responses'}: all is well")


def _logs(run: RunDir) -> dict[Path, type | None]:
    """Return the logs of a run, with those of rooms that keep their own records."""
    logs = run.logs()
    if (path := run.root / "judgements.jsonl").is_file():
        from vaeval_tasks.judging.judge_pairs import Judgement

        logs[path] = Judgement
    if (path := run.root / "prompt_transcripts.jsonl").is_file():
        from vaeval_tasks.prompts.transcripts import Transcript

        logs[path] = Transcript
    if (path := run.root / "prompt_takes.jsonl").is_file():
        from vaeval_tasks.prompts.take_findings import Take

        logs[path] = Take
    return logs


def _repair(run: RunDir, logs: dict[Path, type | None]) -> None:
    with ExitStack() as held:
        for kind in Writer:  # nobody may append to what is repaired, or take what is lost for answered
            held.enter_context(writing(run.root, kind))
        moved = {path: found for path, record in logs.items() if (found := repair_log(path, record))}
        kept = {r.response_id for r in run.responses()} if moved else set()
    for path, damages in moved.items():
        for damage in damages:
            still = " (another line or the table has it: not lost)" if damage.lost in kept else ""
            lost = f"lost: {damage.lost or 'a line that names nothing'}{still}"
            click.echo(f"{path.name}: line {damage.number} moved to {damaged_path(path).name} ({damage.why}); {lost}")
