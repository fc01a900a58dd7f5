"""Automatic scores of the rated responses, by model, to stand beside people's ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vaeval_tasks.analysis.load.entities import Level, entity_names
from vaeval_tasks.analysis.load.measured import MeasuredMetric
from vaeval_tasks.analysis.load.ratings import Ratings
from vaeval_tasks.analysis.predict.systems import metric_means
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.stats import Draws, percentile_interval
from vaeval_tasks.stats.draws import Scheme, lanes

__all__ = ["score_table"]


def score_table(ratings: Ratings, metrics: Sequence[MeasuredMetric], level: Level, draws: Draws) -> Table:
    """Return the mean of each metric per entity, with the interval of a prompt bootstrap.

    A response without a score is left out of the mean and counted; it is never taken as 0.
    """
    names = entity_names(ratings.data.entities, ratings.configs, level, ratings.path)
    shown = tuple(dict.fromkeys(names))
    entity = np.array([shown.index(name) for name in names])
    n_prompts = len(ratings.prompts)
    plan = Draws(replicates=draws.replicates, seed=draws.seed, scheme=Scheme.prompt)
    weights = lanes(plan, 0, plan.replicates, 1, n_prompts).prompt.T
    rows: list[dict[str, Any]] = []
    for metric in metrics:
        means = metric_means(metric.values, entity, len(shown), np.ones((1, n_prompts)))[0]
        drawn = metric_means(metric.values, entity, len(shown), weights)
        for i, name in enumerate(shown):
            interval = percentile_interval(drawn[:, i]) if n_prompts > 1 else None
            rows.append(
                {
                    "metric": metric.name,
                    "better": metric.direction.value,
                    "entity": name,
                    "mean": float(means[i]) if np.isfinite(means[i]) else None,
                    "low": interval.low if interval else None,
                    "high": interval.high if interval else None,
                    "n_scored": int(np.isfinite(metric.values[:, entity == i]).sum()),
                }
            )
    return Table(
        name="scores",
        title="Automatic scores of the rated responses: means with 95 % intervals over prompts",
        columns=tuple(rows[0]) if rows else ("metric",),
        rows=tuple(rows),
        digits={"mean": 2, "low": 2, "high": 2},
    )
