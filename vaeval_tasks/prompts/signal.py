"""What can be measured on a recording without understanding it: levels, noise, clipping, speech-like sound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip

__all__ = ["FRAME_S", "Activity", "Measured", "activity", "clipped_runs", "measure", "narrowband", "voiced_seconds"]

FRAME_S = 0.02
_FLOOR_DB = -100.0
Samples = NDArray[np.float32]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Where a clip is active, from the power of its 20 ms frames."""

    first_s: float
    """Start of the first active frame, in seconds; 0 where none is."""
    last_s: float
    """End of the last active frame, in seconds; 0 where none is."""
    seconds: float
    """Total of the active frames."""
    speech_db: float
    """Mean level of the active frames, dBFS."""
    noise_db: float
    """Mean level of the quietest tenth of the frames, dBFS, -100 for digital silence."""
    snr_db: float
    """Speech over noise, in dB, the noise's power taken out of the speech's."""
    cut_start: bool
    """Whether the clip begins in the middle of sound."""
    cut_end: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measurements of one recording."""

    seconds: float
    peak_db: float
    """dBFS."""
    clipped_runs: int
    """Separate places where three samples or more stand at the peak."""
    voiced_s: float
    """Seconds of active sound with a pitch between 70 and 400 Hz."""
    narrowband: bool
    """Whether next to nothing is above 4 kHz, as in a telephone recording sold as wide-band."""
    activity: Activity


def frame_db(samples: Samples, rate: int) -> Reals:
    """Return the level of each whole 20 ms frame in dBFS, at least -100."""
    size = max(1, round(FRAME_S * rate))
    whole = samples[: len(samples) // size * size].reshape(-1, size).astype(np.float64)
    power: Reals = 10 * np.log10(np.mean(whole**2, axis=1) + 10 ** (_FLOOR_DB / 10))
    return power


def _mean_db(levels: Reals) -> float:
    return float(10 * np.log10(np.mean(10 ** (levels / 10))))


def activity(clip: Clip) -> Activity:
    """Measure where and how strongly a clip is active.

    A frame is active above a threshold 40 % of the way (in dB) from the quiet frames (10th percentile) to the
    loud ones (95th). Where the two are less than 6 dB apart there is a steady sound and nothing active.
    """
    levels = frame_db(clip.samples, clip.rate)
    if not len(levels):
        levels = np.array([_FLOOR_DB])
    low, high = np.percentile(levels, [10, 95])
    noise = _mean_db(levels[levels <= low])
    active = np.flatnonzero(levels > low + 0.4 * (high - low)) if high - low >= 6 else np.array([], int)
    if not len(active):
        return Activity(
            first_s=0, last_s=0, seconds=0, speech_db=_mean_db(levels), noise_db=noise, snr_db=0,
            cut_start=False, cut_end=False,
        )  # fmt: skip
    speech = _mean_db(levels[active])
    clean = max(10 ** (speech / 10) - 10 ** (noise / 10), 1e-12)
    loud = max(speech - 20, noise + 10)  # an edge in the middle of sound, and not only of background noise
    return Activity(
        first_s=float(active[0] * FRAME_S),
        last_s=float((active[-1] + 1) * FRAME_S),
        seconds=float(len(active) * FRAME_S),
        speech_db=speech,
        noise_db=noise,
        snr_db=float(10 * np.log10(clean) - noise),
        cut_start=bool(levels[0] > loud),
        cut_end=bool(levels[-1] > loud),
    )


def clipped_runs(samples: Samples) -> int:
    """Count the separate runs of three samples or more that stand at the clip's peak (within 0.02 %).

    A sound that was not clipped reaches its peak once; one that was stands flat at it again and again,
    whatever gain was applied afterwards.
    """
    peak = float(np.max(np.abs(samples), initial=0.0))
    if peak == 0:
        return 0
    at_peak = np.concatenate([[0], np.abs(samples) >= peak * (1 - 2e-4), [0]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(at_peak))
    return int(np.sum(edges[1::2] - edges[::2] >= 3))


def voiced_seconds(clip: Clip, first_s: float, last_s: float) -> float:
    """Return how long a clip has a pitch of 70-400 Hz that changes, between two times in seconds.

    A frame of 40 ms counts when its normalised autocorrelation peaks above 0.5 in that range; a tone that
    keeps one pitch throughout is no speech and counts 0.
    """
    rate = 8000
    part = clip.samples[int(first_s * clip.rate) : int(last_s * clip.rate)]
    x = Clip(part, clip.rate).at(rate).samples.astype(np.float64)
    size, hop = round(0.04 * rate), round(FRAME_S * rate)
    if len(x) < size:
        return 0.0
    frames = np.lib.stride_tricks.sliding_window_view(x, size)[::hop]
    frames = frames - frames.mean(axis=1, keepdims=True)
    energy = np.sum(frames**2, axis=1)
    spectrum = np.abs(np.fft.rfft(frames, 2 * size, axis=1)) ** 2
    lags = np.fft.irfft(spectrum, axis=1)[:, rate // 400 : rate // 70 + 1]
    # fewer products at longer lags: scale each lag to the frame's length
    lags = lags * (size / (size - np.arange(rate // 400, rate // 70 + 1)))
    strength = lags.max(axis=1) / np.maximum(energy, 1e-12)
    voiced = (strength > 0.5) & (energy > 1e-3 * energy.max())
    pitch = lags.argmax(axis=1)[voiced]
    if not len(pitch) or len(np.unique(pitch)) < 3:
        return 0.0
    return float(np.sum(voiced) * FRAME_S)


def narrowband(clip: Clip) -> bool:
    """Whether the power above 4.5 kHz is more than 50 dB below the rest, at a rate that could carry more."""
    if clip.rate < 12000 or not len(clip.samples):
        return False
    power = np.abs(np.fft.rfft(clip.samples.astype(np.float64))) ** 2
    above = np.fft.rfftfreq(len(clip.samples), 1 / clip.rate) > 4500
    return bool(power[above].sum() < 1e-5 * power[~above].sum())


def measure(clip: Clip) -> Measured:
    """Measure a mono recording."""
    active = activity(clip)
    return Measured(
        seconds=clip.seconds,
        peak_db=float(20 * np.log10(max(clip.peak, 1e-5))),
        clipped_runs=clipped_runs(clip.samples),
        voiced_s=voiced_seconds(clip, active.first_s, active.last_s),
        narrowband=narrowband(clip),
        activity=active,
    )
