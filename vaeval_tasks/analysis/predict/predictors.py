"""Which automatic metric may stand in for people, and for what.

Everything is against the same ratings: the ranking of systems (rank correlations with people's Elo), single choices
(how often the metric picks what a rater picked, ties aside), and a combination that is judged on prompts and models it
was not made from. Beside each stands what people themselves reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.load.entities import Level, default_level, entity_names
from vaeval_tasks.analysis.load.measured import MeasuredMetric
from vaeval_tasks.analysis.load.ratings import Ratings
from vaeval_tasks.analysis.predict.combinations import combine
from vaeval_tasks.analysis.predict.pairs import (
    Accuracy,
    Bin,
    Choices,
    accuracies,
    accuracy_ceiling,
    calibration,
    choices,
    differences,
)
from vaeval_tasks.analysis.predict.system_scores import (
    Correlation,
    SystemDraws,
    ceiling,
    correlate,
    metric_means,
    system_draws,
)
from vaeval_tasks.scoring.metric import Direction
from vaeval_tasks.stats import Draws, Resamples, bootstrap, fit_all, split_half

__all__ = ["Combined", "Predictor", "Predictors", "predict"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """One metric against one rubric."""

    rubric: str
    metric: str
    direction: Direction
    spearman: Correlation
    kendall: Correlation
    accuracy: Accuracy
    bins: tuple[Bin, ...]
    n_systems: int
    n_responses: int
    n_scored: int

    @property
    def calibration_error(self) -> float | None:
        """Mean distance of predicted and observed preference over the bins, weighted by their size (ECE)."""
        n = sum(b.n for b in self.bins)
        return sum(b.n * abs(b.predicted - b.observed) for b in self.bins) / n if n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """The best small combination for one rubric, on held-out prompts and models, and what people reach."""

    rubric: str
    metrics: tuple[str, ...]
    weights: tuple[float, ...]
    chosen: tuple[tuple[str, float], ...]
    spearman: Correlation
    kendall: Correlation
    accuracy: Accuracy
    split_half: float | None
    """Spearman of the rankings by two halves of the raters."""
    ceiling: float | None
    """The largest Spearman correlation that measurement error in people's ranking leaves room for."""
    accuracy_ceiling: float | None
    """An accuracy that nothing can beat, given how often raters agree."""
    reason: str = ""

    @property
    def share(self) -> float | None:
        """The combination's Spearman correlation over the ceiling."""
        return self.spearman.value / self.ceiling if self.spearman.value is not None and self.ceiling else None

    @property
    def accuracy_share(self) -> float | None:
        """The combination's accuracy over its ceiling, both counted from one half."""
        if self.accuracy.value is None or self.accuracy_ceiling is None or self.accuracy_ceiling <= 0.5:
            return None
        return (self.accuracy.value - 0.5) / (self.accuracy_ceiling - 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictors:
    """All metrics against all rubrics."""

    level: Level
    rows: tuple[Predictor, ...]
    combined: tuple[Combined, ...]
    metrics: tuple[MeasuredMetric, ...]
    n_systems: int
    n_models: int
    """Systems of one model are no independent evidence."""
    draws: Draws


@dataclass(frozen=True, slots=True, kw_only=True)
class _Study:
    """What every rubric shares."""

    ratings: Ratings
    resamples: Resamples
    entity: NDArray[np.int64]
    model: tuple[int, ...]
    metrics: tuple[MeasuredMetric, ...]
    means: tuple[Floats, ...]
    drawn_means: tuple[Floats, ...]
    systems: SystemDraws
    draws: Draws


def _prepare(
    ratings: Ratings,
    level: Level,
    metrics: Sequence[MeasuredMetric],
    draws: Draws,
    threads: int | None,
    progress: Callable[[int], object] | None,
) -> _Study:
    data = ratings.at(level)
    names = entity_names(ratings.data.entities, ratings.configs, level, ratings.path)
    by_model = default_level(ratings.data.entities, ratings.configs) is Level.model
    models = (
        entity_names(ratings.data.entities, ratings.configs, Level.model, ratings.path)
        if by_model
        else ratings.data.entities
    )
    entity = np.array([data.entities.index(name) for name in names])
    model_of = dict(zip(names, models, strict=True))
    systems = system_draws(draws, data.n_raters, data.n_prompts, [model_of[e] for e in data.entities])
    resamples = bootstrap(data, draws, fits=fit_all(data), threads=threads, progress=progress)
    ones = np.ones((1, data.n_prompts))
    codes = sorted(set(models))
    n = len(data.entities)
    return _Study(
        ratings=ratings,
        resamples=resamples,
        entity=entity,
        model=tuple(codes.index(m) for m in models),
        metrics=tuple(metrics),
        means=tuple(m.sign * metric_means(m.values, entity, n, ones)[0] for m in metrics),
        drawn_means=tuple(m.sign * metric_means(m.values, entity, n, systems.prompts) for m in metrics),
        systems=systems,
        draws=draws,
    )


def _predictors(study: _Study, rubric: str, chosen: Choices, gaps: list[Floats]) -> list[Predictor]:
    found = zip(study.metrics, gaps, study.means, study.drawn_means, accuracies(chosen, gaps, study.draws), strict=True)
    rows = []
    for metric, gap, means, drawn, accuracy in found:
        rho, tau = correlate(study.resamples, rubric, means, drawn, study.systems)
        rows.append(
            Predictor(
                rubric=rubric,
                metric=metric.name,
                direction=metric.direction,
                spearman=rho,
                kendall=tau,
                accuracy=accuracy,
                bins=calibration(chosen, gap, study.draws.seed),
                n_systems=len(study.resamples.entities),
                n_responses=metric.n_responses,
                n_scored=metric.n_scored,
            )
        )
    return rows


def _held_out_means(chosen: Choices, gaps: Floats, entity: NDArray[np.int64], n: int) -> Floats:
    """Return per entity the least-squares rating of predicted differences; NaN where an entity is in no pair."""
    a, b = entity[chosen.a], entity[chosen.b]
    apart = (a != b) & np.isfinite(gaps)
    met = np.zeros((n, n))
    np.add.at(met, (a[apart], b[apart]), 1.0)
    met += met.T
    margin = np.bincount(a[apart], gaps[apart], n) - np.bincount(b[apart], gaps[apart], n)
    solved = np.linalg.lstsq(np.diag(met.sum(axis=1)) - met, margin, rcond=None)[0]
    return np.where(met.sum(axis=1) > 0, solved, np.nan)


def _combined(study: _Study, rubric: str, chosen: Choices, gaps: list[Floats], half: float | None) -> Combined:
    found = combine(chosen, gaps, [m.name for m in study.metrics], study.model, study.draws.seed)
    means = _held_out_means(chosen, found.gaps, study.entity, len(study.resamples.entities))
    constant = np.broadcast_to(means, study.systems.systems.shape)
    rho, tau = correlate(study.resamples, rubric, means, constant, study.systems)
    accuracy = accuracies(chosen, [found.gaps], study.draws)[0]
    return Combined(
        rubric=rubric,
        metrics=found.metrics,
        weights=found.weights,
        chosen=found.chosen,
        spearman=rho,
        kendall=tau,
        accuracy=accuracy,
        split_half=half,
        ceiling=ceiling(half),
        accuracy_ceiling=accuracy_ceiling(chosen),
        reason=found.reason,
    )


def predict(
    ratings: Ratings,
    metrics: Sequence[MeasuredMetric],
    rubrics: Sequence[str],
    *,
    level: Level,
    draws: Draws,
    splits: int = 1000,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Predictors:
    """Set every metric against every rubric.

    Args:
        ratings: the loaded ratings.
        metrics: lined up with them, see :func:`.measured.load_measured`.
        rubrics: which rubrics.
        level: what is ranked, configurations or models.
        draws: the bootstrap plan.
        splits: rater halves for the noise ceiling.
        threads: at most this many.
        progress: told of replicates and splits as they are done.

    Raises:
        EstimationError: the ratings cannot be ranked.
    """
    study = _prepare(ratings, level, metrics, draws, threads, progress)
    halves = split_half(ratings.at(level), splits=splits, seed=draws.seed, threads=threads, progress=progress)
    by_rubric = {half.rubric: half.mean for half in halves}
    rows: list[Predictor] = []
    combined: list[Combined] = []
    for rubric in rubrics:
        chosen = choices(ratings.data, rubric)
        gaps = [differences(chosen, m) for m in metrics]
        rows += _predictors(study, rubric, chosen, gaps)
        combined.append(_combined(study, rubric, chosen, gaps, by_rubric.get(rubric)))
    return Predictors(
        level=level,
        rows=tuple(rows),
        combined=tuple(combined),
        metrics=tuple(metrics),
        n_systems=len(study.resamples.entities),
        n_models=study.systems.models,
        draws=draws,
    )
