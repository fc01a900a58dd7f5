"""What is found about a take, and which findings rule it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from vaeval_tasks.prompts.recording import Recording
from vaeval_tasks.prompts.signal import Measured
from vaeval_tasks.prompts.words import Compared
from vaeval_tasks.store.schema import Condition

__all__ = ["LIMITS", "Finding", "Found", "Limits", "Take", "sound_findings", "word_findings"]


class Finding(StrEnum):
    """What can be wrong, or worth knowing, about a take."""

    unreadable = "unreadable"
    incomplete_file = "incomplete_file"
    silent = "silent"
    too_short = "too_short"
    too_long = "too_long"
    low_rate = "low_rate"
    clipped = "clipped"
    no_speech = "no_speech"
    noisy = "noisy"
    not_degraded = "not_degraded"
    cancelling_channels = "cancelling_channels"
    duplicate = "duplicate"
    truncated = "truncated"
    wrong_script = "wrong_script"
    mixed_down = "mixed_down"
    narrowband = "narrowband"
    cut_start = "cut_start"
    cut_end = "cut_end"
    no_script = "no_script"
    below_target = "below_target"

    @property
    def rejects(self) -> bool:
        """Whether a take with this finding is not used, unless a reviewer accepts it."""
        return self not in _NOTES


_NOTES = frozenset(
    {
        Finding.mixed_down,
        Finding.narrowband,
        Finding.cut_start,
        Finding.cut_end,
        Finding.no_script,
        Finding.below_target,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a usable take keeps to."""

    min_rate: int = 16_000
    """Hz."""
    min_s: float = 0.8
    max_s: float = 60.0
    clipped_runs: int = 3
    """So many flat tops and the take counts as clipped."""
    min_voiced_s: float = 0.3
    clean_snr_db: float = 20.0
    """A clean take has at least this ratio of speech to noise."""
    degraded_min_snr_db: float = 0.0
    degraded_max_snr_db: float = 35.0
    """Above this a take is not degraded."""
    clean_wer: float = 0.35
    degraded_wer: float = 0.6
    """The recogniser errs more in noise; a wrong script is above 0.7."""
    missing_end: float = 0.2
    """Share of the script's words that may be missing at its end."""

    def max_wer(self, condition: Condition) -> float:
        """Return the largest word error rate for a condition."""
        return self.clean_wer if condition is Condition.clean else self.degraded_wer


LIMITS = Limits()

_QUIETEST_DB = -60.0
"""Below this level nothing passes the gate of BS.1770 (-70 LUFS) for certain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """One recording of a script: what was found, and what became of it. One row of the report."""

    script_id: str
    take: str
    """The file, relative to the recordings where it lies below them."""
    findings: tuple[str, ...] = ()
    """Values of :class:`Finding`."""
    detail: tuple[str, ...] = ()
    """A sentence for each finding, with the number that led to it."""
    accepted: bool = False
    chosen: bool = False
    reason: str = ""
    """Why the take was chosen, or not."""
    reviewer: str = ""
    verdict: str = ""
    """A reviewer's ``accept``, ``reject`` or ``choose``; empty where nobody reviewed the take."""
    sampling_rate: int | None = None
    channels: int | None = None
    seconds: float | None = None
    peak_db: float | None = None
    speech_db: float | None = None
    noise_db: float | None = None
    snr_db: float | None = None
    voiced_s: float | None = None
    transcript: str | None = None
    """None where it was not transcribed."""
    wer: float | None = None
    gain_db: float | None = None
    """Of the chosen take: the one gain it got."""
    lufs: float | None = None
    """Of the chosen take: its integrated loudness afterwards."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding with the sentence that explains it."""

    finding: Finding
    detail: str


def sound_findings(recording: Recording, measured: Measured, condition: Condition, limits: Limits) -> Iterator[Found]:
    """Yield what the signal alone says about a take."""
    clip, active = recording.clip, measured.activity
    if recording.missing_s > 0:
        yield Found(Finding.incomplete_file, f"the file ends {recording.missing_s:.2f} s before its header says")
    if recording.cancels:
        yield Found(Finding.cancelling_channels, "mixing the channels down loses more than 12 dB: one is inverted")
    elif recording.channels > 1:
        yield Found(Finding.mixed_down, f"{recording.channels} channels were mixed down to one")
    if clip.rate < limits.min_rate:
        yield Found(Finding.low_rate, f"{clip.rate} Hz, at least {limits.min_rate} Hz are needed")
    if clip.silent or active.speech_db < _QUIETEST_DB:
        yield Found(Finding.silent, f"the peak is {measured.peak_db:.1f} dBFS, the level {active.speech_db:.1f} dBFS")
        return
    if not active.seconds:
        yield Found(Finding.no_speech, "a steady sound in which nothing rises by 6 dB")
        return
    spoken = active.last_s - active.first_s
    if spoken < limits.min_s:
        yield Found(Finding.too_short, f"{spoken:.2f} s of sound, at least {limits.min_s:g} s are needed")
    if spoken > limits.max_s:
        yield Found(Finding.too_long, f"{spoken:.1f} s of sound, at most {limits.max_s:g} s are allowed")
    if measured.clipped_runs >= limits.clipped_runs:
        yield Found(Finding.clipped, f"stands flat at its peak in {measured.clipped_runs} places")
    if measured.voiced_s < limits.min_voiced_s:
        yield Found(Finding.no_speech, f"{measured.voiced_s:.2f} s sound like a voice")
        return
    yield from _noise(measured, condition, limits)
    if measured.narrowband:
        yield Found(Finding.narrowband, "next to nothing above 4 kHz: looks resampled from 8 kHz")
    if active.cut_start:
        yield Found(Finding.cut_start, "begins in the middle of sound")
    if active.cut_end:
        yield Found(Finding.cut_end, "ends in the middle of sound")


def _noise(measured: Measured, condition: Condition, limits: Limits) -> Iterator[Found]:
    snr = measured.activity.snr_db
    low, high = limits.degraded_min_snr_db, limits.degraded_max_snr_db
    said = f"speech is {snr:.1f} dB above the noise"
    if condition is Condition.clean:
        if snr < limits.clean_snr_db:
            yield Found(Finding.noisy, f"{said}; a clean take has {limits.clean_snr_db:g} dB or more")
    elif snr < low:
        yield Found(Finding.noisy, f"{said}; even a degraded take needs {low:g} dB")
    elif snr > high:
        yield Found(Finding.not_degraded, f"{said}, which is not {condition.value}: at most {high:g} dB")


def word_findings(compared: Compared, condition: Condition, limits: Limits) -> Iterator[Found]:
    """Yield what the transcript says about a take: another script, or this one without its end."""
    limit = limits.max_wer(condition)
    kept = compared.words - compared.missing_end
    errors_before_end = compared.wer * compared.words - compared.missing_end
    cut_off = kept and compared.missing_end > max(1, limits.missing_end * compared.words)
    if cut_off and errors_before_end <= limit * kept:
        yield Found(Finding.truncated, f"the last {compared.missing_end} words of the script are missing")
    elif compared.wer > limit:
        yield Found(
            Finding.wrong_script, f"word error rate {compared.wer:.2f} against the script; at most {limit:g} is allowed"
        )
