"""The mean of a factor and the product of factors over the items of a task, with intervals.

A mean of sound is a share of items that are heard times a mean of these, a weighed verdict a share of right ones times
a mean weight: each part has the interval of its kind, see :mod:`vaeval_tasks.stats.bounded_means`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.scoring.metric import AUDIBLE, FactorUse, MetricFamily, ResponseMetric, TaskFactor
from vaeval_tasks.scoring.registry import factors
from vaeval_tasks.stats.bounded_means import BoundedLimits, BoundedPart, mean_part, product_limits, share_part

__all__ = ["FactorColumn", "ItemScores", "ScoreEstimate", "factor_columns", "product_estimate"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemScores:
    """What one response scored."""

    values: Mapping[str, float | None]
    """By metric; None or absent where there is no value."""
    failed: bool = False
    """Whether the request ended in an error or a timeout."""
    document: str = ""
    """What the item shares with others: a recording, a picture, a role's voice; empty where it stands alone."""

    @property
    def audible(self) -> bool:
        """Whether there is sound."""
        return bool(self.values.get(AUDIBLE))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreEstimate:
    """A value on a scale to 100 with its 95 % interval, which holds it, and its standard error."""

    value: float
    low: float
    high: float
    se: float
    n: int
    """Items that count."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorColumn:
    """One factor over the items of a task."""

    column: Floats
    """(items,), on the scale to 100, NaN where an item does not count."""
    heard: Flags | None
    """(items,), which are heard, where the others count 0; None where sound does not matter."""
    documents: NDArray[np.int64]
    """(items,), the document of each."""
    tails: Sequence[BoundedPart] = field(default=())
    """Parts whose product, times the share that is heard, is the mean."""

    @property
    def counting(self) -> Flags:
        """Which items count, (items,)."""
        return ~np.isnan(self.column)

    @property
    def n(self) -> int:
        """How many items count."""
        return int(self.counting.sum())

    @property
    def mean(self) -> float:
        """The mean over the items that count."""
        return float(self.column[self.counting].mean())

    def estimate(self) -> ScoreEstimate:
        """Return the mean with its interval."""
        share = [] if self.heard is None else [share_part(self.heard, self.documents, self.counting)]
        return _estimate(self.mean, [*share, *self.tails], [1] * (len(share) + len(self.tails)), self.n)


def factor_columns(task: str, items: Sequence[ItemScores]) -> dict[str, FactorColumn]:
    """Return the factors of a task that any item has a value for; role-play's verdicts are weighed by similarity."""
    found = factors(task)
    audible = np.array([item.audible for item in items])
    documents = _documents(items)
    columns = {name: _column(metric, factor, items) for name, (metric, factor) in found.items()}
    weights = {name: columns[name] for name in factors(task, FactorUse.weight)}
    out = {}
    for name, (metric, _) in found.items():
        judged = metric.family is MetricFamily.judge
        weight = np.prod([w / 100 for w in weights.values()], axis=0) if judged and weights else None
        heard = audible if metric.audible_only or weight is not None else None
        column = columns[name] if weight is None else columns[name] * weight
        counting = ~np.isnan(column)
        if counting.any():
            within = counting if heard is None else counting & heard
            tails = _tails(columns[name] / 100, weight, documents, within) if judged else None
            if tails is None:
                tails = [mean_part(np.clip(column / 100, 0, 1), documents, within)] if within.any() else []
            out[name] = FactorColumn(column=column, heard=heard, documents=documents, tails=tails)
    return out


def _documents(items: Sequence[ItemScores]) -> NDArray[np.int64]:
    named = [("document", item.document) if item.document else ("item", str(i)) for i, item in enumerate(items)]
    codes = {name: code for code, name in enumerate(dict.fromkeys(named))}
    return np.array([codes[name] for name in named], dtype=np.int64)


def _column(metric: ResponseMetric, factor: TaskFactor, items: Sequence[ItemScores]) -> Floats:
    """One factor of every item on its scale to 100, NaN where an item does not count."""
    values = [
        factor.zero if metric.audible_only and not item.audible else item.values.get(metric.key) for item in items
    ]
    column = np.array([math.nan if value is None else value for value in values])
    return np.asarray(factor.gain * (column - factor.zero) + 0.0, dtype=np.float64)  # + 0.0: no -0


def _tails(
    verdicts: Floats, weight: Floats | None, documents: NDArray[np.int64], within: Flags
) -> list[BoundedPart] | None:
    """The share of right verdicts and the mean weight of these; None where verdicts are more than right or wrong."""
    if not within.any():
        return []
    if not np.isin(verdicts[within], (0.0, 1.0)).all():
        return None
    right = np.nan_to_num(verdicts) == 1
    share = share_part(right, documents, within)
    if weight is None:
        return [share]
    weighed = within & right
    # where none is right, what the right ones weigh is unknown: what all do
    return [share, mean_part(np.clip(weight, 0, 1), documents, weighed if weighed.any() else within)]


def product_estimate(columns: Sequence[FactorColumn]) -> ScoreEstimate:
    """Return the product of the means of factors; what is not heard is missing from all factors of sound at once."""
    parts = [part for column in columns for part in column.tails]
    powers = [1] * len(parts)
    heard = [column.heard for column in columns if column.heard is not None]
    if heard:
        parts.append(share_part(heard[0], columns[0].documents, np.ones(len(heard[0]), dtype=np.bool_)))
        powers.append(len(heard))
    value = 100 * math.prod(column.mean / 100 for column in columns)
    return _estimate(value, parts, powers, len(columns[0].column))


def _estimate(value: float, parts: Sequence[BoundedPart], powers: Sequence[int], n: int) -> ScoreEstimate:
    """The interval of the product of parts about a value: items that do not count can make the two differ a little."""
    found: BoundedLimits = product_limits(parts, powers)
    product = 100 * math.prod(part.value**power for part, power in zip(parts, powers, strict=True))
    scale = 100 * (value / product if value > 0 and product > 0 else 1.0)
    low, high = min(value, max(0.0, scale * found.low)), max(value, min(100.0, scale * found.high))
    # of one item or two the linear error is far beyond the scale
    return ScoreEstimate(value=value, low=low, high=high, se=min(scale * found.se, (high - low) / 2), n=n)
