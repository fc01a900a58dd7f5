"""Factors, products and group scores of VoiceAssistant-Eval, with intervals.

Source: arXiv 2509.22651v1, "Evaluation". Of the items of a task::

    content     = 100 mean(c)                 c = 1 or 0; role-play: c x similarity
    speech      =  20 mean(MOS)
    consistency = 100 (1 - mean(WER'))
    score       = content x speech x consistency / 100^2

What each factor is made of stands in the metrics' records (:class:`~vaeval_tasks.scoring.metric.TaskFactor`).
The paper multiplies rounded factors: content and consistency to 0.1, the mean MOS to 0.1. An item without
audible sound counts 0 in speech and consistency (and in role-play's content) and is counted as missing.
An item without a verdict is left out of content and counted as unjudged. A factor that fewer than half of the items
have is none: what is left out is seldom left out by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from vaeval_tasks.errors import InputError
from vaeval_tasks.scoring.estimates import (
    FactorColumn,
    ItemScores,
    ScoreEstimate,
    factor_columns,
    product_estimate,
)
from vaeval_tasks.scoring.metric import FactorUse, MetricFamily
from vaeval_tasks.scoring.registry import factors
from vaeval_tasks.scoring.suite import FAMILIES
from vaeval_tasks.stats.bounded_means import BoundedLimits, mean_limits

__all__ = [
    "LOW_COVERAGE",
    "MIN_JUDGED",
    "GroupScore",
    "ItemScores",
    "ScoreEstimate",
    "TaskScores",
    "check_min_judged",
    "combine",
    "group_scores",
    "product",
    "signature_differences",
]

MIN_JUDGED = 0.5
"""The share of items that a factor must have a value for, or there is neither factor nor score."""
LOW_COVERAGE = 0.9
"""A smaller share is told beside the score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScores:
    """The scores of one task, on scales to 100."""

    task: str
    n: int
    """Items answered, in whatever way."""
    factors: Mapping[str, ScoreEstimate | None] = field(default_factory=dict)
    """By name, None where too few items have a value. Content, where a factor weighs verdicts, is verdict x weight."""
    unrounded: ScoreEstimate | None = None
    """The product of the unrounded factors; its interval is the score's and holds both."""
    score: float | None = None
    """The product as the paper rounds it; None where a factor is absent."""
    coverage: float | None = None
    """The smallest share of items that a factor of the product has a value for; None where nothing was answered."""
    missing: int = 0
    """Items without audible sound."""
    unjudged: int = 0
    unscored: int = 0
    """Audible items that a scorer gave no value for in a factor of sound."""
    failed: int = 0
    reason: str = ""
    """Why there is no score."""
    signatures: Mapping[str, str] = field(default_factory=dict)

    @property
    def thin(self) -> bool:
        """Whether so many items do not count that the score must not be read without saying so."""
        return self.coverage is not None and self.coverage < LOW_COVERAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupScore:
    """The score of a family or of the suite; None where a member is absent, and why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    se: float | None = None
    reason: str = ""
    coverage: float | None = None
    """That of the member with the smallest."""


def check_min_judged(value: object, *, where: str = "min_judged") -> float:
    """Return a share between 0 and 1 that was given as a number or text.

    Raises:
        InputError: it is something else.
    """
    try:
        share = float(str(value))
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise InputError(f"{where}: must be a share between 0 and 1 such as 0.5, got {value!r}")
    return share


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
    min_judged: float = MIN_JUDGED,
) -> TaskScores:
    """Return the scores of one task.

    Args:
        task: its name; role-play weighs verdicts by similarity.
        items: one record a response; none at all means that the model does not take such requests.
        signatures: what each factor was scored with.
        min_judged: the share of items that a factor must have a value for.
    """
    signatures = dict(signatures or {})
    if not items:
        none = dict.fromkeys(factors())
        reason = "the model does not take such requests"
        return TaskScores(task=task, n=0, factors=none, reason=reason, signatures=signatures)
    n = len(items)
    columns = factor_columns(task, items)
    kept = {name: column for name, column in columns.items() if column.n >= min_judged * n}
    multiplied = list(factors(task, FactorUse.product))
    complete = all(name in kept for name in multiplied)
    unrounded = product_estimate([kept[name] for name in multiplied]) if complete else None
    score = product({name: kept[name].mean for name in multiplied}) if complete else None
    if unrounded is not None and score is not None:
        # the paper's rounding is an error too, and what is printed lies in what is printed beside it
        unrounded = replace(unrounded, low=min(unrounded.low, score), high=max(unrounded.high, score))
    return TaskScores(
        task=task,
        n=n,
        factors=dict.fromkeys(factors()) | {name: column.estimate() for name, column in kept.items()},
        unrounded=unrounded,
        score=score,
        coverage=min(columns[name].n / n if name in columns else 0.0 for name in multiplied),
        missing=sum(not i.audible for i in items),
        unjudged=sum(_unjudged(i, task) for i in items),
        unscored=sum(i.audible and _lacks(i, task) for i in items),
        failed=sum(i.failed for i in items),
        reason="" if complete else _reason(multiplied, columns, items, task, min_judged),
        signatures=signatures,
    )


def _unjudged(item: ItemScores, task: str) -> bool:
    judged = [metric for metric, _ in factors(task).values() if metric.family is MetricFamily.judge]
    return any(item.values.get(metric.key) is None for metric in judged)


def _lacks(item: ItemScores, task: str) -> bool:
    heard = [m for m, _ in factors(task, FactorUse.product, FactorUse.weight).values() if m.audible_only]
    return any(item.values.get(metric.key) is None for metric in heard)


def _reason(
    names: Sequence[str],
    columns: Mapping[str, FactorColumn],
    items: Sequence[ItemScores],
    task: str,
    min_judged: float,
) -> str:
    """Why a factor of the product is absent."""
    n = len(items)
    if all(_unjudged(item, task) for item in items):
        return f"all {n} answers are unjudged"
    if absent := [name for name in names if name not in columns]:
        return f"no answer has a value for {', '.join(absent)}"
    thin = [
        f"{name} is known for {columns[name].n} of {n} answers" for name in names if columns[name].n < min_judged * n
    ]
    return f"{'; '.join(thin)}, fewer than {100 * min_judged:g} % (min_judged)"


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
    member is absent or where members were scored by different backends. Tasks share no items, so the squares of the
    distances to the ends of their intervals add.
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
    return _group_mean([_member(scores) for scores in found])


def _member(scores: TaskScores) -> GroupScore:
    found = scores.unrounded
    if found is None:  # known from a publication
        return GroupScore(value=scores.score, coverage=scores.coverage)
    return GroupScore(value=scores.score, low=found.low, high=found.high, se=found.se, coverage=scores.coverage)


def _group_mean(members: Sequence[GroupScore]) -> GroupScore:
    values = [member.value for member in members if member.value is not None]
    limits = [
        BoundedLimits(low=m.low, high=m.high, se=m.se)
        for m in members
        if m.low is not None and m.high is not None and m.se is not None
    ]
    coverage = min((m.coverage for m in members if m.coverage is not None), default=None)
    if len(limits) < len(members):
        return GroupScore(value=sum(values) / len(values), coverage=coverage)
    found = mean_limits(values, limits)
    return GroupScore(value=sum(values) / len(values), low=found.low, high=found.high, se=found.se, coverage=coverage)
