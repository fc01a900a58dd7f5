"""Loudness by ITU-R BS.1770, true peak, and the two things done to a selected prompt: a gain and a trim."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from vaeval_tasks.audio import Clip, resample
from vaeval_tasks.errors import InputError, MissingDependencyError

__all__ = ["BLOCK_S", "MARGIN_S", "TRUE_PEAK_DB", "Normalised", "loudness", "normalised", "trimmed", "true_peak_db"]

BLOCK_S = 0.4
"""The gating block of BS.1770: shorter clips have no integrated loudness."""

TRUE_PEAK_DB = -1.5
"""No normalised clip's true peak is above this (dBTP)."""

MARGIN_S = 0.25
"""What trimming leaves before the first and after the last sound, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalised:
    """A clip after its gain."""

    clip: Clip
    gain_db: float
    lufs: float
    """Integrated loudness afterwards; below the target where the peak did not allow more."""


def loudness(clip: Clip) -> float:
    """Return the integrated loudness in LUFS (BS.1770-4, gated), -inf for silence.

    Raises:
        InputError: the clip is shorter than 0.4 s.
        MissingDependencyError: pyloudnorm is not installed.
    """
    try:
        from pyloudnorm import Meter
    except ImportError:
        raise MissingDependencyError("loudness normalisation", "pyloudnorm", extra="study") from None
    if clip.seconds < BLOCK_S:
        raise InputError(f"{clip.seconds:.2f} s are too short for a loudness; it takes {BLOCK_S} s")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # mean of no blocks: silence, said by -inf
        return float(Meter(clip.rate).integrated_loudness(clip.samples.astype(np.float64)))


def true_peak_db(clip: Clip) -> float:
    """Return the true peak in dBTP: the largest value after oversampling four times (BS.1770 annex 2)."""
    peak = max(clip.peak, float(np.max(np.abs(resample(clip.samples, 1, 4)), initial=0.0)))
    return float(20 * np.log10(max(peak, 1e-10)))


def trimmed(clip: Clip, first_s: float, last_s: float) -> Clip:
    """Return the clip from ``MARGIN_S`` before ``first_s`` to as much after ``last_s``; no sample is changed."""
    start = max(0, round((first_s - MARGIN_S) * clip.rate))
    return Clip(clip.samples[start : round((last_s + MARGIN_S) * clip.rate)], clip.rate)


def normalised(clip: Clip, target_lufs: float) -> Normalised:
    """Return the clip with one gain that brings it to the target, or as near as its true peak allows.

    There is no compression and no limiting: they would change what is rated.

    Raises:
        InputError: the clip is shorter than 0.4 s, or silent.
    """
    before = loudness(clip)
    if not np.isfinite(before):
        raise InputError("a silent clip has no loudness to normalise")
    gain = min(target_lufs - before, TRUE_PEAK_DB - true_peak_db(clip))
    return Normalised(
        clip=Clip(clip.samples * np.float32(10 ** (gain / 20)), clip.rate), gain_db=gain, lufs=before + gain
    )
