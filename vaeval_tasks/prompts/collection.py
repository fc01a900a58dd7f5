"""From a manifest and recordings to the prompts of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tqdm import tqdm

from vaeval_tasks.audio import write_wav
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.metrics.backends import Recogniser
from vaeval_tasks.prompts.examine import Examined, examine
from vaeval_tasks.prompts.loudness import normalised, trimmed
from vaeval_tasks.prompts.manifest import Script, read_manifest
from vaeval_tasks.prompts.recording import read_recording
from vaeval_tasks.prompts.review import read_reviews
from vaeval_tasks.prompts.select import Selection, select
from vaeval_tasks.prompts.take_findings import LIMITS, Finding, Limits, Take
from vaeval_tasks.prompts.transcripts import KeptTranscripts
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.log import read_jsonl, write_jsonl
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt

__all__ = ["TARGET_LUFS", "Job", "import_prompts", "read_report", "selections"]

TARGET_LUFS = -23.0
"""Loudness of the prompts by default: EBU R 128."""

_TOLERANCE_DB = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to check or import."""

    manifest: Path
    recordings: Path | None = None
    """The folder of the takes; by default the manifest's."""
    reviews: Path | None = None
    recogniser: Recogniser | None = None
    """None leaves the words unchecked."""
    limits: Limits = LIMITS
    target_lufs: float = TARGET_LUFS


def selections(job: Job, kept: Path | None = None) -> list[Selection]:
    """Examine all takes and choose one of every script.

    Args:
        job: what to check.
        kept: a file to keep transcripts in.

    Raises:
        InputError: the manifest or the reviews are malformed.
    """
    return _select(job, read_manifest(job.manifest, job.recordings), kept)


def _select(job: Job, scripts: list[Script], kept: Path | None) -> list[Selection]:
    folder = job.recordings or job.manifest.parent
    reviews = read_reviews(job.reviews, scripts, folder) if job.reviews else {}
    transcribe = KeptTranscripts(job.recogniser, kept) if job.recogniser else None
    return select(scripts, examine(scripts, folder, transcribe, job.limits), reviews)


def import_prompts(run: RunDir, job: Job) -> list[Selection]:
    """Check, select, trim and normalise; write ``prompts.parquet``, the WAVs and the report.

    Raises:
        InputError: the manifest is malformed, no script has a usable take, or pairs were designed already.
    """
    scripts = read_manifest(job.manifest, job.recordings)
    with writing(run.root, Writer.prompts):
        return _import(run, job, scripts)


def _import(run: RunDir, job: Job, scripts: list[Script]) -> list[Selection]:
    if run.has("pairs"):
        raise InputError("pairs were designed from the prompts of this run; import into a new one", path=run.root)
    found = _select(job, scripts, run.root / "prompt_transcripts.jsonl")
    if not any(s.chosen for s in found):
        reasons = [f"{t.take}: {t.reason}" for s in found for t in s.takes]
        raise InputError(
            f"no script has a usable take ({reasons[0] if reasons else 'there is no recording'})", path=job.manifest
        )
    prompts, out = [], []
    for selection in tqdm(found, desc="prompts", unit="prompt", disable=None):
        if selection.chosen is None:
            out.append(selection)
            continue
        made = _published(run, selection.script, selection.chosen, job.target_lufs)
        prompts.append(made.prompt)
        out.append(replace(selection, takes=tuple(made.take if t.chosen else t for t in selection.takes)))
    write_jsonl(_report(run), (take for s in out for take in s.takes))
    signature = job.recogniser.signature if job.recogniser else ""
    run.write(
        "prompts",
        sorted(prompts, key=lambda p: p.prompt_id),
        made_by="vaeval prompts import",
        target_lufs=job.target_lufs,
        limits=asdict(job.limits),
        recogniser=signature,
        manifest_sha256=sha256_file(job.manifest),
    )
    return out


@dataclass(frozen=True, slots=True)
class _Published:
    prompt: Prompt
    take: Take


def _published(run: RunDir, script: Script, chosen: Examined, target_lufs: float) -> _Published:
    """Write the chosen take, trimmed and with one gain."""
    cut = trimmed(read_recording(chosen.path).clip, chosen.first_s, chosen.last_s)
    try:
        made = normalised(cut, target_lufs)
    except InputError as error:
        raise InputError(f"{error}; a reviewer cannot accept it", path=chosen.path) from None
    path = run.root / "audio" / "prompts" / f"{script.script_id}.wav"
    write_wav(path, made.clip)
    take = replace(chosen.take, gain_db=made.gain_db, lufs=made.lufs)
    if made.lufs < target_lufs - _TOLERANCE_DB:
        said = f"{made.lufs:.1f} LUFS: its peaks allow no more without limiting"
        take = replace(take, findings=(*take.findings, Finding.below_target.value), detail=(*take.detail, said))
    prompt = Prompt(
        prompt_id=script.script_id,
        category=script.category,
        difficulty=script.difficulty,
        condition=script.condition,
        gates=script.gates,
        script=script.script,
        path=path.relative_to(run.root).as_posix(),
        sha256=sha256_file(path),
        sampling_rate=made.clip.rate,
        seconds=made.clip.seconds,
        public=script.public,
    )
    return _Published(prompt, take)


def _report(run: RunDir) -> Path:
    return run.root / "prompt_takes.jsonl"


def read_report(run: RunDir) -> list[Take]:
    """Return what was found about every take when the prompts were imported.

    Raises:
        InputError: nothing was imported.
    """
    if not _report(run).is_file():
        raise InputError("no prompts were imported; run: vaeval prompts import MANIFEST RUN", path=run.root)
    return list(read_jsonl(_report(run), Take))
