"""Small sounds made for the sample, 16 kHz mono, each a function of nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip

__all__ = ["RATE", "clock", "knocks", "melody_down", "melody_up", "siren", "waltz", "with_noise"]

RATE = 16_000
"""Hz."""


def _time(seconds: float) -> NDArray[np.float64]:
    return np.arange(int(seconds * RATE)) / RATE


def _note(hertz: float, seconds: float) -> NDArray[np.float64]:
    """A plucked note: five harmonics that die away."""
    t = _time(seconds)
    tone = sum(np.sin(2 * np.pi * hertz * k * t) / k**2 for k in range(1, 6))
    return np.asarray(0.4 * tone * np.exp(-3 * t / seconds))


def _clip(samples: NDArray[np.float64]) -> Clip:
    return Clip((0.7 * samples / np.max(np.abs(samples))).astype(np.float32), RATE)


def melody_up() -> Clip:
    """A rising scale of five notes, C4 to G4."""
    return _clip(np.concatenate([_note(hertz, 0.4) for hertz in (261.63, 293.66, 329.63, 349.23, 392.00)]))


def melody_down() -> Clip:
    """A falling scale of five notes, G4 to C4."""
    return _clip(np.concatenate([_note(hertz, 0.4) for hertz in (392.00, 349.23, 329.63, 293.66, 261.63)]))


def waltz() -> Clip:
    """Two bars of a waltz: one low note and two high ones."""
    bar = [_note(130.81, 0.35), _note(392.00, 0.35), _note(392.00, 0.35)]
    return _clip(np.concatenate(bar * 2))


def siren() -> Clip:
    """A tone that sweeps up and down between 500 and 1,200 Hz."""
    t = _time(2.5)
    hertz = 850 + 350 * np.sin(2 * np.pi * 0.8 * t)
    return _clip(np.sin(2 * np.pi * np.cumsum(hertz) / RATE))


def clock() -> Clip:
    """Ticks of a clock, two a second."""
    samples = np.zeros(int(2.5 * RATE))
    t = _time(0.02)
    tick = np.sin(2 * np.pi * 2500 * t) * np.exp(-300 * t)
    for start in range(0, len(samples) - len(tick), RATE // 2):
        samples[start : start + len(tick)] += tick
    return _clip(samples)


def knocks() -> Clip:
    """Five knocks on wood, two a second."""
    samples = np.zeros(int(2.7 * RATE))
    t = _time(0.08)
    knock = np.sin(2 * np.pi * 180 * t) * np.exp(-60 * t)
    for start in range(0, 5 * RATE // 2, RATE // 2):
        samples[start : start + len(knock)] += knock
    return _clip(samples)


def with_noise(clip: Clip, snr_db: float, seed: int = 0) -> Clip:
    """Return the clip with white noise at a signal-to-noise ratio in dB."""
    noise = np.random.default_rng(seed).standard_normal(len(clip.samples))
    power = np.mean(clip.samples.astype(np.float64) ** 2) / 10 ** (snr_db / 10)
    mixed = clip.samples + noise * np.sqrt(power)
    return Clip(np.clip(mixed, -1, 1).astype(np.float32), clip.rate)
