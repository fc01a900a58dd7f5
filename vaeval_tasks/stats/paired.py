"""Two systems on the same items: differences of means and of products of means, with clustered intervals and tests.

An item has a value of each factor under both systems. A quantity is one factor's mean, or the product of the means of
several, each over 100 (as task scores are made). Items of one document may depend on each other; documents do not.

*Interval*: the difference, linearised at the means, has variance ``G / (G - 1) sum_g u_g^2`` with ``u_g`` the sum of
the influences of document g (Liang & Zeger 1986), and a t quantile. Where a factor is a verdict (0 or 100), two
documents are added that differ by all of the scale, one each way, so that an interval over few verdicts that agree has
width (Bonett & Price 2012, who use z; with t three quarters of a document do, see tests/benchmarks).

*Test*: the systems are exchanged within documents, in all ways or in many drawn ones, and the studentised difference
is compared with those it then takes (Janssen 1997; Chung & Romano 2013). It is exact where the systems are
exchangeable and all exchanges are made, and of the right size in large samples where only the quantity is equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.exchanges import Exchanges, studentised
from vaeval_tasks.stats.paired_sums import (
    NO_VARIANCE,
    PRODUCT,
    DocumentSums,
    PairedItems,
    document_sums,
    quantities,
    slopes_of,
    value_of,
)

__all__ = [
    "PRODUCT",
    "PairedDifference",
    "PairedItems",
    "PairedVerdict",
    "holm",
    "paired_differences",
    "paired_verdict",
]

ADDED = 0.75
"""The size of the two documents that widen an interval over verdicts, in documents."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """How much higher the second system is in one quantity of one task, or of a weighted mean of tasks; in points."""

    name: str
    quantity: str
    first: float | None = None
    second: float | None = None
    difference: float | None = None
    low: float | None = None
    """Of the interval at the level asked for; None, with the reason, where nothing tells how wide it is."""
    high: float | None = None
    inner_low: float | None = None
    """Of the interval at twice the error, which two one-sided tests of equivalence compare with a margin."""
    inner_high: float | None = None
    se: float | None = None
    p: float | None = None
    """Two-sided, that there is no difference."""
    p_drop: float | None = None
    """One-sided, that the second system is lower by no more than the margin."""
    exact: bool = False
    """Whether all exchanges were made."""
    detectable: float | None = None
    """The smallest difference that so many items show with 80 % power, in a two-sided test of one hypothesis."""
    items: int = 0
    documents: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Linear:
    """A difference and what each document adds to its error."""

    difference: float
    influence: Floats
    """(documents,), with the small-sample factor."""

    @property
    def variance(self) -> float:
        return float(self.influence @ self.influence)


def paired_differences(
    tasks: Mapping[str, PairedItems],
    groups: Mapping[str, Mapping[str, float]] | None = None,
    *,
    margin: float = 0.0,
    level: float = 0.95,
    draws: int = 4999,
    seed: int = 0,
) -> list[PairedDifference]:
    """Return the differences of every quantity of every task, then of every group.

    Args:
        tasks: by name.
        groups: by name, the weight of each of its tasks, which sum to 1. A quantity that not all its tasks have has
            no difference of the group.
        margin: points that the second system may be lower by without a drop.
        level: of the intervals.
        draws: exchanges that are drawn where there are too many to make all.
        seed: of the draws.
    """
    exchanged = Exchanges(tasks, groups or {}, draws=draws, seed=seed)
    out = []
    for name, task in tasks.items():
        out += [
            _finish(
                _of_task(name, quantity, task, level), exchanged.null(name, quantity), margin, exchanged.exact[name]
            )
            for quantity in quantities(task)
        ]
    for name, weights in (groups or {}).items():
        members = {task: tasks[task] for task in weights}
        shared = [
            q for q in quantities(next(iter(members.values()))) if all(q in quantities(t) for t in members.values())
        ]
        out += [
            _finish(
                _of_group(name, quantity, members, weights, level),
                exchanged.null(name, quantity),
                margin,
                exchanged.exact[name],
            )
            for quantity in shared
        ]
    return out


def _linear(sums: DocumentSums) -> _Linear:
    """The difference of a quantity of these columns, linearised; every column counts somewhere."""
    n = sums.count.sum(axis=0)
    first, second = sums.first.sum(axis=0) / n, sums.second.sum(axis=0) / n
    influence = (sums.second - second * sums.count) @ (slopes_of(second) / n)
    influence -= (sums.first - first * sums.count) @ (slopes_of(first) / n)
    g = int((sums.count > 0).any(axis=1).sum())
    return _Linear(
        difference=float(value_of(second) - value_of(first)),
        influence=influence * np.sqrt(g / (g - 1)) if g > 1 else influence,
    )


def _widened(sums: DocumentSums, verdict: int) -> DocumentSums:
    """Add two documents, of a part of the usual size, whose verdicts differ by all of the scale, one each way."""
    documents = int((sums.count[:, verdict] > 0).sum())
    total = sums.count[:, verdict].sum()
    size = ADDED * total / documents
    level = (sums.first[:, verdict].sum() + sums.second[:, verdict].sum()) / (2 * total)
    rows = np.zeros((2, sums.count.shape[1]))
    low, high, count = rows.copy(), rows.copy(), rows.copy()
    low[:, verdict] = size * np.array([level - 50, level + 50])
    high[:, verdict] = size * np.array([level + 50, level - 50])
    count[:, verdict] = size
    return DocumentSums(
        first=np.vstack([sums.first, low]), second=np.vstack([sums.second, high]), count=np.vstack([sums.count, count])
    )


def _of_task(name: str, quantity: str, task: PairedItems, level: float) -> PairedDifference:
    columns = quantities(task)[quantity]
    whole, _ = document_sums(task)
    sums = DocumentSums(first=whole.first[:, columns], second=whole.second[:, columns], count=whole.count[:, columns])
    counted = ~np.isnan(task.first[:, columns]) & ~np.isnan(task.second[:, columns])
    documents = int((sums.count > 0).any(axis=1).sum())
    found = PairedDifference(name=name, quantity=quantity, items=int(counted.any(axis=1).sum()), documents=documents)
    if (sums.count.sum(axis=0) == 0).any():
        return replace(found, reason="no item has a value in both runs")
    n = sums.count.sum(axis=0)
    plain = _linear(sums)
    found = replace(
        found,
        first=float(value_of(sums.first.sum(axis=0) / n)),
        second=float(value_of(sums.second.sum(axis=0) / n)),
        difference=plain.difference,
    )
    names = [task.factors[i] for i in columns]
    if documents < 2:
        return replace(found, reason="there is one document: nothing tells how far others would differ")
    if task.verdict in names:
        adjusted = _linear(_widened(sums, names.index(task.verdict)))
        return _interval(found, adjusted.difference, adjusted.variance, _degrees(task, quantity, documents), level)
    if plain.variance <= NO_VARIANCE:
        same = "does not differ in any document" if abs(plain.difference) < 1e-9 else "differs alike in every document"
        return replace(found, reason=f"{quantity} {same}: nothing tells how far others would differ")
    return _interval(found, plain.difference, plain.variance, _degrees(task, quantity, documents), level)


def _degrees(task: PairedItems, quantity: str, documents: int) -> float:
    """Documents less one, the two that are added to verdicts among them."""
    judged = task.verdict in [task.factors[i] for i in quantities(task)[quantity]]
    return documents + 1 if judged else documents - 1


def _interval(
    found: PairedDifference, middle: float, variance: float, degrees: float, level: float
) -> PairedDifference:
    from scipy.special import stdtrit  # scipy.stats costs a second

    se = float(np.sqrt(variance))
    outer, inner, power = (float(stdtrit(degrees, q)) for q in ((1 + level) / 2, level, 0.8))

    def ends(t: float) -> tuple[float, float]:
        estimate = found.difference if found.difference is not None else middle
        return (
            max(-100.0, min(middle - t * se, estimate)),
            min(100.0, max(middle + t * se, estimate)),
        )

    (low, high), (inner_low, inner_high) = ends(outer), ends(inner)
    return replace(
        found,
        low=low,
        high=high,
        inner_low=inner_low,
        inner_high=inner_high,
        se=se,
        detectable=(outer + power) * se,
    )


def _of_group(
    name: str, quantity: str, members: Mapping[str, PairedItems], weights: Mapping[str, float], level: float
) -> PairedDifference:
    """The weighted mean of tasks; documents that several tasks have are one document."""
    parts = {task: _of_task(task, quantity, items, level) for task, items in members.items()}
    documents = len({int(code) for items in members.values() for code in items.document})
    found = PairedDifference(
        name=name, quantity=quantity, items=sum(p.items for p in parts.values()), documents=documents
    )
    if lacking := [f"{task}: {part.reason}" for task, part in parts.items() if part.difference is None]:
        return replace(found, reason="; ".join(lacking))
    found = replace(
        found,
        first=sum(weights[t] * (p.first or 0.0) for t, p in parts.items()),
        second=sum(weights[t] * (p.second or 0.0) for t, p in parts.items()),
        difference=sum(weights[t] * (p.difference or 0.0) for t, p in parts.items()),
    )
    # a task whose documents all differ alike adds nothing that is known to the error of the mean
    if lacking := [f"{task}: {part.reason}" for task, part in parts.items() if part.se is None]:
        return replace(found, reason="; ".join(lacking))
    by_document: dict[int, float] = {}
    middle = extra = 0.0
    shares = []
    for task, items in members.items():
        linear, codes = _adjusted(items, quantity)
        middle += weights[task] * linear.difference
        mine = weights[task] * linear.influence
        for code, value in zip(codes, mine, strict=False):
            by_document[int(code)] = by_document.get(int(code), 0.0) + float(value)
        extra += float(mine[len(codes) :] @ mine[len(codes) :])
        shares.append((float(mine @ mine), _degrees(items, quantity, parts[task].documents)))
    variance = extra + sum(value**2 for value in by_document.values())
    total = sum(share for share, _ in shares)
    degrees = total**2 / sum(share**2 / df for share, df in shares)  # Satterthwaite
    return _interval(found, middle, variance, degrees, level)


def _adjusted(items: PairedItems, quantity: str) -> tuple[_Linear, Codes]:
    columns = quantities(items)[quantity]
    whole, codes = document_sums(items)
    sums = DocumentSums(first=whole.first[:, columns], second=whole.second[:, columns], count=whole.count[:, columns])
    names = [items.factors[i] for i in columns]
    return _linear(_widened(sums, names.index(items.verdict)) if items.verdict in names else sums), codes


def _finish(
    found: PairedDifference, null: tuple[float, float, Floats] | None, margin: float, exact: bool
) -> PairedDifference:
    """Add the p values."""
    if null is None or found.difference is None:
        return found
    difference, se, values = null
    seen = float(studentised(np.array([difference]), np.array([se]))[0])
    beyond = float(studentised(np.array([difference + margin]), np.array([se]))[0])
    return replace(
        found,
        p=_share(np.abs(values), abs(seen), exact) if abs(difference) > 1e-9 else 1.0,
        p_drop=_share(-values, -beyond, exact),
        exact=exact,
    )


def _share(values: Floats, seen: float, exact: bool) -> float:
    """The share of exchanges at or beyond what is seen; of drawn ones those that equal it count half.

    Verdicts come in steps, and counting ties whole makes a test of them reject too seldom; the halves put that right
    (the mid-p value, Fagerland, Lydersen & Laake 2013). All exchanges of few documents keep the guarantee instead.
    """
    # exchanges that give the same number in another order of additions count as the same
    slack = 1e-7 * (1 + abs(seen)) if np.isfinite(seen) else 0.0
    at_least, beyond = float(np.mean(values >= seen - slack)), float(np.mean(values > seen + slack))
    share = at_least if exact else (at_least + beyond) / 2
    return max(share, (1.0 if exact else 0.5) / len(values))  # things as they are count, wherever a margin puts them


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Return p values adjusted for their number (Holm 1979); None stays and does not count.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((value, i) for i, value in enumerate(values) if value is not None)
    out: list[float | None] = [None] * len(values)
    highest = 0.0
    for place, (value, i) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - place) * value))
        out[i] = highest
    return out


class PairedVerdict(StrEnum):
    """What a difference says."""

    better = "better"
    worse = "worse"
    equivalent = "equivalent"
    """Within the margin, by two one-sided tests."""
    unclear = "cannot tell"


def paired_verdict(
    found: PairedDifference, p_adjusted: float | None, *, margin: float | None = None, alpha: float = 0.05
) -> PairedVerdict:
    """Return what a difference says: within the margin where that is shown, else better or worse where that is.

    Args:
        found: the difference; its inner interval is at a level of 1 - 2 alpha.
        p_adjusted: its p value after adjustment.
        margin: points that make no difference; None where there is no such margin.
        alpha: the error of each test.
    """
    if (
        margin is not None
        and found.inner_low is not None
        and found.inner_high is not None
        and -margin < found.inner_low
        and found.inner_high < margin
    ):
        return PairedVerdict.equivalent
    if p_adjusted is None or p_adjusted >= alpha or not found.difference:
        return PairedVerdict.unclear
    return PairedVerdict.better if found.difference > 0 else PairedVerdict.worse
