"""Examine every take of a prompt set: measure, transcribe, find duplicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError
from vaeval_tasks.prompts.manifest import Script
from vaeval_tasks.prompts.recording import Print, fingerprint, likeness, read_recording
from vaeval_tasks.prompts.review import take_name
from vaeval_tasks.prompts.signal import FRAME_S, measure
from vaeval_tasks.prompts.take_findings import LIMITS, Finding, Found, Limits, Take, sound_findings, word_findings
from vaeval_tasks.prompts.words import compare, plain_words

__all__ = ["SAME_SOUND", "Examined", "examine"]

SAME_SOUND = 0.95
"""Likeness of two fingerprints above which they are the same recording."""

LENGTH_S = 0.3
"""Recordings whose active parts differ by more than this, in seconds, are not the same."""

Transcribe = Callable[[Clip], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A take with what is needed to compare and cut it."""

    script: Script
    path: Path
    take: Take
    first_s: float = 0.0
    last_s: float = 0.0
    print_: Print = field(repr=False)


def examine(
    scripts: Sequence[Script], folder: Path, transcribe: Transcribe | None, limits: Limits = LIMITS
) -> list[Examined]:
    """Examine all takes, in the order of the manifest.

    Args:
        scripts: the manifest.
        folder: what the takes are named relative to.
        transcribe: writes down a clip; None leaves the words unchecked.
        limits: what a usable take keeps to.
    """
    jobs = [(script, path) for script in scripts for path in script.takes]
    out = [
        _examined(script, path, folder, transcribe, limits)
        for script, path in tqdm(jobs, desc="takes", unit="take", disable=None)
    ]
    return _duplicates_marked(out)


def _examined(script: Script, path: Path, folder: Path, transcribe: Transcribe | None, limits: Limits) -> Examined:
    take = Take(script_id=script.script_id, take=take_name(path, folder))
    nothing = np.zeros((0, 0), np.float32)
    try:
        recording = read_recording(path)
    except InputError as error:
        found = [Found(Finding.unreadable, str(error).removeprefix(f"{path}: ").replace(str(path), take.take))]
        return Examined(script=script, path=path, take=_with(take, found), print_=nothing)
    clip, measured = recording.clip, measure(recording.clip)
    active = measured.activity
    found = list(sound_findings(recording, measured, script.condition, limits))
    take = replace(
        take,
        sampling_rate=clip.rate,
        channels=recording.channels,
        seconds=clip.seconds,
        peak_db=measured.peak_db,
        speech_db=active.speech_db,
        noise_db=active.noise_db,
        snr_db=active.snr_db,
        voiced_s=measured.voiced_s,
    )
    # a take that its sound rules out need not be understood as well
    if transcribe and not any(f.finding.rejects for f in found):
        take, said = _heard(take, script, transcribe(clip), limits)
        found.extend(said)
    return Examined(
        script=script,
        path=path,
        take=_with(take, found),
        first_s=active.first_s,
        last_s=active.last_s or clip.seconds,  # where nothing stands out, all of it is kept
        print_=fingerprint(clip, active.first_s, active.last_s),
    )


def _heard(take: Take, script: Script, transcript: str, limits: Limits) -> tuple[Take, list[Found]]:
    if not plain_words(script.script):
        found = [Found(Finding.no_script, "the manifest has no script to compare with")]
        return replace(take, transcript=transcript), found
    compared = compare(script.script, transcript)
    found = list(word_findings(compared, script.condition, limits))
    return replace(take, transcript=transcript, wer=compared.wer), found


def _with(take: Take, found: Sequence[Found]) -> Take:
    return replace(
        take,
        findings=(*take.findings, *(f.finding.value for f in found)),
        detail=(*take.detail, *(f.detail for f in found)),
    )


def _quality(item: Examined) -> tuple[int, float]:
    rejecting = sum(Finding(f).rejects for f in item.take.findings)
    return rejecting, item.take.wer if item.take.wer is not None else 0.0


def _same(items: Sequence[Examined]) -> Iterator[list[int]]:
    """Yield the groups of takes that are one recording, as positions."""
    done: set[int] = set()
    for i, item in enumerate(items):
        if i in done:
            continue
        group = [i, *(j for j in range(i + 1, len(items)) if j not in done and _one_sound(item, items[j]))]
        done.update(group)
        if len(group) > 1:
            yield group


def _one_sound(one: Examined, other: Examined) -> bool:
    # most pairs differ in length, which costs nothing to see
    as_long = abs(len(one.print_) - len(other.print_)) * FRAME_S < LENGTH_S
    return as_long and likeness(one.print_, other.print_) > SAME_SOUND


def _duplicates_marked(items: list[Examined]) -> list[Examined]:
    """Mark all but the best of each group of equal recordings: the one that fits its script, else the first."""
    out = list(items)
    for group in _same(items):
        best = min(group, key=lambda i: (_quality(items[i]), i))
        for i in group:
            if i != best:
                said = f"the same recording as {items[best].take.take} of {items[best].script.script_id}"
                out[i] = replace(items[i], take=_with(items[i].take, [Found(Finding.duplicate, said)]))
    return out
