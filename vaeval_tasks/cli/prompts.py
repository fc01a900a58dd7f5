"""``vaeval prompts``: from recordings to the prompts of a study."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path

import click

from vaeval_tasks.cli.sources import FiniteRange
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.metrics.backends import Recogniser
from vaeval_tasks.prompts.collection import TARGET_LUFS, Job, import_prompts, read_report, selections
from vaeval_tasks.prompts.distribution import set_balance
from vaeval_tasks.prompts.manifest import EXAMPLE
from vaeval_tasks.prompts.select import Selection
from vaeval_tasks.prompts.take_findings import LIMITS, Limits, Take
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.tables import to_row

__all__ = ["prompts"]

_FOLDER = click.Path(path_type=Path)


@click.group()
def prompts() -> None:
    """Check, select and import the recordings of a prompt set."""


_recordings = click.option("--recordings", type=_FOLDER, help="Folder of the takes. Default: the manifest's.")
_reviews = click.option(
    "--reviews",
    type=_FOLDER,
    help="A reviewer's verdicts: script_id, take, verdict (accept, reject, choose), reviewer, note.",
)
_asr = click.option(
    "--asr",
    default="whisper-base",
    show_default=True,
    metavar="NAME",
    help="Recogniser, a folder of its weights, or 'none'.",
)
_limits = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a limit, such as clean_snr_db=15; may be repeated.",
)


@prompts.command("import")
@click.argument("manifest", type=_FOLDER)
@click.argument("run", type=_FOLDER)
@_recordings
@_reviews
@_asr
@_limits
@click.option(
    "--lufs",
    type=FiniteRange(-70, 0),
    default=TARGET_LUFS,
    show_default=True,
    help="Loudness of the prompts (BS.1770), in LUFS.",
)
def import_(
    manifest: Path,
    run: Path,
    recordings: Path | None,
    reviews: Path | None,
    asr: str,
    limits: tuple[str, ...],
    lufs: float,
) -> None:
    """Check the recordings, choose one take of each script, trim and normalise it into RUN.

    Nothing else is done to the sound: one gain, no limiting, no noise removal. Scripts without a usable take
    are listed and left out. Example: vaeval prompts import scripts.csv RUN
    """
    job = _job(manifest, recordings, reviews, asr, limits, lufs)
    found = import_prompts(RunDir(run), job)
    click.echo(_text([t for s in found for t in s.takes]))
    click.echo("\n" + set_balance(RunDir(run).read("prompts")).text())
    _warn(found)


@prompts.command()
@click.argument("manifest", type=_FOLDER)
@_recordings
@_reviews
@_asr
@_limits
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def check(
    manifest: Path, recordings: Path | None, reviews: Path | None, asr: str, limits: tuple[str, ...], as_json: bool
) -> None:
    """Check the recordings and write nothing. Exit 1 where a script has no usable take."""
    found = selections(_job(manifest, recordings, reviews, asr, limits, TARGET_LUFS))
    takes = [t for s in found for t in s.takes]
    click.echo(json.dumps([to_row(t) for t in takes], indent=1, ensure_ascii=False) if as_json else _text(takes))
    if _warn(found):
        sys.exit(1)


@prompts.command()
@click.argument("run", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def report(run: Path, as_json: bool) -> None:
    """Show what was found about every take at import, and the balance of the set."""
    folder = RunDir.existing(run)
    takes, balance = read_report(folder), set_balance(folder.read("prompts"))
    if as_json:
        rows = [to_row(t) for t in takes]
        click.echo(json.dumps({"takes": rows, "balance": asdict(balance)}, indent=1, ensure_ascii=False))
    else:
        click.echo(_text(takes) + "\n\n" + balance.text())


@prompts.command()
def example() -> None:
    """Print our example manifest, to be edited: vaeval prompts example > scripts.yaml."""
    click.echo(EXAMPLE.read_text(encoding="utf-8"), nl=False)


def _job(
    manifest: Path, recordings: Path | None, reviews: Path | None, asr: str, limits: Sequence[str], lufs: float
) -> Job:
    return Job(
        manifest=manifest,
        recordings=recordings,
        reviews=reviews,
        recogniser=None if asr == "none" else _recogniser(asr),
        limits=_changed(limits),
        target_lufs=lufs,
    )


def _recogniser(name: str) -> Recogniser:
    from vaeval_tasks.metrics.asr import WhisperRecogniser

    return WhisperRecogniser(name)


def _changed(changes: Sequence[str]) -> Limits:
    limits = LIMITS
    for change in changes:
        name, _, text = change.partition("=")
        if name not in (names := [f.name for f in fields(Limits)]):
            raise UnknownNameError("limit", name, names)
        try:
            limits = replace(limits, **{name: type(getattr(LIMITS, name))(text)})
        except ValueError:
            raise InputError(f"--limit {name} takes a number, got {text!r}") from None
    return limits


def _text(takes: Sequence[Take]) -> str:
    lines = []
    for take in takes:
        mark = "chosen  " if take.chosen else "usable  " if take.accepted else "rejected"
        # why a take was rejected is what was found, unless a reviewer decided
        why = f": {take.reason}" if take.accepted or take.verdict else ""
        lines.append(f"{mark} {take.script_id}  {take.take}{why}")
        lines.extend(f"           {name}: {said}" for name, said in zip(take.findings, take.detail, strict=True))
        if take.seconds is not None:
            lines.append(f"           {_facts(take)}")
    return "\n".join(lines)


def _facts(take: Take) -> str:
    channels = "mono" if take.channels == 1 else f"{take.channels} channels"
    facts = [f"{take.sampling_rate} Hz", channels, f"{take.seconds:.1f} s", f"peak {take.peak_db:.1f} dBFS"]
    facts.append(f"noise {take.noise_db:.0f} dBFS, SNR {take.snr_db:.0f} dB")
    if take.wer is not None:
        facts.append(f"WER {take.wer:.2f}")
    if take.gain_db is not None:
        facts.append(f"gain {take.gain_db:+.1f} dB to {take.lufs:.1f} LUFS")
    return ", ".join(facts)


def _warn(found: Sequence[Selection]) -> bool:
    """Say which scripts have no usable take, and whether there are any."""
    without = [s for s in found if s.chosen is None]
    for selection in without:
        why = "no usable take" if selection.takes else "no recording"
        click.echo(f"{selection.script.script_id}: {why}", err=True)
    if without:
        click.echo(f"{len(without)} of {len(found)} scripts have no usable take.", err=True)
    return bool(without)
