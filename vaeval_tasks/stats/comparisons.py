"""Paired comparisons as integer-coded columns, checked once.

A score is positive when ``a`` is preferred, from ``-scale`` to ``+scale``, and 0 is a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vaeval_tasks.errors import EstimationError, UnknownNameError

__all__ = ["Comparisons", "Coverage", "check_codes", "check_weights", "comparisons", "recode"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def recode(codes: Codes) -> tuple[Codes, int]:
    """Return non-negative codes as 0, 1, 2, … in the same order without gaps, and how many differ."""
    if len(codes) and codes.max() > 8 * len(codes) + 1000:  # sparse codes: sort instead of counting
        present, coded = np.unique(codes, return_inverse=True)
        return coded, len(present)
    table = np.cumsum(np.bincount(codes) > 0) - 1
    return table[codes], int(table[-1]) + 1 if len(table) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a number rests on."""

    n_ratings: float
    """The sum of the weights."""
    n_raters: int | None
    """None where raters are not named."""
    n_prompts: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparisons:
    """Ratings of pairs, one a row, as arrays of codes. Build one with :func:`comparisons`."""

    entities: tuple[str, ...]
    """The names of what is compared; ``a`` and ``b`` index it."""
    rubrics: tuple[str, ...]
    """The names of the questions; ``rubric`` indexes it."""
    rubric: Codes
    a: Codes
    b: Codes
    rater: Codes
    """0 to ``n_raters - 1``, each present; all 0 where raters are not named."""
    prompt: Codes
    """0 to ``n_prompts - 1``, each present; all 0 where prompts are not named."""
    score: Codes
    """Positive when ``a`` is preferred."""
    weight: Floats
    """How many ratings the row stands for (any number >= 0)."""
    side: Codes
    """+1 where ``a`` was shown first (left), -1 where ``b`` was, 0 where that is not known."""
    scale: int
    """The largest absolute score, 3 for CMOS."""
    n_raters: int
    n_prompts: int
    raters_named: bool
    """False where nothing says who rated: the one code then stands for nobody, not for one rater."""
    prompts_named: bool

    def __len__(self) -> int:
        return len(self.score)

    def rubric_code(self, name: str) -> int:
        """Return the code of a rubric.

        Raises:
            UnknownNameError: there is none of that name.
        """
        if name not in self.rubrics:
            raise UnknownNameError("rubric", name, self.rubrics)
        return self.rubrics.index(name)

    def entity_code(self, name: str) -> int:
        """Return the code of an entity.

        Raises:
            UnknownNameError: there is none of that name.
        """
        if name not in self.entities:
            raise UnknownNameError("entity", name, self.entities)
        return self.entities.index(name)

    def subset(self, keep: ArrayLike) -> Comparisons:
        """Return the rows where ``keep`` is true (a mask or row numbers); raters and prompts are coded anew.

        Entities and rubrics stay, with or without rows: see :meth:`used`.
        """
        rows = np.asarray(keep)
        rater, n_raters = recode(self.rater[rows])
        prompt, n_prompts = recode(self.prompt[rows])
        return replace(
            self,
            rubric=self.rubric[rows],
            a=self.a[rows],
            b=self.b[rows],
            rater=rater,
            prompt=prompt,
            score=self.score[rows],
            weight=self.weight[rows],
            side=self.side[rows],
            n_raters=n_raters,
            n_prompts=n_prompts,
        )

    def only(self, rubric: str) -> Comparisons:
        """Return the rows of one rubric, as a record with that rubric alone."""
        kept = self.subset(self.rubric == self.rubric_code(rubric))
        return replace(kept, rubrics=(rubric,), rubric=np.zeros_like(kept.rubric))

    def used(self) -> Comparisons:
        """Return the same rows without the entities that no row names."""
        codes = np.unique(np.concatenate([self.a, self.b]))
        table = np.full(len(self.entities), -1)
        table[codes] = np.arange(len(codes))
        return replace(self, entities=tuple(self.entities[i] for i in codes), a=table[self.a], b=table[self.b])

    def coverage(self) -> tuple[Coverage, ...]:
        """Return what every entity's numbers rest on, in the order of ``entities``."""
        found = []
        for code in range(len(self.entities)):
            rows = (self.a == code) | (self.b == code)
            found.append(
                Coverage(
                    n_ratings=float(self.weight[rows].sum()),
                    n_raters=len(np.unique(self.rater[rows])) if self.raters_named else None,
                    n_prompts=len(np.unique(self.prompt[rows])) if self.prompts_named else None,
                )
            )
        return tuple(found)

    def relabel(self, names: Sequence[str]) -> Comparisons:
        """Return the same ratings with entity ``i`` renamed ``names[i]``; equal names are pooled.

        This takes configurations to models, voices or thinking levels. Rows whose two sides now have one name are
        kept: they say nothing of strengths, but they inform the thresholds.

        Raises:
            ValueError: ``names`` has not one name per entity.
        """
        if len(names) != len(self.entities):
            raise ValueError(f"relabel needs {len(self.entities)} names, got {len(names)}")
        entities = tuple(dict.fromkeys(names))
        table = np.array([entities.index(name) for name in names], dtype=np.int64)
        return replace(self, entities=entities, a=table[self.a], b=table[self.b])


def comparisons(
    *,
    entities: Sequence[str],
    a: ArrayLike,
    b: ArrayLike,
    score: ArrayLike,
    rater: ArrayLike | None,
    prompt: ArrayLike | None,
    rubrics: Sequence[str] = ("overall",),
    rubric: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    side: ArrayLike | None = None,
    scale: int = 3,
) -> Comparisons:
    """Check columns of codes and return them as a record.

    Args:
        entities: names; ``a`` and ``b`` are indices into it. ``a == b`` is allowed (same-entity rows).
        a: index of the first entity, per row.
        b: index of the second entity, per row.
        score: -scale..scale, whole numbers, positive when ``a`` is preferred.
        rater: any non-negative integers, coded anew; None where raters are not named.
        prompt: any non-negative integers, coded anew; None where prompts are not named.
        rubrics: names; ``rubric`` is an index into it.
        rubric: index of the question, per row; all 0 if left out.
        weight: ratings per row, finite and >= 0; all 1 if left out. Rows of weight 0 are dropped.
        side: +1, -1 or 0, see :class:`Comparisons`; all 0 if left out.
        scale: the largest absolute score.

    Raises:
        EstimationError: a column has another length, a code or a score is out of range, or a weight is not finite or
            negative; the message names the column and the first such row, counted from 1.
    """
    scores = np.asarray(score)
    n = len(scores)
    columns = {
        "a": check_codes("a", a, n, 0, len(entities) - 1),
        "b": check_codes("b", b, n, 0, len(entities) - 1),
        "score": check_codes("score", scores, n, -scale, scale),
        "rubric": check_codes("rubric", np.zeros(n) if rubric is None else rubric, n, 0, len(rubrics) - 1),
        "side": check_codes("side", np.zeros(n) if side is None else side, n, -1, 1),
        "rater": check_codes("rater", np.zeros(n) if rater is None else rater, n, 0, None),
        "prompt": check_codes("prompt", np.zeros(n) if prompt is None else prompt, n, 0, None),
    }
    weights = check_weights(weight, n)
    made = Comparisons(
        entities=tuple(entities),
        rubrics=tuple(rubrics),
        weight=weights,
        scale=scale,
        n_raters=0,
        n_prompts=0,
        raters_named=rater is not None,
        prompts_named=prompt is not None,
        **columns,
    )
    return made.subset(weights > 0)


def check_weights(weight: ArrayLike | None, n: int) -> Floats:
    """Return the weights as floats, ones if there are none.

    Raises:
        EstimationError: one is negative or not finite.
    """
    weights = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    _refuse("weight", weights, ~(np.isfinite(weights) & (weights >= 0)), "a finite number >= 0", n)
    return weights


def check_codes(name: str, values: ArrayLike, n: int, low: int, high: int | None) -> Codes:
    """Return a column as integers.

    Raises:
        EstimationError: it is not ``n`` whole numbers from ``low`` to ``high``; the message names column and row.
    """
    raw = np.asarray(values)
    if raw.dtype.kind not in "iufb":
        raise EstimationError(f"column {name!r} must hold whole numbers, got {raw.dtype}")
    wrong = (raw < low) | (raw != np.floor(raw)) if raw.dtype.kind == "f" else raw < low
    if high is not None:
        wrong = wrong | (raw > high)
    if raw.dtype.kind == "f":
        wrong = wrong | ~np.isfinite(raw)
    upper = "" if high is None else f" to {high}"
    _refuse(name, raw, wrong, f"a whole number from {low}{upper}", n)
    return raw.astype(np.int64)


def _refuse(name: str, values: NDArray[np.generic], wrong: NDArray[np.bool_], wanted: str, n: int) -> None:
    if values.shape != (n,):
        raise EstimationError(f"column {name!r} has shape {values.shape}, but there are {n} scores")
    if wrong.any():
        row = int(np.argmax(wrong))
        raise EstimationError(f"column {name!r}, row {row + 1}: {values[row]} is not {wanted}")
