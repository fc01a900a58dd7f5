"""``vaeval demo``: the whole pipeline on the embedded sample, with the offline system and offline metrics."""

from __future__ import annotations

import logging
import shlex
from dataclasses import replace
from pathlib import Path

import click

from vaeval_tasks.store.run import RunDir

__all__ = ["demo"]

VOICES = (("joe", "whisper-base"), ("slt", "whisper-base"), ("rms", "whisper-base"), ("kal16", "whisper-tiny.en"))
"""Voice and recogniser of the configurations that the small study compares."""
SHORT = 28
"""Tokens of an answer in the study: a few seconds of speech."""
RATERS = 24


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("vaeval-demo"))
@click.option("--tasks-only", is_flag=True, help="Only the 13 tasks, without the preference study.")
def demo(folder: Path, tasks_only: bool) -> None:
    """Run the whole pipeline on the embedded sample: a real speech system listens, answers and is scored.

    First the 13 tasks; then a small preference study, whose raters are simulated. Everything is kept in FOLDER, by
    default vaeval-demo; run it again and nothing is answered twice. It needs the offline extra and weights (vaeval
    weights pull offline) and a few minutes on two cores. Example: vaeval demo my-demo
    """
    _tasks(folder / "tasks")
    if not tasks_only:
        _study(folder / "study")
    click.secho("\nWhere to look", bold=True)
    click.echo(f"  answers     {folder}/tasks/audio/responses/*.wav (any player; `play FILE` of the package sox)")
    click.echo(f"  their texts {folder}/tasks/responses.jsonl")
    click.echo(f"  scores      {folder}/tasks/results.json, {folder}/tasks/scores.parquet")
    if not tasks_only:
        click.echo(f"  tables      {folder}/study/analysis/ (their raters are simulated, not people)")
        click.echo(f"  the board   {folder}/study/site/index.html (opens from disk)")


def _tasks(root: Path) -> None:
    """Answer and score the 13 tasks of the embedded sample in a run folder, and print the table."""
    click.secho("The 13 tasks: Whisper base listens, SmolLM2 135M thinks, Piper speaks", bold=True)
    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # the harness tells every setting of every task
    from lm_eval import simple_evaluate

    from vaeval_tasks.hosts.lm_eval.register import register, task_manager
    from vaeval_tasks.scoring.results import read_results
    from vaeval_tasks.scoring.results_text import results_text
    from vaeval_tasks.scoring.suite import GROUP

    register()
    run_dir = str(root.resolve())
    simple_evaluate(
        "vaeval-offline",
        model_args={"run_dir": run_dir},
        tasks=[GROUP],
        task_manager=task_manager(dataset_path="sample", profile="offline", run_dir=run_dir),
        bootstrap_iters=0,
        log_samples=False,
    )
    click.echo(results_text(read_results(RunDir(root.resolve()))))
    click.echo("A smoke sample of two items a task, not the benchmark. '-' is no score: the offline rules judge only")
    click.echo("what rules can judge, and the offline system does not see.")


def _study(root: Path) -> None:
    """Compare four offline configurations: responses, scores, pairs, a simulated panel, tables, predictors, board."""
    click.secho("\nA preference study of four offline configurations", bold=True)
    from vaeval_tasks.models.configs import write_configs
    from vaeval_tasks.models.local.offline import offline_config
    from vaeval_tasks.sample.study import write_prompts
    from vaeval_tasks.simulate.panel import simulate_panel

    run = RunDir(root)
    if not run.has("prompts"):
        write_prompts(run)
    configs = [offline_config(voice, recogniser) for voice, recogniser in VOICES]
    mine = root / "offline.yaml"
    write_configs(mine, [replace(c, params={**c.params, "max_tokens": SHORT}) for c in configs])
    _run("generate", str(root), "--config", str(mine))
    _run("score", str(root), "--profile", "offline")
    if not run.has("pairs"):
        _run("pair", str(root), "--raters", "6", "--repeats", "0", "--checks-every", "0", "--training", "0")
    click.secho(f"{RATERS} SIMULATED raters follow the speech score, with noise: not people", bold=True)
    simulate_panel(run, raters=RATERS)
    _run("rank", str(root), "--rubric", "overall", "--by", "config", "--ci", "sandwich")
    small = ("--splits", "200", "--resamples", "200")
    _run("tables", str(root), *small)
    _run("predictors", str(root), "--rubric", "overall", *small)
    _run("report", str(root), "--title", "vaeval demo (simulated raters)", *small)


def _run(*arguments: str) -> None:
    """Run a verb as the user would, and show how."""
    from vaeval_tasks.cli import cli

    click.secho(f"\n$ {shlex.join(('vaeval', *arguments))}", bold=True)
    cli.main(list(arguments), prog_name="vaeval", standalone_mode=False)
