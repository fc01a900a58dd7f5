"""Does a metric pick the response that a rater prefers? Accuracy, its ceiling, and calibration. Ties are set aside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vaeval_tasks.analysis.load.measured import MeasuredMetric
from vaeval_tasks.stats import Comparisons, Draws, Interval, percentile_interval
from vaeval_tasks.stats.draws import lanes

__all__ = ["Accuracy", "Bin", "Choices", "accuracies", "accuracy_ceiling", "calibration", "choices", "differences"]

Floats = NDArray[np.float64]
FOLDS = 5
BINS = 5
MIN_CHOICES = 30
"""Fewer choices than this give no accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choices:
    """Ratings of one rubric that prefer one response, one a row."""

    rater: NDArray[np.int64]
    prompt: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    sign: Floats
    """+1 where ``a`` is preferred, -1 where ``b`` is."""
    ties: int
    """Ratings that were set aside."""
    n_raters: int
    n_prompts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How often the response with the better value is the preferred one; equal values count one half."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    """Choices with a value of both responses."""
    unscored: int
    """Choices that lack a value."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Choices for which the metric is about equally sure."""

    predicted: float
    """Mean probability that the response with the better value is preferred, fitted on other prompts."""
    observed: float
    """How often it was."""
    n: int


def choices(data: Comparisons, rubric: str) -> Choices:
    """Return the ratings of a rubric without ties, with the codes of ``data``."""
    rows = data.rubric == data.rubric_code(rubric)
    kept = rows & (data.score != 0)
    return Choices(
        rater=data.rater[kept],
        prompt=data.prompt[kept],
        a=data.a[kept],
        b=data.b[kept],
        sign=np.sign(data.score[kept]).astype(np.float64),
        ties=int(rows.sum() - kept.sum()),
        n_raters=data.n_raters,
        n_prompts=data.n_prompts,
    )


def differences(chosen: Choices, metric: MeasuredMetric) -> Floats:
    """Return the metric of ``a`` less that of ``b`` per row, positive where ``a`` has the better value; NaN without."""
    return metric.sign * (metric.values[chosen.prompt, chosen.a] - metric.values[chosen.prompt, chosen.b])


def accuracies(chosen: Choices, gaps: list[Floats], draws: Draws) -> list[Accuracy]:
    """Return the accuracy of each metric with its interval from the rater-and-prompt bootstrap.

    Args:
        chosen: the choices of one rubric.
        gaps: per metric, the difference per row, see :func:`differences`.
        draws: the bootstrap plan.
    """
    weights = lanes(draws, 0, draws.replicates, chosen.n_raters, chosen.n_prompts)
    return [_accuracy(chosen, gap, weights.rater, weights.prompt) for gap in gaps]


def _accuracy(chosen: Choices, gap: Floats, by_rater: Floats, by_prompt: Floats) -> Accuracy:
    known = np.isfinite(gap)
    n, unscored = int(known.sum()), int((~known).sum())
    if n < MIN_CHOICES:
        said = f"{n} choices have a value of both responses; {MIN_CHOICES} are needed"
        return Accuracy(value=None, low=None, high=None, n=n, unscored=unscored, reason=said)
    right = (1 + np.sign(gap[known]) * chosen.sign[known]) / 2
    at = (chosen.rater[known], chosen.prompt[known])
    shape = (chosen.n_raters, chosen.n_prompts)
    # sum over rows of u[rater] v[prompt] x = u' X v, with X the sum of x per rater and prompt
    sums = [np.sum(by_rater * (csr_array((x, at), shape=shape) @ by_prompt), axis=0) for x in (right, np.ones(n))]
    drawn = np.divide(sums[0], sums[1], out=np.full(len(sums[0]), np.nan), where=sums[1] > 0)
    interval: Interval = percentile_interval(drawn)
    return Accuracy(
        value=float(right.mean()),
        low=interval.low,
        high=interval.high,
        n=n,
        unscored=unscored,
        reason=interval.reason,
    )


def accuracy_ceiling(chosen: Choices) -> float | None:
    """Return an accuracy that no metric can beat, from how often two raters of a pair agree; None without such pairs.

    If a rater prefers ``a`` with probability p, two agree with probability 1/2 + (2p-1)^2 / 2, and the best guess is
    right with probability 1/2 + |2p-1| / 2. By Jensen the mean of the latter is at most (1 + sqrt(2g - 1)) / 2, with g
    the share of rater pairs that agree.
    """
    key = (chosen.prompt * (chosen.b.max(initial=0) + 1) + chosen.a) * (chosen.b.max(initial=0) + 1) + chosen.b
    _, pair = np.unique(key, return_inverse=True)
    first = np.bincount(pair, weights=chosen.sign > 0)
    second = np.bincount(pair, weights=chosen.sign < 0)
    n = first + second
    meetings = np.sum(n * (n - 1))
    if meetings == 0:
        return None
    agree = np.sum(first * (first - 1) + second * (second - 1)) / meetings
    return float((1 + np.sqrt(max(0.0, 2 * agree - 1))) / 2)


def _slope(gap: Floats, sign: Floats) -> float:
    """Return the slope of a logistic curve through (0, 1/2), by Newton steps with a faint ridge."""
    slope = 0.0
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(slope * gap * sign, -30, 30)))
        gradient = np.sum((1 - p) * gap * sign) - 1e-3 * slope
        step = gradient / (np.sum(p * (1 - p) * gap**2) + 1e-3)
        slope += step
        if abs(step) < 1e-8:
            break
    return slope


def calibration(chosen: Choices, gap: Floats, seed: int) -> tuple[Bin, ...]:
    """Return predicted and observed preference in five equal groups of how sure the metric is.

    The curve from difference to probability is logistic and fitted on the prompts of the other folds.
    """
    known = np.isfinite(gap) & (gap != 0)
    if known.sum() < MIN_CHOICES:
        return ()
    x = gap[known] / np.sqrt(np.mean(gap[known] ** 2))
    sign = chosen.sign[known]
    fold = np.random.default_rng([seed, 7]).permutation(chosen.n_prompts)[chosen.prompt[known]] % FOLDS
    p = np.empty(len(x))
    for f in range(FOLDS):
        held = fold == f
        p[held] = 1 / (1 + np.exp(-_slope(x[~held], sign[~held]) * x[held]))
    right = (1 + np.sign(x) * sign) / 2
    for_better = np.where(x > 0, p, 1 - p)
    parts = np.array_split(np.argsort(np.abs(x), kind="stable"), BINS)
    return tuple(Bin(predicted=float(for_better[i].mean()), observed=float(right[i].mean()), n=len(i)) for i in parts)
