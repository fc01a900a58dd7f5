"""The items of a task under two systems, summed over documents; quantities as functions of the factors' means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NO_VARIANCE",
    "PRODUCT",
    "DocumentSums",
    "PairedItems",
    "document_sums",
    "quantities",
    "slopes_of",
    "value_of",
]

PRODUCT = "score"
"""The name of the product among the quantities."""
NO_VARIANCE = 1e-9
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DocumentSums:
    """Sums over documents, of one task."""

    first: Floats
    """(documents, factors)."""
    second: Floats
    count: Floats
    """How many items count."""


def quantities(task: PairedItems) -> dict[str, list[int]]:
    """The columns that each quantity multiplies."""
    found = {name: [i] for i, name in enumerate(task.factors)}
    return found | {PRODUCT: [task.factors.index(name) for name in task.multiplied]}


def document_sums(task: PairedItems) -> tuple[DocumentSums, Codes]:
    """Sum over documents; an item counts in a factor where both systems have a value."""
    codes, rows = np.unique(task.document, return_inverse=True)
    there = ~(np.isnan(task.first) | np.isnan(task.second))
    shape = (len(codes), len(task.factors))
    first, second, count = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    np.add.at(first, rows, np.where(there, task.first, 0.0))
    np.add.at(second, rows, np.where(there, task.second, 0.0))
    np.add.at(count, rows, there.astype(np.float64))
    return DocumentSums(first=first, second=second, count=count), codes


def value_of(means: Floats) -> Floats:
    """The quantity from the means of its factors, (…, factors)."""
    return np.asarray(100 * np.prod(means / 100, axis=-1))


def slopes_of(means: Floats) -> Floats:
    """Its slope in each mean, (…, factors)."""
    n = means.shape[-1]
    return np.stack([np.prod(np.delete(means, i, axis=-1) / 100, axis=-1) for i in range(n)], axis=-1)
