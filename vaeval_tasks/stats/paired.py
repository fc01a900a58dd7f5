"""Two systems on the same items: differences of means and of products of means, with clustered intervals and tests.

An item has a value of each factor under both systems. A quantity is one factor's mean, or the product of the means of
several, each over 100 (as task scores are made). Items of one document may depend on each other; documents do not.

*Interval*: the difference, linearised at the means, has variance ``G / (G - 1) sum_g u_g^2`` with ``u_g`` the sum of
the influences of document g (Liang & Zeger 1986), and a t quantile. Where a factor is a verdict (0 or 100), two
documents are added that differ by all of the scale, one each way, so that an interval over few verdicts that agree has
width (Bonett & Price 2012, who use z; with t three quarters of a document do, see tests/benchmarks).

*Test*: the systems are exchanged within documents, in all ways or in many drawn ones, and the studentised difference
is compared with those it then takes (Janssen 1997; Chung & Romano 2013). It is exact where the systems are
exchangeable, and of the right size in large samples where only the quantity is equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "PRODUCT",
    "MedianDifference",
    "PairedDifference",
    "PairedItems",
    "PairedVerdict",
    "holm",
    "median_difference",
    "paired_differences",
    "paired_verdict",
]

PRODUCT = "score"
"""The name of the product among the quantities."""
EXACT_DOCUMENTS = 12
"""So many documents that differ, and the exchanges are all made: 2^12 of them; more are drawn."""
ADDED = 0.75
"""The size of the two documents that widen an interval over verdicts, in documents."""
_BLOCK = 256
_NO_VARIANCE = 1e-9
"""Points squared: a variance so small is rounding."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedItems:
    """The items of one task under two systems, on scales to 100."""

    factors: tuple[str, ...]
    multiplied: tuple[str, ...]
    """The factors that the product is made of."""
    first: Floats
    """(items, factors); NaN where the item does not count."""
    second: Floats
    document: Codes
    """(items,): what items may depend through; the same numbers in every task."""
    verdict: str = ""
    """The factor that is a verdict, 0 or 100, where one is."""


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
class _Sums:
    """Sums over documents, of one task."""

    first: Floats
    """(documents, factors)."""
    second: Floats
    count: Floats
    """How many items count."""


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
    exchanged = _Exchanges(tasks, groups or {}, draws=draws, seed=seed)
    out = []
    for name, task in tasks.items():
        out += [
            _finish(
                _of_task(name, quantity, task, level), exchanged.null(name, quantity), margin, exchanged.exact[name]
            )
            for quantity in _quantities(task)
        ]
    for name, weights in (groups or {}).items():
        members = {task: tasks[task] for task in weights}
        shared = [
            q for q in _quantities(next(iter(members.values()))) if all(q in _quantities(t) for t in members.values())
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


def _quantities(task: PairedItems) -> dict[str, list[int]]:
    """The columns that each quantity multiplies."""
    found = {name: [i] for i, name in enumerate(task.factors)}
    return found | {PRODUCT: [task.factors.index(name) for name in task.multiplied]}


def _sums(task: PairedItems) -> tuple[_Sums, Codes]:
    """Sum over documents; an item counts in a factor where both systems have a value."""
    codes, rows = np.unique(task.document, return_inverse=True)
    there = ~(np.isnan(task.first) | np.isnan(task.second))
    shape = (len(codes), len(task.factors))
    first, second, count = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    np.add.at(first, rows, np.where(there, task.first, 0.0))
    np.add.at(second, rows, np.where(there, task.second, 0.0))
    np.add.at(count, rows, there.astype(np.float64))
    return _Sums(first=first, second=second, count=count), codes


def _value(means: Floats) -> Floats:
    """The quantity from the means of its factors, (…, factors)."""
    return np.asarray(100 * np.prod(means / 100, axis=-1))


def _slopes(means: Floats) -> Floats:
    """Its slope in each mean, (…, factors)."""
    n = means.shape[-1]
    return np.stack([np.prod(np.delete(means, i, axis=-1) / 100, axis=-1) for i in range(n)], axis=-1)


def _linear(sums: _Sums) -> _Linear:
    """The difference of a quantity of these columns, linearised; every column counts somewhere."""
    n = sums.count.sum(axis=0)
    first, second = sums.first.sum(axis=0) / n, sums.second.sum(axis=0) / n
    influence = (sums.second - second * sums.count) @ (_slopes(second) / n)
    influence -= (sums.first - first * sums.count) @ (_slopes(first) / n)
    g = int((sums.count > 0).any(axis=1).sum())
    return _Linear(
        difference=float(_value(second) - _value(first)),
        influence=influence * np.sqrt(g / (g - 1)) if g > 1 else influence,
    )


def _widened(sums: _Sums, verdict: int) -> _Sums:
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
    return _Sums(
        first=np.vstack([sums.first, low]), second=np.vstack([sums.second, high]), count=np.vstack([sums.count, count])
    )


def _of_task(name: str, quantity: str, task: PairedItems, level: float) -> PairedDifference:
    columns = _quantities(task)[quantity]
    whole, _ = _sums(task)
    sums = _Sums(first=whole.first[:, columns], second=whole.second[:, columns], count=whole.count[:, columns])
    counted = ~np.isnan(task.first[:, columns]) & ~np.isnan(task.second[:, columns])
    documents = int((sums.count > 0).any(axis=1).sum())
    found = PairedDifference(name=name, quantity=quantity, items=int(counted.any(axis=1).sum()), documents=documents)
    if (sums.count.sum(axis=0) == 0).any():
        return replace(found, reason="no item has a value in both runs")
    n = sums.count.sum(axis=0)
    plain = _linear(sums)
    found = replace(
        found,
        first=float(_value(sums.first.sum(axis=0) / n)),
        second=float(_value(sums.second.sum(axis=0) / n)),
        difference=plain.difference,
    )
    names = [task.factors[i] for i in columns]
    if documents < 2:
        return replace(found, reason="there is one document: nothing tells how far others would differ")
    if task.verdict in names:
        adjusted = _linear(_widened(sums, names.index(task.verdict)))
        return _interval(found, adjusted.difference, adjusted.variance, documents + 1, level)
    if plain.variance <= _NO_VARIANCE:
        same = "does not differ in any document" if abs(plain.difference) < 1e-9 else "differs alike in every document"
        return replace(found, reason=f"{quantity} {same}: nothing tells how far others would differ")
    return _interval(found, plain.difference, plain.variance, documents - 1, level)


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
        shares.append((float(mine @ mine), max(parts[task].documents - 1, 1)))
    variance = extra + sum(value**2 for value in by_document.values())
    total = sum(share for share, _ in shares)
    degrees = total**2 / sum(share**2 / df for share, df in shares)  # Satterthwaite
    return _interval(found, middle, variance, degrees, level)


def _adjusted(items: PairedItems, quantity: str) -> tuple[_Linear, Codes]:
    columns = _quantities(items)[quantity]
    whole, codes = _sums(items)
    sums = _Sums(first=whole.first[:, columns], second=whole.second[:, columns], count=whole.count[:, columns])
    names = [items.factors[i] for i in columns]
    return _linear(_widened(sums, names.index(items.verdict)) if items.verdict in names else sums), codes


class _Exchanges:
    """The studentised differences under exchanges of the two systems within documents."""

    def __init__(
        self,
        tasks: Mapping[str, PairedItems],
        groups: Mapping[str, Mapping[str, float]],
        *,
        draws: int,
        seed: int,
    ) -> None:
        self._tasks = {name: _ExchangedTask(task) for name, task in tasks.items()}
        self.exact: dict[str, bool] = {}
        self._null: dict[tuple[str, str], tuple[float, float, Floats]] = {}
        active = {name: task.active for name, task in self._tasks.items()}
        everyone = np.unique(np.concatenate([*active.values(), np.zeros(0, np.int64)]))
        drawn: dict[str, dict[str, tuple[Floats, Floats]]] | None = None
        if len(everyone) > EXACT_DOCUMENTS:
            drawn = self._run(list(tasks), everyone, _drawn(len(everyone), draws, seed))
        for name in tasks:
            self.exact[name] = len(active[name]) <= EXACT_DOCUMENTS
            if self.exact[name] or drawn is None:
                found = self._run([name], active[name], _all(len(active[name])))[name]
            else:
                found = drawn[name]
            for quantity, (difference, variance) in found.items():
                self._keep(name, quantity, difference, variance)
        for name, weights in groups.items():
            codes = np.unique(np.concatenate([active[task] for task in weights]))
            self.exact[name] = len(codes) <= EXACT_DOCUMENTS
            parts = self._run(list(weights), codes, _all(len(codes))) if self.exact[name] or drawn is None else drawn
            for quantity in parts[next(iter(weights))]:
                if all(quantity in parts[task] for task in weights):
                    differences = [weights[task] * parts[task][quantity][0] for task in weights]
                    variances = [weights[task] ** 2 * parts[task][quantity][1] for task in weights]
                    self._keep(name, quantity, np.sum(differences, axis=0), np.sum(variances, axis=0))

    def null(self, name: str, quantity: str) -> tuple[float, float, Floats] | None:
        """The difference and standard error as they are, and the studentised differences of all exchanges."""
        return self._null.get((name, quantity))

    def _keep(self, name: str, quantity: str, difference: Floats, variance: Floats) -> None:
        # the first exchange is none: things as they are
        se = np.sqrt(np.where(variance > _NO_VARIANCE, variance, 0.0))
        self._null[name, quantity] = (float(difference[0]), float(se[0]), _ratio(difference, se))

    def _run(
        self, names: Sequence[str], codes: Codes, exchanges: Iterator[Floats]
    ) -> dict[str, dict[str, tuple[Floats, Floats]]]:
        """Differences and variances by task and quantity, (exchanges,)."""
        places = {name: np.searchsorted(codes, self._tasks[name].active) for name in names}
        found: dict[str, dict[str, list[tuple[Floats, Floats]]]] = {name: {} for name in names}
        for block in exchanges:
            for name in names:
                for quantity, pair in self._tasks[name].exchange(block[:, places[name]]).items():
                    found[name].setdefault(quantity, []).append(pair)
        return {
            name: {
                quantity: (np.concatenate([d for d, _ in parts]), np.concatenate([v for _, v in parts]))
                for quantity, parts in by.items()
            }
            for name, by in found.items()
        }


class _ExchangedTask:
    """One task's sums, ready to be exchanged in many ways at once."""

    def __init__(self, task: PairedItems) -> None:
        sums, codes = _sums(task)
        self._quantities = _quantities(task)
        n = np.maximum(sums.count.sum(axis=0), 1.0)
        # around the level of both, so that the squares below do not cancel
        self._level = (sums.first + sums.second).sum(axis=0) / (2 * n)
        first, second = sums.first - self._level * sums.count, sums.second - self._level * sums.count
        differs = (np.abs(second - first) > 1e-9).any(axis=1)
        self.active: Codes = codes[differs]
        self._n, self._there = n, sums.count.sum(axis=0) > 0
        self._sum_first, self._sum_second = first.sum(axis=0), second.sum(axis=0)
        self._moved = (second - first)[differs]
        as_is, turned = np.hstack([second, first, sums.count]), np.hstack([first, second, sums.count])
        self._size = as_is.shape[1]
        self._squares = as_is.T @ as_is
        rows, turned_rows = as_is[differs], turned[differs]
        change = turned_rows[:, :, None] * turned_rows[:, None, :] - rows[:, :, None] * rows[:, None, :]
        self._change = change.reshape(len(rows), -1)

    def exchange(self, which: Floats) -> dict[str, tuple[Floats, Floats]]:
        """Difference and variance of each quantity; ``which`` is (exchanges, active), 1 where one is exchanged."""
        moved = which @ self._moved
        first = (self._sum_first + moved) / self._n
        second = (self._sum_second - moved) / self._n
        squares = self._squares + (which @ self._change).reshape(-1, self._size, self._size)
        factors = len(self._n)
        out = {}
        for quantity, columns in self._quantities.items():
            if not self._there[columns].all():
                continue
            of_first, of_second = first[:, columns] + self._level[columns], second[:, columns] + self._level[columns]
            up = _slopes(of_second) / self._n[columns]
            down = -_slopes(of_first) / self._n[columns]
            level = -up * second[:, columns] - down * first[:, columns]
            weights = np.hstack([up, down, level])
            places = np.concatenate([np.array(columns) + factors * part for part in range(3)])
            part = squares[:, places[:, None], places[None, :]]
            variance = np.einsum("bi,bij,bj->b", weights, part, weights)
            out[quantity] = (_value(of_second) - _value(of_first), np.maximum(variance, 0.0))
        return out


def _all(n: int) -> Iterator[Floats]:
    """Every exchange of n documents, the one of none first."""
    numbers = np.arange(2**n)
    for start in range(0, len(numbers), _BLOCK):
        yield ((numbers[start : start + _BLOCK, None] >> np.arange(n)) & 1).astype(np.float64)


def _drawn(n: int, draws: int, seed: int) -> Iterator[Floats]:
    """Exchanges drawn, after the one of none."""
    rng = np.random.Generator(np.random.Philox(seed))
    for start in range(0, draws + 1, _BLOCK):
        block = rng.integers(0, 2, size=(min(_BLOCK, draws + 1 - start), n)).astype(np.float64)
        if start == 0:
            block[0] = 0.0
        yield block


def _ratio(difference: Floats, se: Floats) -> Floats:
    """The studentised difference; without an error it is infinite, and 0 where there is no difference either."""
    some = np.abs(difference) > 1e-9
    unbounded = np.where(some, np.where(difference > 0, np.inf, -np.inf), 0.0)
    return np.divide(difference, se, out=unbounded, where=se > 0)


def _finish(
    found: PairedDifference, null: tuple[float, float, Floats] | None, margin: float, exact: bool
) -> PairedDifference:
    """Add the p values."""
    if null is None or found.difference is None:
        return found
    difference, se, values = null
    seen = float(_ratio(np.array([difference]), np.array([se]))[0])
    beyond = float(_ratio(np.array([difference + margin]), np.array([se]))[0])
    # exchanges that give the same number in another order of additions count as the same
    slack = 1e-7 * (1 + abs(seen)) if np.isfinite(seen) else 0.0
    low_slack = 1e-7 * (1 + abs(beyond)) if np.isfinite(beyond) else 0.0
    return replace(
        found,
        p=float(np.mean(np.abs(values) >= abs(seen) - slack)),
        # things as they are count among the exchanges, wherever the margin puts them
        p_drop=max(float(np.mean(values <= beyond + low_slack)), 1 / len(values)),
        exact=exact,
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianDifference:
    """The median, over documents, of the second system's value less the first's."""

    first: float | None = None
    """The median of the first system's values."""
    second: float | None = None
    difference: float | None = None
    """The median of the differences, which is not the difference of the medians."""
    low: float | None = None
    """Order statistics (the sign test turned round): at least the level asked for, whatever the distribution."""
    high: float | None = None
    p: float | None = None
    """Of the sign test, two-sided; differences of 0 are left out."""
    items: int = 0
    documents: int = 0
    reason: str = ""


def median_difference(
    first: ArrayLike, second: ArrayLike, document: ArrayLike, *, level: float = 0.95
) -> MedianDifference:
    """Return the median paired difference, where both systems have a value; a document's items are averaged first.

    Args:
        first: (items,), NaN where there is no value.
        second: the same.
        document: (items,), whole numbers.
        level: of the interval.
    """
    from scipy.special import bdtr

    a, b, codes = (np.asarray(x, dtype=np.float64) for x in (first, second, document))
    there = np.isfinite(a) & np.isfinite(b)
    if not there.any():
        return MedianDifference(reason="no item has a value in both runs")
    _, rows = np.unique(codes[there], return_inverse=True)
    each = np.sort(np.bincount(rows, weights=(b - a)[there]) / np.bincount(rows))
    n = len(each)
    up, down = int((each > 0).sum()), int((each < 0).sum())
    found = MedianDifference(
        first=float(np.median(a[there])),
        second=float(np.median(b[there])),
        difference=float(np.median(each)),
        p=min(1.0, 2 * float(bdtr(min(up, down), up + down, 0.5))) if up + down else None,
        items=int(there.sum()),
        documents=n,
    )
    ranks = [k for k in range(n // 2) if 2 * float(bdtr(k, n, 0.5)) <= 1 - level]
    if not ranks:
        return replace(found, reason=f"{n} documents are too few for an interval of a median")
    low, high = float(each[ranks[-1]]), float(each[n - 1 - ranks[-1]])
    if high - low <= 0:
        return replace(found, reason="the documents in the middle differ alike: nothing tells how far others would")
    return replace(found, low=low, high=high)
