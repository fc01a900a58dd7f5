"""All metrics of a response, found in the modules of :mod:`vaeval_tasks.scoring.metrics`.

A module put there is a metric: nothing else names it.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from vaeval_tasks.scoring import metrics
from vaeval_tasks.scoring.metric import Direction, FactorUse, MetricFamily, ResponseMetric, TaskFactor

__all__ = [
    "direction_of",
    "factors",
    "family_metrics",
    "find_metric",
    "label_of",
    "metric_table",
    "response_metrics",
]


@cache
def response_metrics() -> tuple[ResponseMetric, ...]:
    """Return every metric, in the order of their places.

    Raises:
        ValueError: two records share a key, two factors a name, or a record has nothing to sign its scores with; a
            defect of the modules.
    """
    found: list[ResponseMetric] = []
    for module in pkgutil.iter_modules(metrics.__path__, f"{metrics.__name__}."):
        found += importlib.import_module(module.name).METRICS
    for names in ([m.key for m in found], [m.factor.name for m in found if m.factor is not None]):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two metrics are called {twice[0]!r}")
    if unsigned := [m.key for m in found if not m.backend and not m.rule]:
        raise ValueError(f"the metric {unsigned[0]!r} has neither a backend nor a rule: nothing signs its scores")
    return tuple(sorted(found, key=lambda metric: (metric.place, metric.key)))


def find_metric(key: str) -> ResponseMetric | None:
    """Return the metric of a key; None for a score that is none of ours."""
    return next((metric for metric in response_metrics() if metric.key == key), None)


def family_metrics(family: MetricFamily) -> tuple[ResponseMetric, ...]:
    """Return the metrics of one pass, in the order they run in."""
    return tuple(metric for metric in response_metrics() if metric.family is family)


def factors(task: str | None = None, *uses: FactorUse) -> dict[str, tuple[ResponseMetric, TaskFactor]]:
    """Return the factors of a task's scores by name, in the order of the printed columns.

    Args:
        task: those of this task only; None for all there are.
        uses: those of these uses only.
    """
    return {
        metric.factor.name: (metric, metric.factor)
        for metric in response_metrics()
        if metric.factor is not None
        and (task is None or metric.concerns(task))
        and (not uses or metric.factor.use in uses)
    }


def label_of(key: str) -> str:
    """Return how a metric is called on a page; a score that is none of ours by its key."""
    metric = find_metric(key)
    return key if metric is None else metric.label


def direction_of(key: str) -> Direction:
    """Return which values are better; of a score that is none of ours nothing is known."""
    metric = find_metric(key)
    return Direction.neither if metric is None else metric.direction


def metric_table() -> list[dict[str, str]]:
    """Return the metrics as rows of text, as ``README.md`` of this room shows them."""
    return [
        {
            "key": f"`{metric.key}`",
            "label": metric.label,
            "what it says": metric.about,
            "better": metric.direction.value,
            "of": _scope(metric),
            "runs on": metric.backend or "-",
            "counts as": _counts(metric),
        }
        for metric in response_metrics()
    ]


def _scope(metric: ResponseMetric) -> str:
    tasks = "tasks" if metric.tasks is None else ", ".join(f"`{task}`" for task in metric.tasks)
    where = " and ".join(part for part in (tasks, "studies" if metric.studies else "") if part)
    return f"{where}, with sound" if metric.audible_only else where


def _counts(metric: ResponseMetric) -> str:
    if metric.factor is None:
        return "-"
    factor = metric.factor
    role = {FactorUse.product: "", FactorUse.weight: ", a weight of each verdict", FactorUse.shown: ", shown only"}
    return f"{factor.name} = {factor.formula(metric.key)}{role[factor.use]}"
