"""``vaeval demo``: the whole pipeline on the embedded sample, with the offline system and offline metrics."""

from __future__ import annotations

import logging
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import click

from vaeval_tasks.errors import MissingDependencyError, MissingWeightsError
from vaeval_tasks.store.run import RunDir

__all__ = ["demo"]

NEEDED = ("torch", "faster_whisper", "xllamacpp", "rapidocr", "lm_eval")
"""What the demo imports, by way of the offline extra and the base installation."""
WEIGHTS = ("whisper-tiny.en", "smollm2-135m", "distillmos", "resemblyzer")
RECOGNISER = "whisper-tiny.en"
"""Writes the answers down for the consistency score; the profile's own, Whisper base, takes twice as long."""
VOICES = 4
"""Configurations of the study, one a voice."""
FIRST_TASK = "listening_general"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("vaeval-demo"))
@click.option("--tasks-only", is_flag=True, help="Only the 13 tasks, without the preference study.")
@click.option("--full", is_flag=True, help="A study of more prompts and raters, with more resamples.")
@click.option("--pull/--no-pull", default=None, help="Fetch missing weights without asking, or never.")
def demo(folder: Path, tasks_only: bool, full: bool, pull: bool | None) -> None:
    """Run the whole pipeline on the embedded sample: a real speech system listens, answers and is scored.

    First the 13 tasks; then a small preference study, whose raters are simulated. Everything is kept in FOLDER, by
    default vaeval-demo; run it again and nothing is answered twice. It needs the offline extra (pip install
    'vaeval[offline,study]') and 0.3 GB of weights, and takes three to four minutes on two cores.

    Example: vaeval demo my-demo
    """
    voices = _ready(pull)
    _tasks(folder / "tasks", voices[0])
    if not tasks_only:
        _study(folder / "study", voices[:VOICES], full=full)
    click.secho("\nWhere to look", bold=True)
    click.echo(f"  answers     {folder}/tasks/audio/responses/*.wav (any player; `play FILE` of the package sox)")
    click.echo(f"  their texts {folder}/tasks/responses.jsonl")
    click.echo(f"  scores      {folder}/tasks/results.json, {folder}/tasks/scores.parquet")
    if not tasks_only:
        click.echo(f"  tables      {folder}/study/analysis/ (their raters are simulated, not people)")
        click.echo(f"  the board   {folder}/study/site/index.html (opens from disk)")


def _ready(pull: bool | None) -> tuple[str, ...]:
    """Check everything the demo needs before anything heavy is imported, and return the voices that are here.

    Raises:
        MissingDependencyError: a package or every voice is missing.
        MissingWeightsError: weights are missing and were not to be fetched.
    """
    MissingDependencyError.unless_here("vaeval demo", NEEDED, extra="offline,study")
    from vaeval_tasks.models.local.voices import PIPER, installed_voices
    from vaeval_tasks.services import weights

    voices = installed_voices()
    if not voices:
        raise MissingDependencyError("the offline voice", "piper-tts")
    speaks = "Piper" if voices[0] in PIPER else "Pico" if voices[0].startswith("pico") else "flite"
    needed = (*WEIGHTS, *(PIPER[voice] for voice in voices if voice in PIPER))
    wanted = [name for name in needed if not weights.here(name)]
    if wanted:
        megabytes = sum(weights.OFFLINE[name].megabytes for name in wanted)
        said = f"{', '.join(wanted)} ({megabytes:,.0f} MB to download, checked by SHA-256)"
        if pull is None and sys.stdin.isatty():
            pull = click.confirm(f"The demo needs weights that are not here: {said}. Fetch them now?", default=True)
        if not pull:
            raise MissingWeightsError(f"not here: {said}; fetch them with: vaeval demo --pull")
        for name in wanted:
            click.echo(f"{name}: {weights.pull_offline(name)}")
    click.echo(f"voices: {', '.join(voices[:VOICES])}; {speaks} speaks in the tasks")
    return voices


def _tasks(root: Path, voice: str) -> None:
    """Answer and score the 13 tasks of the embedded sample in a run folder, and print the table."""
    click.secho("\nThe 13 tasks: Whisper tiny listens, RapidOCR reads pictures, SmolLM2 135M thinks", bold=True)
    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # the harness tells every setting of every task
    from vaeval_tasks.hosts.lm_eval.register import evaluate_quietly
    from vaeval_tasks.scoring.results import read_results
    from vaeval_tasks.scoring.results_text import results_text, task_line
    from vaeval_tasks.scoring.suite import GROUP

    run_dir = str(root.resolve())
    about = {"dataset_path": "sample", "profile": "offline", "run_dir": run_dir, "asr_model": RECOGNISER}
    model = {"run_dir": run_dir, "voice": voice}
    evaluate_quietly("vaeval-offline", model, [FIRST_TASK], about)
    click.echo(f"first of 13: {task_line(read_results(RunDir(root.resolve())), FIRST_TASK)}")
    evaluate_quietly("vaeval-offline", model, [GROUP], about)
    click.echo(results_text(read_results(RunDir(root.resolve()))))
    click.echo("A smoke sample of three or four items a task, judged by rules: not the benchmark. The offline system")
    click.echo("is small and sees only the text in a picture; low figures are its own.")


def _study(root: Path, voices: tuple[str, ...], *, full: bool) -> None:
    """Compare the offline system's voices: responses, scores, pairs, a simulated panel, tables, predictors, board."""
    click.secho(f"\nA preference study of {len(voices)} offline configurations, one a voice", bold=True)
    from vaeval_tasks.models.configs import write_configs
    from vaeval_tasks.models.local.offline_system import offline_config
    from vaeval_tasks.sample.prompt_set import write_prompts
    from vaeval_tasks.simulate.panel import simulate_panel

    run = RunDir(root)
    if not run.has("prompts"):
        write_prompts(run, each=3 if full else 2)
    tokens, raters, draws = (40, 60, "1000") if full else (24, 24, "100")
    mine = root / "offline.yaml"
    configs = [offline_config(voice) for voice in voices]
    write_configs(mine, [replace(c, params={**c.params, "max_tokens": tokens}) for c in configs])
    _run("generate", str(root), "--config", str(mine))
    _run("score", str(root), "--profile", "offline", "--asr-model", RECOGNISER)
    if not run.has("pairs"):
        _run("pair", str(root), "--raters", "6", "--repeats", "0", "--checks-every", "0", "--training", "0")
    click.secho(f"{raters} SIMULATED raters follow the speech score, with noise: not people", bold=True)
    simulate_panel(run, raters=raters)
    _run("rank", str(root), "--rubric", "overall", "--by", "config", "--ci", "sandwich")
    small = ("--splits", draws, "--resamples", draws)
    _run("tables", str(root), *small)
    _run("predictors", str(root), "--rubric", "overall", *small)
    _run("report", str(root), "--title", "vaeval demo (simulated raters)", *small)


def _run(*arguments: str) -> None:
    """Run a verb as the user would, and show how."""
    from vaeval_tasks.cli import cli

    click.secho(f"\n$ {shlex.join(('vaeval', *arguments))}", bold=True)
    cli.main(list(arguments), prog_name="vaeval", standalone_mode=False)
