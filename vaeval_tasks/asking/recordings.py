"""Answers that were recorded elsewhere, one sound file a prompt, become the responses of a configuration."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vaeval_tasks.asking.dialogue import Asked
from vaeval_tasks.asking.kept import file_name
from vaeval_tasks.asking.ledger import open_for_asking
from vaeval_tasks.asking.pending import AskingPlan, keep_configs, make_plan, settle_configs
from vaeval_tasks.asking.runner import generate
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.audio import SOUND_FILES, read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.models.turn import sound_status
from vaeval_tasks.progress import tracked
from vaeval_tasks.store.answers import study_answers
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["ImportedRecordings", "import_recordings", "recorded_config"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRecordings:
    """What became of a folder."""

    kept: int
    """Responses that this call wrote."""
    known: int
    """That were there before."""
    missing: tuple[str, ...]
    """Prompts without a recording."""
    strangers: tuple[str, ...]
    """Sound files named after no prompt."""
    faults: Mapping[str, str]
    """Recordings that cannot be used, and why."""


def recorded_config(name: str) -> ModelConfig:
    """Return the configuration of recordings: ``model``, ``model/voice`` or ``model/thinking/voice``.

    Raises:
        InputError: it has more parts, or an empty one.
    """
    parts = name.split("/")
    if not all(part.strip() for part in parts) or len(parts) > 3:
        raise InputError(f"--config: expected model, model/voice or model/thinking/voice, got {name!r}")
    model, *rest = parts
    thinking, voice = {0: ("default", "default"), 1: ("default", *rest), 2: tuple(rest)}[len(rest)]
    return ModelConfig(model=model, thinking=thinking, voice=voice, provider="replay")


def import_recordings(run: RunDir, folder: Path, config: ModelConfig) -> ImportedRecordings:
    """Bring recordings into a study; a second call brings what has come since.

    A file is named ``<prompt_id>`` with the ending of a sound file, wherever it lies in the folder; ``<prompt_id>.txt``
    beside it holds the words. All are read before one is kept. A silent one, or one of five minutes, is an answer
    without use (``degenerate``), as it would be of a system that was asked.

    Args:
        run: the run folder with its prompts.
        folder: the recordings.
        config: see :func:`recorded_config`.

    Raises:
        InputError: there is no such folder, no file is named after a prompt, two are, one has changed since it was
            brought in, or the configuration is another's.
        RunBusyError: another process asks for responses of this run.
    """
    with open_for_asking(run) as ledger:
        (chosen,) = settle_configs(run, [config])
        plan = make_plan(run, [chosen])
        prompts = {prompt.prompt_id for prompt in run.read("prompts")}
        files, strangers = _files(folder, prompts)
        _refuse_changed(run, chosen, files)
        due = [unit for unit in plan.units if unit.prompt_id in files]
        faults = _faults(files[unit.prompt_id] for unit in due)
        good = tuple(unit for unit in due if str(files[unit.prompt_id]) not in faults)
        if good:
            keep_configs(run, [chosen])
            generate(ledger, replace(plan, units=good), recall=lambda unit: _recorded(files[unit.prompt_id], unit))
            run.write("responses", run.responses(), made_by="vaeval responses import", inputs=("prompts",))
    return ImportedRecordings(
        kept=len(good),
        known=_known(plan),
        missing=tuple(sorted(unit.prompt_id for unit in plan.units if unit.prompt_id not in files)),
        strangers=strangers,
        faults=faults,
    )


def _known(plan: AskingPlan) -> int:
    return sum(plan.done.values())


def _files(folder: Path, prompts: Iterable[str]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the recording of each prompt that has one, and the files of none."""
    if not folder.is_dir():
        raise InputError("no such folder", path=folder)
    names = {name: prompt for prompt in prompts for name in (file_name(prompt), prompt)}
    found, strangers = defaultdict(list), []
    walked = (Path(place) / name for place, _, inside in os.walk(folder) for name in inside)
    for path in sorted(path for path in walked if path.suffix.lower() in SOUND_FILES):
        if path.stem in names:
            found[names[path.stem]].append(path)
        else:
            strangers.append(str(path))
    if twice := next((paths for paths in found.values() if len(paths) > 1), None):
        raise InputError(f"{twice[1].relative_to(folder)} is of the same prompt; keep one of them", path=twice[0])
    if not found:
        example = f"{min(names, default='PROMPT')}.wav"
        raise InputError(
            f"no sound file is named after a prompt ({', '.join(SOUND_FILES)}); name them like {example}", path=folder
        )
    return {prompt: path for prompt, (path,) in found.items()}, tuple(strangers)


def _refuse_changed(run: RunDir, config: ModelConfig, files: Mapping[str, Path]) -> None:
    """Refuse recordings that are not what was brought in: people may have rated that."""
    for (prompt, config_id), response in study_answers(run.responses()).items():
        before = response.request.get("sha256") if config_id == config.config_id else None
        if before and prompt in files and sha256_file(files[prompt]) != before:
            raise InputError(
                "has changed since it was brought in; bring the new ones in under another --config", path=files[prompt]
            )


def _faults(paths: Iterable[Path]) -> dict[str, str]:
    """Read every recording; return those that cannot be read."""
    faults = {}
    each = list(paths)
    for path in tracked(each, "recordings", "file", total=len(each)):
        try:
            read_audio(path)
            _words(path)
        except InputError as error:
            faults[str(path)] = error.reason
    return faults


def _words(path: Path) -> str:
    text = path.with_suffix(".txt")
    try:
        return text.read_text(encoding="utf-8-sig").strip() if text.is_file() else ""
    except UnicodeDecodeError:
        raise InputError(f"{text.name} beside it is not UTF-8") from None


def _recorded(path: Path, unit: AskingUnit) -> Asked:
    clip = read_audio(path)
    status, why = sound_status(clip)
    words = _words(path)
    reply = Reply(
        status=status,
        text=words,
        output_transcript=words,
        audio=clip if status is not ResponseStatus.empty else None,
        error=why,
        request={"file": path.name, "sha256": sha256_file(path)},
    )
    return Asked(reply=reply, attempts=unit.attempts + 1)
