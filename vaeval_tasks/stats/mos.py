"""Mean opinion scores: averaged over the raters of a sample, then over samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vaeval_tasks.stats.clusters import WAYS, lacking
from vaeval_tasks.stats.comparisons import Coverage, check_codes, check_weights, recode
from vaeval_tasks.stats.draws import Draws, Scheme, lanes
from vaeval_tasks.stats.intervals import Interval, no_interval, percentile_interval

__all__ = ["MosRatings", "MosSummary", "mos", "mos_ratings"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
_BLOCK = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MosRatings:
    """Absolute ratings of single responses, one a row, as codes. Build one with :func:`mos_ratings`."""

    entities: tuple[str, ...]
    rubrics: tuple[str, ...]
    levels: tuple[float, ...]
    """The declared scores, 1 to 5 as a rule."""
    rubric: Codes
    entity: Codes
    sample: Codes
    """The response: (prompt, configuration). It stays when configurations are pooled into models."""
    rater: Codes
    prompt: Codes
    score: Floats
    weight: Floats
    n_raters: int
    n_prompts: int

    def subset(self, keep: ArrayLike) -> MosRatings:
        """Return the rows where ``keep`` is true; raters, prompts and samples are coded anew."""
        rows = np.asarray(keep)
        rater, n_raters = recode(self.rater[rows])
        prompt, n_prompts = recode(self.prompt[rows])
        return replace(
            self,
            rubric=self.rubric[rows],
            entity=self.entity[rows],
            sample=recode(self.sample[rows])[0],
            rater=rater,
            prompt=prompt,
            score=self.score[rows],
            weight=self.weight[rows],
            n_raters=n_raters,
            n_prompts=n_prompts,
        )

    def relabel(self, names: Sequence[str]) -> MosRatings:
        """Return the same ratings with entity ``i`` renamed ``names[i]``; equal names are pooled.

        Raises:
            ValueError: ``names`` has not one name per entity.
        """
        if len(names) != len(self.entities):
            raise ValueError(f"relabel needs {len(self.entities)} names, got {len(names)}")
        entities = tuple(dict.fromkeys(names))
        table = np.array([entities.index(name) for name in names], dtype=np.int64)
        return replace(self, entities=entities, entity=table[self.entity])


@dataclass(frozen=True, slots=True, kw_only=True)
class MosSummary:
    """One entity's MOS in one rubric."""

    rubric: str
    entity: str
    mean: float | None
    interval: Interval
    distribution: tuple[float, ...]
    """Share of ratings at each level; empty without ratings."""
    coverage: Coverage
    n_samples: int
    levels: tuple[float, ...] = ()
    """What the shares of ``distribution`` are of."""
    reason: str = ""


def mos_ratings(
    *,
    entities: Sequence[str],
    entity: ArrayLike,
    score: ArrayLike,
    rater: ArrayLike,
    prompt: ArrayLike,
    rubrics: Sequence[str] = ("overall",),
    rubric: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    levels: Sequence[float] = (1, 2, 3, 4, 5),
) -> MosRatings:
    """Check columns of codes and return them as a record; a sample is a (prompt, entity).

    Args:
        entities: names; ``entity`` is an index into it.
        entity: per row.
        score: one of ``levels``.
        rater: any non-negative integers; coded anew.
        prompt: any non-negative integers; coded anew.
        rubrics: names; ``rubric`` is an index into it.
        rubric: index of the question, per row; all 0 if left out.
        weight: ratings per row, finite and >= 0; all 1 if left out. Rows of weight 0 are dropped.
        levels: the declared scores, ascending and equally far apart.

    Raises:
        EstimationError: a column has another length, or a value is out of range; the message names column and row.
    """
    scores = np.asarray(score)
    n = len(scores)
    prompts = check_codes("prompt", prompt, n, 0, None)
    entity_codes = check_codes("entity", entity, n, 0, len(entities) - 1)
    weights = check_weights(weight, n)
    made = MosRatings(
        entities=tuple(entities),
        rubrics=tuple(rubrics),
        levels=tuple(float(level) for level in levels),
        rubric=check_codes("rubric", np.zeros(n) if rubric is None else rubric, n, 0, len(rubrics) - 1),
        entity=entity_codes,
        sample=recode(prompts)[0] * len(entities) + entity_codes,
        rater=check_codes("rater", rater, n, 0, None),
        prompt=prompts,
        score=_on_levels(scores, n, levels),
        weight=weights,
        n_raters=0,
        n_prompts=0,
    )
    return made.subset(weights > 0)


def _on_levels(scores: NDArray[np.generic], n: int, levels: Sequence[float]) -> Floats:
    """Return the scores, each of which is a level."""
    first, step = float(levels[0]), float(levels[1]) - float(levels[0])
    if step == 1 and first.is_integer():  # whole numbers, which the message can name
        return check_codes("score", scores, n, int(first), int(levels[-1])).astype(np.float64)
    at = check_codes("score", np.round((np.asarray(scores, dtype=np.float64) - first) / step, 6), n, 0, len(levels) - 1)
    return first + step * at.astype(np.float64)


def mos(data: MosRatings, draws: Draws, *, pooled: bool = False, level: float = 0.95) -> tuple[MosSummary, ...]:
    """Return every entity's MOS in every rubric, rubric by rubric.

    In a replicate a sample's mean is weighted by its raters' draws, and samples by their prompts' draws; samples whose
    raters were not drawn drop out.

    Args:
        data: the ratings.
        draws: how raters and prompts are resampled for the intervals.
        pooled: average over ratings at once instead of over samples.
        level: of the intervals.
    """
    group = data.rubric * len(data.entities) + data.entity
    sample, n_samples = recode(data.sample * len(data.rubrics) + data.rubric)
    if pooled:
        sample, n_samples = np.arange(len(group)), len(group)
    points = _means(data, group, sample, n_samples, np.ones((data.n_raters, 1)), np.ones((data.n_prompts, 1)))[:, 0]
    drawn = np.empty((len(points), draws.replicates))
    for start in range(0, draws.replicates, _BLOCK):
        stop = min(start + _BLOCK, draws.replicates)
        if draws.scheme is Scheme.iid:  # every sample for itself
            weights = lanes(draws, start, stop, n_samples, 1)
            drawn[:, start:stop] = _means(data, group, sample, n_samples, None, weights.rater)
        else:
            weights = lanes(draws, start, stop, data.n_raters, data.n_prompts)
            drawn[:, start:stop] = _means(data, group, sample, n_samples, weights.rater, weights.prompt)
    return tuple(
        _summary(data, code, group == code, points[code], drawn[code], draws.scheme, level)
        for code in range(len(points))
    )


def _means(
    data: MosRatings, group: Codes, sample: Codes, n_samples: int, by_rater: Floats | None, by_other: Floats
) -> Floats:
    """Return the mean of every (rubric, entity) in every replicate, NaN where nothing is left."""
    from scipy.sparse import csr_matrix  # here: a bad file is refused without SciPy

    n = len(group)
    n_groups = len(data.rubrics) * len(data.entities)
    collect = csr_matrix((data.weight, (sample, np.arange(n))), shape=(n_samples, n))
    scored = csr_matrix((data.weight * data.score, (sample, np.arange(n))), shape=(n_samples, n))
    times = np.ones((n, by_other.shape[1])) if by_rater is None else by_rater[data.rater]
    weight, total = collect @ times, scored @ times
    first = np.zeros(n_samples, dtype=np.int64)
    first[sample] = np.arange(n)  # a row of each sample
    drawn = by_other if by_rater is None else by_other[data.prompt[first]]
    share = np.where(weight > 0, drawn, 0.0)
    mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    gather = csr_matrix((np.ones(n_samples), (group[first], np.arange(n_samples))), shape=(n_groups, n_samples))
    below = gather @ share
    return np.divide(gather @ (share * mean), below, out=np.full(below.shape, np.nan), where=below > 0)


def _summary(
    data: MosRatings, code: int, rows: NDArray[np.bool_], point: float, drawn: Floats, scheme: Scheme, level: float
) -> MosSummary:
    weight = data.weight[rows]
    total = float(weight.sum())
    coverage = Coverage(
        n_ratings=total, n_raters=len(np.unique(data.rater[rows])), n_prompts=len(np.unique(data.prompt[rows]))
    )
    reason = "" if total else "no ratings"
    lacks = lacking(WAYS[scheme], coverage.n_raters, coverage.n_prompts, total)
    few = reason or (lacks.text if lacks else "")
    at = np.round((data.score[rows] - data.levels[0]) / (data.levels[1] - data.levels[0])).astype(np.int64)
    counts = np.bincount(at, weights=weight, minlength=len(data.levels))
    return MosSummary(
        rubric=data.rubrics[code // len(data.entities)],
        entity=data.entities[code % len(data.entities)],
        mean=float(point) if total else None,
        interval=no_interval(few) if few else percentile_interval(drawn, level=level),
        distribution=tuple((counts / total).tolist()) if total else (),
        coverage=coverage,
        n_samples=len(np.unique(data.sample[rows])),
        levels=data.levels,
        reason=reason,
    )
