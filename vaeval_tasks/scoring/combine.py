"""Factors, products and group scores of VoiceAssistant-Eval, with intervals.

Source: arXiv 2509.22651v1, "Evaluation". Of the items of a task::

    content     = 100 mean(c)                 c = 1 or 0; role-play: c x similarity
    speech      =  20 mean(MOS)
    consistency = 100 (1 - mean(WER'))
    score       = content x speech x consistency / 100^2

What each factor is made of stands in the metrics' records (:class:`~vaeval_tasks.scoring.metric.TaskFactor`).
The paper multiplies rounded factors: content and consistency to 0.1, the mean MOS to 0.1. An item without
audible sound counts 0 in speech and consistency (and in role-play's content) and is counted as missing.
An item without a verdict is left out of content and counted as unjudged.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.scoring.metric import AUDIBLE, FactorUse, MetricFamily, ResponseMetric, TaskFactor
from vaeval_tasks.scoring.registry import factors
from vaeval_tasks.scoring.suite import FAMILIES

__all__ = [
    "REPLICATES",
    "BootstrapEstimate",
    "GroupScore",
    "ItemScores",
    "TaskScores",
    "combine",
    "group_scores",
    "product",
    "signature_differences",
]

REPLICATES = 2000
"""Bootstrap replicates; items are drawn with replacement, all factors of an item together."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemScores:
    """What one response scored."""

    values: Mapping[str, float | None]
    """By metric; None or absent where there is no value."""
    failed: bool = False
    """Whether the request ended in an error or a timeout."""

    @property
    def audible(self) -> bool:
        """Whether there is sound."""
        return bool(self.values.get(AUDIBLE))


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapEstimate:
    """A value with its 95 % percentile interval and standard error over bootstrapped items."""

    value: float
    low: float
    high: float
    se: float
    n: int
    """Items that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScores:
    """The scores of one task, on scales to 100."""

    task: str
    n: int
    """Items answered, in whatever way."""
    factors: Mapping[str, BootstrapEstimate | None] = field(default_factory=dict)
    """By name, None where no item has a value. Content, where a factor weighs verdicts, is verdict times weight."""
    unrounded: BootstrapEstimate | None = None
    """The product of the unrounded factors."""
    score: float | None = None
    """The product as the paper rounds it; None where a factor is absent."""
    missing: int = 0
    """Items without audible sound."""
    unjudged: int = 0
    unscored: int = 0
    """Audible items that a scorer gave no value for in a factor of sound."""
    failed: int = 0
    reason: str = ""
    """Why there is no score."""
    signatures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupScore:
    """The score of a family or of the suite; None where a member is absent, and why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    se: float | None = None
    reason: str = ""


def product(means: Mapping[str, float]) -> float:
    """Return the task score from its factors on scales to 100, rounded first as the paper does.

    >>> round(product({"content": 19.0, "speech": 76.0, "consistency": 95.0}), 1)
    13.7
    """
    units = {name: factor.unit for name, (_, factor) in factors().items()}
    rounded = [units[name] * round(mean / units[name], 1) for name, mean in means.items()]
    return 100 * math.prod(value / 100 for value in rounded)


def combine(
    task: str,
    items: Sequence[ItemScores],
    *,
    signatures: Mapping[str, str] | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> TaskScores:
    """Return the scores of one task.

    Args:
        task: its name; role-play weighs verdicts by similarity.
        items: one record a response; none at all means that the model does not take such requests.
        signatures: what each factor was scored with.
        seed: of the bootstrap.
        replicates: of the bootstrap.
    """
    signatures = dict(signatures or {})
    if not items:
        none = dict.fromkeys(factors())
        reason = "the model does not take such requests"
        return TaskScores(task=task, n=0, factors=none, reason=reason, signatures=signatures)
    columns = _columns(task, items)
    rng = np.random.default_rng([seed, zlib.crc32(task.encode())])
    counts = rng.multinomial(len(items), np.full(len(items), 1 / len(items)), size=replicates).astype(np.float64)
    means = {name: _mean(column, counts) for name, column in columns.items()}
    estimates = dict.fromkeys(factors()) | {name: _estimate(means[name], columns[name]) for name in columns}
    multiplied = {name: means[name] for name in factors(task, FactorUse.product)}
    there = {name: mean for name, mean in multiplied.items() if mean is not None}
    complete = len(there) == len(multiplied)
    return TaskScores(
        task=task,
        n=len(items),
        factors=estimates,
        unrounded=_product(list(there.values()), len(items)) if complete else None,
        score=product({name: mean.value for name, mean in there.items()}) if complete else None,
        missing=sum(not i.audible for i in items),
        unjudged=sum(_unjudged(i, task) for i in items),
        unscored=sum(i.audible and _lacks(i, task) for i in items),
        failed=sum(i.failed for i in items),
        reason="" if complete else _reason([name for name in multiplied if name not in there], items, task),
        signatures=signatures,
    )


def _column(metric: ResponseMetric, factor: TaskFactor, items: Sequence[ItemScores]) -> Floats:
    """One factor of every item on its scale to 100, NaN where an item does not count."""
    values = [
        factor.zero if metric.audible_only and not item.audible else item.values.get(metric.key) for item in items
    ]
    column = np.array([math.nan if value is None else value for value in values])
    return np.asarray(factor.gain * (column - factor.zero) + 0.0, dtype=np.float64)  # + 0.0: no -0


def _columns(task: str, items: Sequence[ItemScores]) -> dict[str, Floats]:
    """The factors of every item on scales to 100, verdicts weighed."""
    found = factors(task)
    out = {name: _column(metric, factor, items) for name, (metric, factor) in found.items()}
    for name, (metric, _) in found.items():
        if metric.family is MetricFamily.judge:
            for weight in factors(task, FactorUse.weight):
                out[name] = out[name] * out[weight] / 100
    return out


def _unjudged(item: ItemScores, task: str) -> bool:
    judged = [metric for metric, _ in factors(task).values() if metric.family is MetricFamily.judge]
    return any(item.values.get(metric.key) is None for metric in judged)


def _lacks(item: ItemScores, task: str) -> bool:
    heard = [m for m, _ in factors(task, FactorUse.product, FactorUse.weight).values() if m.audible_only]
    return any(item.values.get(metric.key) is None for metric in heard)


@dataclass(frozen=True, slots=True)
class _Mean:
    value: float
    replicates: Floats


def _mean(column: Floats, counts: Floats) -> _Mean | None:
    """The mean over the items that count, and its bootstrap replicates; None where none counts."""
    counting = ~np.isnan(column)
    if not counting.any():
        return None
    values, weights = column[counting], counts[:, counting]
    totals = weights.sum(axis=1)
    value = float(values.mean())
    # a replicate that drew no item that counts says nothing: it takes the estimate itself
    replicates = np.where(totals > 0, weights @ values / np.maximum(totals, 1), value)
    return _Mean(value, replicates)


def _interval(mean: _Mean, n: int) -> BootstrapEstimate:
    low, high = np.quantile(mean.replicates, [0.025, 0.975])
    return BootstrapEstimate(value=mean.value, low=float(low), high=float(high), se=float(mean.replicates.std()), n=n)


def _estimate(mean: _Mean | None, column: Floats) -> BootstrapEstimate | None:
    return None if mean is None else _interval(mean, int((~np.isnan(column)).sum()))


def _product(means: Sequence[_Mean], n: int) -> BootstrapEstimate:
    value = 100 * math.prod(mean.value / 100 for mean in means)
    return _interval(_Mean(value, 100 * np.prod([mean.replicates / 100 for mean in means], axis=0)), n)


def _reason(absent: Sequence[str], items: Sequence[ItemScores], task: str) -> str:
    if all(_unjudged(item, task) for item in items):
        return f"all {len(items)} answers are unjudged"
    return f"no answer has a value for {', '.join(absent)}"


def signature_differences(tasks: Sequence[TaskScores]) -> list[str]:
    """Return a sentence for each factor that these tasks were scored with by different backends."""
    found: dict[str, dict[str, list[str]]] = {}
    for scores in tasks:
        for name, signature in scores.signatures.items():
            found.setdefault(name, {}).setdefault(signature, []).append(scores.task)
    return [
        f"{name} by different scorers: " + "; ".join(f"{sig} ({', '.join(users)})" for sig, users in by.items())
        for name, by in found.items()
        if len(by) > 1
    ]


def group_scores(tasks: Mapping[str, TaskScores]) -> dict[str, GroupScore]:
    """Return the scores of ``listening``, ``speaking``, ``viewing`` and ``overall``.

    A family is the plain mean of its tasks and the overall score that of the families, absent where a
    member is absent or where members were scored by different backends. Intervals are
    value +- 1.96 standard errors; tasks share no items, so their variances add.
    """
    groups = {name: _family(members, tasks) for name, members in FAMILIES.items()}
    reason = "; ".join(f"{name}: {group.reason}" for name, group in groups.items() if group.value is None)
    if not reason and (differences := signature_differences(list(tasks.values()))):
        reason = "; ".join(differences)
    groups["overall"] = GroupScore(value=None, reason=reason) if reason else _group_mean(list(groups.values()))
    return groups


def _family(members: Sequence[str], tasks: Mapping[str, TaskScores]) -> GroupScore:
    if absent := [name for name in members if name not in tasks]:
        return GroupScore(value=None, reason=f"not run: {', '.join(absent)}")
    found = [tasks[name] for name in members]
    if without := [scores for scores in found if scores.score is None]:
        return GroupScore(value=None, reason="; ".join(f"{s.task}: {s.reason}" for s in without))
    if differences := signature_differences(found):
        return GroupScore(value=None, reason="; ".join(differences))
    return _group_mean(
        [GroupScore(value=s.score, se=s.unrounded.se if s.unrounded is not None else 0.0) for s in found]
    )


def _group_mean(members: Sequence[GroupScore]) -> GroupScore:
    value = float(np.mean([m.value for m in members]))
    se = float(np.sqrt(sum((m.se or 0.0) ** 2 for m in members)) / len(members))
    return GroupScore(value=value, low=max(0.0, value - 1.96 * se), high=min(100.0, value + 1.96 * se), se=se)
