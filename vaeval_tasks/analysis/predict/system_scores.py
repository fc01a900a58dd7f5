"""Automatic scores of systems: their means, and whether they rank systems as people do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from vaeval_tasks.analysis.load.entities import Level, entity_names
from vaeval_tasks.analysis.load.measured import MeasuredMetric
from vaeval_tasks.analysis.load.ratings import Ratings
from vaeval_tasks.scoring.metric import Direction
from vaeval_tasks.stats import Draws, Interval, Resamples, percentile_interval
from vaeval_tasks.stats.draws import Scheme, lanes
from vaeval_tasks.stats.rank_correlation import rank_correlations

__all__ = [
    "Correlation",
    "SystemDraws",
    "SystemScore",
    "ceiling",
    "correlate",
    "metric_means",
    "system_draws",
    "system_scores",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """A rank correlation over systems."""

    value: float | None
    low: float | None
    high: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SystemDraws:
    """The replicates that every metric and rubric shares."""

    prompts: Floats
    """(replicates, prompts): how often each prompt was drawn."""
    systems: Floats
    """(replicates, entities): how often each entity's model was drawn."""
    models: int


def system_draws(draws: Draws, n_raters: int, n_prompts: int, models: Sequence[str]) -> SystemDraws:
    """Draw prompts as the bootstrap of the strengths does, and models besides.

    The configurations of one model are drawn together: they are no independent evidence on a metric. Were models not
    drawn, the interval would say nothing of how few systems there are.

    Args:
        draws: the plan of the bootstrap of the strengths.
        n_raters: of the ratings.
        n_prompts: of the ratings.
        models: the model of every entity.
    """
    names = sorted(set(models))
    rng = np.random.default_rng([draws.seed, 6])
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=draws.replicates)
    member = np.array([names.index(model) for model in models])
    prompts = lanes(draws, 0, draws.replicates, n_raters, n_prompts).prompt.T
    return SystemDraws(prompts=prompts, systems=drawn[:, member].astype(np.float64), models=len(names))


def metric_means(values: Floats, entity: NDArray[np.int64], n_entities: int, weights: Floats) -> Floats:
    """Return the mean of a metric per entity, over its scored responses.

    Args:
        values: (prompts, configurations), NaN where there is none.
        entity: the entity of each configuration.
        n_entities: how many there are.
        weights: (replicates, prompts).

    Returns:
        (replicates, entities), NaN where an entity has no scored response.
    """
    known = np.isfinite(values)
    member = np.eye(n_entities)[entity]
    total = weights @ np.where(known, values, 0.0) @ member
    count = weights @ known.astype(np.float64) @ member
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemScore:
    """The mean of one metric over the scored responses of one system."""

    metric: str
    label: str
    """Of the metric, on a page."""
    direction: Direction
    entity: str
    mean: float | None
    """None without a scored response."""
    interval: Interval | None
    """None where there is one prompt only."""
    n_scored: int


def system_scores(
    ratings: Ratings, metrics: Sequence[MeasuredMetric], level: Level, draws: Draws
) -> tuple[SystemScore, ...]:
    """Return the mean of each metric per entity, with the interval of a prompt bootstrap.

    A response without a score is left out of the mean and counted; it is never taken as 0.
    """
    names = entity_names(ratings.data.entities, ratings.configs, level, ratings.path)
    shown = tuple(dict.fromkeys(names))
    entity = np.array([shown.index(name) for name in names])
    n_prompts = len(ratings.prompts)
    plan = Draws(replicates=draws.replicates, seed=draws.seed, scheme=Scheme.prompt)
    weights = lanes(plan, 0, plan.replicates, 1, n_prompts).prompt.T
    out = []
    for metric in metrics:
        means = metric_means(metric.values, entity, len(shown), np.ones((1, n_prompts)))[0]
        drawn = metric_means(metric.values, entity, len(shown), weights)
        for i, name in enumerate(shown):
            out.append(
                SystemScore(
                    metric=metric.name,
                    label=metric.label,
                    direction=metric.direction,
                    entity=name,
                    mean=float(means[i]) if np.isfinite(means[i]) else None,
                    interval=percentile_interval(drawn[:, i]) if n_prompts > 1 else None,
                    n_scored=int(np.isfinite(metric.values[:, entity == i]).sum()),
                )
            )
    return tuple(out)


def ceiling(split_half: float | None) -> float | None:
    """Return the largest rank correlation that a perfect metric could show with people's own ranking.

    The ranking of all raters has the reliability 2r/(1+r) (Spearman-Brown) if that of their halves is r; what is
    measured without error correlates with it by the root of that.
    """
    return None if split_half is None or split_half <= 0 else float(np.sqrt(2 * split_half / (1 + split_half)))


def _interval(point: float, drawn: Floats) -> Interval:
    """Return the bias-corrected percentile interval (Efron 1981).

    Resampling adds noise to both rankings, so replicates lie below the estimate as the estimate lies below the truth;
    the plain percentiles would count that twice.
    """
    kept = np.sort(drawn[np.isfinite(drawn)])
    if 2 * len(kept) <= len(drawn):
        said = f"the correlation is undefined in {len(drawn) - len(kept)} of {len(drawn)} replicates"
        return Interval(low=None, high=None, se=None, reason=said)
    below = (np.sum(kept < point) + 0.5 * np.sum(kept == point)) / len(kept)
    shift = ndtri(np.clip(below, 1 / len(kept), 1 - 1 / len(kept)))
    tails = ndtr(2 * shift + ndtri([0.025, 0.975]))
    low, high = np.quantile(kept, tails)
    # the estimate is among the values that the data allow, even where half the replicates tie with it
    return Interval(low=min(float(low), point), high=max(float(high), point), se=float(kept.std(ddof=1)))


def _correlation(point: float, drawn: Floats, why: str) -> Correlation:
    if not np.isfinite(point):
        return Correlation(value=None, low=None, high=None, reason=why)
    interval = _interval(float(point), drawn)
    return Correlation(value=float(point), low=interval.low, high=interval.high, reason=interval.reason)


def correlate(
    resamples: Resamples, rubric: str, means: Floats, drawn_means: Floats, draws: SystemDraws
) -> tuple[Correlation, Correlation]:
    """Return Spearman's rho and Kendall's tau-b of a metric's means and people's strengths on one rubric.

    Args:
        resamples: the strengths and their replicates.
        rubric: which rubric.
        means: (entities,), larger is better.
        drawn_means: (replicates, entities).
        draws: the shared replicates.
    """
    at = resamples.rubrics.index(rubric)
    strengths = resamples.fits[at].strengths
    if not np.isfinite(means).all():
        lacking = [e for e, m in zip(resamples.entities, means, strict=True) if not np.isfinite(m)]
        none = Correlation(value=None, low=None, high=None, reason=f"no value of {', '.join(lacking)}")
        return none, none
    point = rank_correlations(means, strengths)
    drawn = rank_correlations(drawn_means, resamples.strengths[:, at], draws.systems)
    why = "the metric is the same for all systems" if len(means) > 1 else "there is one system"
    return _correlation(point.rho[0], drawn.rho, why), _correlation(point.tau[0], drawn.tau, why)
