"""``vaeval demo``: the 13 tasks on the embedded sample, with the offline model and the offline metrics."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from vaeval_tasks.models.voices import VOICES

__all__ = ["demo"]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("vaeval-demo"))
@click.option("--voice", type=click.Choice(VOICES), default="joe", show_default=True, help="The voice that answers.")
def demo(folder: Path, voice: str) -> None:
    """Run all 13 tasks on the embedded sample: a real speech system listens, answers and is scored.

    Answers and scores are kept in FOLDER, by default vaeval-demo; run it again and nothing is answered twice.
    It needs the offline extra and weights (vaeval weights pull offline) and a few minutes on two cores.
    Example: vaeval demo my-demo
    """
    evaluate(folder, voice)
    click.echo("This is a smoke sample of two items a task, not the benchmark. '-' stands for no score: the offline")
    click.echo("rules judge only what rules can judge, and the offline model does not see.")
    click.echo(f"Listen to the answers: {folder}/audio/responses/*.wav (play FILE, from the package sox, plays one)")
    click.echo(f"Read them: {folder}/responses.jsonl   Scores: {folder}/scores.parquet, {folder}/results.json")


def evaluate(folder: Path, voice: str) -> None:
    """Answer and score the 13 tasks of the embedded sample in a run folder, and print the table."""
    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # the harness tells every setting of every task
    from lm_eval import simple_evaluate

    from vaeval_tasks.harness.register import register, task_manager
    from vaeval_tasks.results import read_results, table
    from vaeval_tasks.run import RunDir
    from vaeval_tasks.suite import GROUP

    register()
    root = folder.resolve()
    simple_evaluate(
        "vaeval-offline",
        model_args={"voice": voice, "run_dir": str(root)},
        tasks=[GROUP],
        task_manager=task_manager(dataset_path="sample", profile="offline", run_dir=str(root)),
        bootstrap_iters=0,
        log_samples=False,
    )
    click.echo(table(read_results(RunDir(root))))
