"""Factors, products and group scores of VoiceAssistant-Eval, with intervals.

Source: arXiv 2509.22651v1, "Evaluation". Of the items of a task::

    content     = 100 mean(c)                 c = 1 or 0; role-play: c x similarity
    speech      =  20 mean(MOS)
    consistency = 100 (1 - mean(WER'))
    score       = content x speech x consistency / 100^2

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

from vaeval_tasks.scoring.suite import FAMILIES

__all__ = [
    "REPLICATES",
    "Estimate",
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
    """What one response scored; None where there is no value."""

    content: float | None = None
    """1 or 0."""
    audible: bool = False
    mos: float | None = None
    """1 to 5."""
    wer: float | None = None
    """0 to 1."""
    similarity: float | None = None
    """0 to 1, role-play only."""
    failed: bool = False
    """Whether the request ended in an error or a timeout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
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
    content: Estimate | None = None
    """Of role-play, verdict times similarity."""
    speech: Estimate | None = None
    consistency: Estimate | None = None
    similarity: Estimate | None = None
    unrounded: Estimate | None = None
    """The product of the unrounded factors."""
    score: float | None = None
    """The product as the paper rounds it; None where a factor is absent."""
    missing: int = 0
    """Items without audible sound."""
    unjudged: int = 0
    unscored: int = 0
    """Audible items that a scorer gave no value for in speech, consistency or similarity."""
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


def product(content: float, speech: float, consistency: float) -> float:
    """Return the task score from factors on scales to 100, rounded first as the paper does.

    >>> round(product(19.0, 76.0, 95.0), 1)
    13.7
    """
    mos = round(speech / 20, 1)
    return round(content, 1) * (20 * mos) * round(consistency, 1) / 1e4


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
        return TaskScores(task=task, n=0, reason="the model does not take such requests", signatures=signatures)
    columns = _columns(task, items)
    rng = np.random.default_rng([seed, zlib.crc32(task.encode())])
    counts = rng.multinomial(len(items), np.full(len(items), 1 / len(items)), size=replicates).astype(np.float64)
    means = {name: _mean(column, counts) for name, column in columns.items()}
    estimates = {name: _estimate(means[name], columns[name]) for name in columns}
    content, speech, consistency = (estimates[name] for name in ("content", "speech", "consistency"))
    complete = content is not None and speech is not None and consistency is not None
    return TaskScores(
        task=task,
        n=len(items),
        **{name: estimates.get(name) for name in ("content", "speech", "consistency", "similarity")},
        unrounded=_product(means, len(items)) if complete else None,
        score=product(content.value, speech.value, consistency.value)
        if content is not None and speech is not None and consistency is not None
        else None,
        missing=sum(not i.audible for i in items),
        unjudged=sum(i.content is None for i in items),
        unscored=sum(i.audible and _lacks(i, task) for i in items),
        failed=sum(i.failed for i in items),
        reason="" if complete else _reason(estimates, items),
        signatures=signatures,
    )


def _columns(task: str, items: Sequence[ItemScores]) -> dict[str, Floats]:
    """The factors of every item on scales to 100, NaN where an item does not count."""
    nan = float("nan")

    def column(values: list[float | None]) -> Floats:
        return np.array([nan if v is None else v for v in values])

    out = {
        "content": 100 * column([i.content for i in items]),
        "speech": 20 * column([i.mos if i.audible else 0.0 for i in items]),
        "consistency": 100 * (1 - column([i.wer if i.audible else 1.0 for i in items])),
    }
    if task == "speaking_roleplay":
        out["similarity"] = column([i.similarity if i.audible else 0.0 for i in items])
        out["content"] = out["content"] * out["similarity"]
        out["similarity"] = 100 * out["similarity"]
    return out


def _lacks(item: ItemScores, task: str) -> bool:
    return item.mos is None or item.wer is None or (task == "speaking_roleplay" and item.similarity is None)


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


def _interval(mean: _Mean, n: int) -> Estimate:
    low, high = np.quantile(mean.replicates, [0.025, 0.975])
    return Estimate(value=mean.value, low=float(low), high=float(high), se=float(mean.replicates.std()), n=n)


def _estimate(mean: _Mean | None, column: Floats) -> Estimate | None:
    return None if mean is None else _interval(mean, int((~np.isnan(column)).sum()))


def _product(means: Mapping[str, _Mean | None], n: int) -> Estimate:
    factors = [mean for name in ("content", "speech", "consistency") if (mean := means[name]) is not None]
    value = math.prod(mean.value for mean in factors) / 1e4
    return _interval(_Mean(value, np.prod([mean.replicates for mean in factors], axis=0) / 1e4), n)


def _reason(estimates: Mapping[str, Estimate | None], items: Sequence[ItemScores]) -> str:
    if estimates["content"] is None and all(i.content is None for i in items):
        return f"all {len(items)} answers are unjudged"
    lacking = ", ".join(name for name in ("content", "speech", "consistency") if estimates[name] is None)
    return f"no answer has a value for {lacking}"


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
