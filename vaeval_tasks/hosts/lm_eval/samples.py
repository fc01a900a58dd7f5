"""What ``--log_samples`` holds of an answer under each of our metrics: its value, what was read, and who scored it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vaeval_tasks.scoring.combine import TaskScores, combine
from vaeval_tasks.scoring.metric import AUDIBLE, FactorUse
from vaeval_tasks.scoring.registry import factors, response_metrics
from vaeval_tasks.scoring.results import ScoredItem

__all__ = ["SampleRecord", "fill", "scorer_names"]

_KNOWN: dict[tuple[str, str, str], SampleRecord] = {}


class SampleRecord(dict[str, Any]):
    """One answer under one metric.

    The harness logs it before anything is scored, and gathers what is logged and what is to be scored apart: pickled,
    a record becomes the one that the process knows already, so that what is filled in shows in the log too.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a call that finds the record."""
        return _known, (dict(self),)


def _known(content: dict[str, Any]) -> SampleRecord:
    key = (content["run"], content["response_id"], content["metric"])
    return _KNOWN.setdefault(key, SampleRecord(content))


def fill(metric: str, records: Sequence[SampleRecord], scored: Mapping[str, ScoredItem], task: TaskScores) -> None:
    """Put the scores of each answer into its records.

    Args:
        metric: the name under which the harness knows them.
        records: of the answers of one task.
        scored: by ``response_id``.
        task: the scores of the task.
    """
    for record in records:
        if found := scored.get(record["response_id"]):
            record.update(_values(metric, found, task))


def _values(metric: str, found: ScoredItem, task: TaskScores) -> dict[str, Any]:
    alone = combine(task.task, [found.scores], min_judged=0) if found.answered else None
    name = metric.removeprefix("vae_")
    if name in (named := factors(task.task)):
        return _said(found, named[name][0].key) | {"points": _points(alone, name)}
    if name == "missing":
        return {"value": float(not found.scores.values.get(AUDIBLE))}
    if name == "unjudged":
        return {"value": float(alone is not None and alone.unjudged)}
    if name == "coverage":
        return {"value": alone.coverage if alone is not None else None}
    every = {m.key: _said(found, m.key) for m in response_metrics() if m.key in found.signatures}
    return {"value": alone.score if alone is not None else None, "scores": every}


def _said(found: ScoredItem, key: str) -> dict[str, Any]:
    """The raw value of a metric, in its own unit, what was read (a verdict, a transcript), and the signature."""
    return {
        "value": found.scores.values.get(key),
        "verdict": found.details.get(key, ""),
        "signature": found.signatures.get(key, ""),
    }


def _points(alone: TaskScores | None, name: str) -> float | None:
    estimate = alone.factors.get(name) if alone is not None else None
    return None if estimate is None else estimate.value


def scorer_names(task: TaskScores) -> str:
    """Return who scored the factors of a task, stand-ins marked, and why there is no score where there is none.

    >>> scorer_names(TaskScores(task="speaking_safety", n=1, signatures={"speech": "DistillMOS|model:7"}))
    'speech: DistillMOS (stand-in)'
    """
    parts = []
    for name, (metric, _) in factors(task.task, FactorUse.product, FactorUse.weight).items():
        if signature := task.signatures.get(name, ""):
            parts.append(f"{name}: {_backend(signature)}" + (" (stand-in)" if metric.stood_in(signature) else ""))
    return "; ".join(parts) + (f"; no score: {task.reason}" if task.reason else "")


def _backend(signature: str) -> str:
    """The name of a backend; of an engine that runs many models the model's."""
    backend, *facts = signature.split("|")
    model = dict(fact.partition(":")[::2] for fact in facts).get("model", "")
    return model if backend in ("faster-whisper", "judge-llm") and model else backend
