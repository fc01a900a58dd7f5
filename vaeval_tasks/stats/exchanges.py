"""Studentised differences under exchanges of two systems within documents: all of them, or many that are drawn.

A document's sums under one system change places with those under the other. The difference of a quantity and its
variance (clustered by document) are then functions of the sums and of their squares, both of which are linear in which
documents are exchanged, so that many exchanges are one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.paired_sums import NO_VARIANCE, PairedItems, document_sums, quantities, slopes_of, value_of

__all__ = ["Exchanges", "studentised"]

EXACT_DOCUMENTS = 12
"""So many documents that differ, and the exchanges are all made: 2^12 of them; more are drawn."""
_BLOCK = 256

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class Exchanges:
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
        se = np.sqrt(np.where(variance > NO_VARIANCE, variance, 0.0))
        self._null[name, quantity] = (float(difference[0]), float(se[0]), studentised(difference, se))

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
        sums, codes = document_sums(task)
        self._quantities = quantities(task)
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
        self._change = change.reshape(len(rows), self._size**2)

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
            up = slopes_of(of_second) / self._n[columns]
            down = -slopes_of(of_first) / self._n[columns]
            level = -up * second[:, columns] - down * first[:, columns]
            weights = np.hstack([up, down, level])
            places = np.concatenate([np.array(columns) + factors * part for part in range(3)])
            part = squares[:, places[:, None], places[None, :]]
            variance = np.einsum("bi,bij,bj->b", weights, part, weights)
            out[quantity] = (value_of(of_second) - value_of(of_first), np.maximum(variance, 0.0))
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


def studentised(difference: Floats, se: Floats) -> Floats:
    """The studentised difference; without an error it is infinite, and 0 where there is no difference either."""
    some = np.abs(difference) > 1e-9
    unbounded = np.where(some, np.where(difference > 0, np.inf, -np.inf), 0.0)
    return np.divide(difference, se, out=unbounded, where=se > 0)
