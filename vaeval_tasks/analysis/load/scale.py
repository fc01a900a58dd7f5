"""The ordered scale that scores are on: declared, or found and said.

A scale is written ``LOW..HIGH`` or ``LOW..HIGH:STEP``; ``100..0`` is one that is turned round: 0 prefers ``a``, or is
best. Without a word comparisons are on -3..3 and opinions on 1..5. Another scale is found only where a good part of the
scores lies off that one, so that a slip of the pen stays an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.schema import CMOS_MAX, MOS_LEVELS

__all__ = ["COMPARED", "RATED", "Scale", "binned", "found_scale", "parse_scale"]

_STEPS = (1.0, 0.5, 0.25, 0.2, 0.1, 0.05, 0.01)
_MOST_LEVELS = 1001
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_TEXT = re.compile(rf"{_NUMBER}\.\.{_NUMBER}(?::(\d+(?:\.\d+)?))?")
_SIGNED = (1, 2, 3, 4, 5, 10, 50, 100)
_BIPOLAR = ((0, 1), (0, 4), (1, 5), (0, 6), (1, 7), (1, 9), (0, 10), (0, 100))
"""Of comparisons, whose middle is no preference."""
_RATINGS = ((0, 1), (1, 5), (0, 5), (1, 7), (0, 10), (0, 100))
_SHARE = 0.1
"""So many of the scores must lie off the usual scale before another is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """An ordered scale."""

    low: float
    high: float
    step: float = 1.0
    turned: bool = False
    """Whether the low end prefers ``a``, or is best."""

    def __str__(self) -> str:
        """Return it as ``--scale`` takes it."""
        ends = (self.high, self.low) if self.turned else (self.low, self.high)
        step = "" if self.step == 1 else f":{self.step:g}"
        return f"{ends[0]:g}..{ends[1]:g}{step}"

    @property
    def wanted(self) -> str:
        """What a score must be, in words."""
        if self.step == 1 and self.low.is_integer():
            return f"whole numbers from {self.low:g} to {self.high:g}"
        return f"numbers from {self.low:g} to {self.high:g} in steps of {self.step:g}"

    @property
    def levels(self) -> tuple[float, ...]:
        """The scores there are, ascending."""
        n = round((self.high - self.low) / self.step) + 1
        return tuple(round(self.low + i * self.step, 9) for i in range(n))

    @property
    def reach(self) -> int:
        """The largest code of a comparison: 3 for -3..3, 50 for 0..100, 3 for 1..4, which has no middle."""
        n = len(self.levels) - 1
        return n // 2 if n % 2 == 0 else n

    def codes(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return comparisons as whole numbers from -reach to reach, positive where ``a`` is preferred."""
        n = len(self.levels) - 1
        doubled = 2 * np.round((scores - self.low) / self.step).astype(np.int64) - n
        codes = doubled // 2 if n % 2 == 0 else doubled
        return -codes if self.turned else codes

    def problem(self, number: float) -> str:
        """Return what is wrong with a score; empty where it is on the scale."""
        if number < self.low or number > self.high:
            return f"{number:g} is out of range"
        if not _on_grid(np.array([number]), self.low, self.step):
            return f"{number:g} is fractional" if self.step == 1 else f"{number:g} is between two steps"
        return ""


COMPARED = Scale(low=-float(CMOS_MAX), high=float(CMOS_MAX))
RATED = Scale(low=float(MOS_LEVELS[0]), high=float(MOS_LEVELS[-1]))


def parse_scale(text: str) -> Scale:
    """Return a scale as it is written.

    Raises:
        InputError: it is not LOW..HIGH or LOW..HIGH:STEP, or has too many levels.
    """
    found = _TEXT.fullmatch(text.replace(" ", ""))
    if found is None:
        raise InputError(f"--scale is LOW..HIGH or LOW..HIGH:STEP, such as 0..100 or 1..5:0.5; got {text!r}")
    first, last, step = float(found[1]), float(found[2]), float(found[3] or 1)
    low, high = min(first, last), max(first, last)
    if low == high or step <= 0 or not _on_grid(np.array([high]), low, step):
        raise InputError(f"--scale {text}: from {low:g} to {high:g} is no whole number of steps of {step:g}")
    if (high - low) / step >= _MOST_LEVELS:
        raise InputError(f"--scale {text}: there are more than {_MOST_LEVELS} levels; give a larger step")
    return Scale(low=low, high=high, step=step, turned=first > last)


def found_scale(scores: NDArray[np.float64], *, usual: Scale) -> tuple[Scale, str]:
    """Return the scale that scores are on, and what is to be said where it is not the usual one.

    Args:
        scores: of every row.
        usual: :data:`COMPARED` or :data:`RATED`.
    """
    off = scores[(scores < usual.low) | (scores > usual.high) | (scores != np.round(scores))]
    different = np.unique(off)
    few = len(off) < 2 or (len(different) < 2 and not different[0] % 1)
    if few or len(off) < _SHARE * len(scores):
        return usual, ""
    compared = usual is COMPARED
    low, high = float(scores.min()), float(scores.max())
    if low < 0:
        ends = [(-end, end) for end in _SIGNED if max(-low, high) <= end]
    else:
        ends = [pair for pair in (_BIPOLAR if compared else _RATINGS) if pair[0] <= low and high <= pair[1]]
    steps = [step for step in _STEPS if ends and _on_grid(scores, ends[0][0], step)]
    if not steps:
        return usual, ""
    scale = Scale(low=float(ends[0][0]), high=float(ends[0][1]), step=steps[0])
    if not compared:
        return scale, f"scores are taken to be on {scale}; --scale declares another"
    turned = Scale(low=scale.low, high=scale.high, step=scale.step, turned=True)
    middle = (scale.low + scale.high) / 2
    return scale, (
        f"scores are taken to be on {scale}: {middle:g} is no preference, more prefers a; "
        f"--scale {turned} turns it round, or declares another"
    )


def binned(codes: NDArray[np.int64], reach: int, bins: int) -> tuple[NDArray[np.int64], int]:
    """Return comparisons on fewer levels, and the new reach; as they are where ``bins`` is 0 or there are no more.

    The levels are of equal width, and the middle one is around no preference.

    Raises:
        InputError: ``bins`` is even or less than 3.
    """
    if not bins:
        return codes, reach
    if bins < 3 or bins % 2 == 0:
        raise InputError(f"--bins {bins}: must be odd and 3 or more, so that the middle one is no preference")
    half = bins // 2
    if half >= reach:
        return codes, reach
    width = (2 * reach + 1) / bins
    return (np.sign(codes) * np.floor(np.abs(codes) / width + 0.5)).astype(np.int64), half


def _on_grid(scores: NDArray[np.float64], low: float, step: float) -> bool:
    at = (scores - low) / step
    return bool((np.abs(at - np.round(at)) < 1e-6).all())
