"""The numbers of a comparison: differences of the printed scores on shared items, with what can be said of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from vaeval_tasks.paired.comparable import SharedItems
from vaeval_tasks.paired.sides import Key, RunSide, ScoredAnswer, item_columns
from vaeval_tasks.scoring import combine
from vaeval_tasks.scoring.metric import FactorUse, MetricFamily
from vaeval_tasks.scoring.registry import factors
from vaeval_tasks.scoring.scores import document_of
from vaeval_tasks.scoring.suite import FAMILIES
from vaeval_tasks.stats.paired import (
    PRODUCT,
    PairedDifference,
    PairedItems,
    PairedVerdict,
    paired_differences,
)
from vaeval_tasks.stats.paired_median import MedianDifference, median_difference

__all__ = [
    "OVERALL",
    "ContrastLevel",
    "LatencyContrast",
    "ScoreContrast",
    "latency_contrasts",
    "paced_apart",
    "score_contrasts",
]

OVERALL = "overall"
ALL_TASKS = "all tasks"
LATENCIES = {"first_audio_s": "to the first audio", "total_s": "to the end"}
"""Times of a response, in seconds, and how they are called."""


class ContrastLevel(StrEnum):
    """What a score is of."""

    task = "task"
    family = "family"
    overall = "overall"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreContrast:
    """One quantity of one task, family or the whole, in two runs."""

    level: ContrastLevel
    first: float | None
    """As it is printed, of the shared items: the product of rounded factors."""
    second: float | None
    difference: float | None
    """Of these; second less first."""
    low: float | None
    high: float | None
    found: PairedDifference
    """The statistics, which are those of unrounded factors."""
    p_holm: float | None = None
    verdict: PairedVerdict = PairedVerdict.unclear
    missing: tuple[int, int] = (0, 0)
    """Shared items without audible sound, by run."""
    left_out: int = 0
    """Shared items that one of the runs has no value for."""
    reason: str = ""

    @property
    def name(self) -> str:
        """The task or group."""
        return self.found.name

    @property
    def quantity(self) -> str:
        """A factor, or ``score``."""
        return self.found.quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyContrast:
    """How much longer one run's answers took; seconds."""

    task: str
    measure: str
    found: MedianDifference
    p_holm: float | None = None
    verdict: PairedVerdict = PairedVerdict.unclear


def documents_of(answers: Mapping[Key, ScoredAnswer], keys: Sequence[Key]) -> dict[Key, int]:
    """Number the documents: items about the same picture, in the same role, or with the same first clip are one."""
    numbers: dict[tuple[str, ...], int] = {}
    out = {}
    for key in keys:
        about = document_of(answers[key].item)
        out[key] = numbers.setdefault((about,) if about else key, len(numbers))
    return out


def score_contrasts(
    first: RunSide, second: RunSide, shared: SharedItems, *, margin: float = 0.0, draws: int = 4999, seed: int = 0
) -> list[ScoreContrast]:
    """Return every quantity of every shared task, of the families and the whole where both runs have these.

    Args:
        first: the run that is compared with.
        second: the run that is compared.
        shared: what both answered.
        margin: of the one-sided test for a drop, see :func:`vaeval_tasks.stats.paired.paired_differences`.
        draws: exchanges that are drawn.
        seed: of the draws.
    """
    documents = documents_of(first.answers, shared.keys)
    tasks = {task: _paired(first, second, task, shared, documents) for task in shared.tasks}
    groups = _groups(first, second, list(tasks))
    weights = {name: given for name, given in groups.items() if isinstance(given, dict)}
    found = paired_differences(tasks, weights, margin=margin, draws=draws, seed=seed)
    printed = {task: _printed(items) for task, items in tasks.items()}
    out = []
    for one in found:
        members = weights.get(one.name, {one.name: 1.0})
        level = ContrastLevel.task if one.name in tasks else ContrastLevel(_level(one.name))
        out.append(_contrast(one, level, members, printed, first, second, shared, tasks))
    missing = [(name, why) for name, why in groups.items() if isinstance(why, str)]
    for name, why in missing:
        none = PairedDifference(name=name, quantity=PRODUCT, reason=why)
        level = ContrastLevel(_level(name))
        out.append(
            ScoreContrast(
                level=level, first=None, second=None, difference=None, low=None, high=None, found=none, reason=why
            )
        )
    return out


def _level(group: str) -> str:
    return OVERALL if group == OVERALL else "family"


def _paired(
    first: RunSide, second: RunSide, task: str, shared: SharedItems, documents: Mapping[Key, int]
) -> PairedItems:
    keys = [key for key in shared.keys if key[0] == task]
    names = tuple(factors(task))
    columns = []
    for side in (first, second):
        found = item_columns(task, [side.answers[key] for key in keys])
        columns.append(np.column_stack([found[name] for name in names]))
    lacking = np.isnan(columns[0]) | np.isnan(columns[1])  # an item counts in a factor where both have a value
    judged = [name for name, (metric, _) in factors(task).items() if metric.family is MetricFamily.judge]
    return PairedItems(
        factors=names,
        multiplied=tuple(factors(task, FactorUse.product)),
        first=np.where(lacking, math.nan, columns[0]),
        second=np.where(lacking, math.nan, columns[1]),
        document=np.array([documents[key] for key in keys], dtype=np.int64),
        verdict=judged[0] if judged else "",
    )


def _printed(items: PairedItems) -> dict[str, tuple[float, float]]:
    """Every quantity of a task under both runs, as it is printed; without those that no item has a value of."""
    counted = ~np.isnan(items.first)
    there = [i for i in range(len(items.factors)) if counted[:, i].any()]
    means = [
        {items.factors[i]: float(side[counted[:, i], i].mean()) for i in there} for side in (items.first, items.second)
    ]
    out = {name: (means[0][name], means[1][name]) for name in means[0]}
    if all(name in out for name in items.multiplied):
        score = [combine.product({name: side[name] for name in items.multiplied}) for side in means]
        out[PRODUCT] = (score[0], score[1])
    return out


def _groups(first: RunSide, second: RunSide, tasks: Sequence[str]) -> dict[str, dict[str, float] | str]:
    """The weights of the tasks in each group, or why it has no score."""
    out: dict[str, dict[str, float] | str] = {}
    for name, members in FAMILIES.items():
        absent = [task for task in members if task not in tasks]
        out[name] = f"not in both: {', '.join(absent)}" if absent else dict.fromkeys(members, 1 / len(members))
    whole: dict[str, float] = {}
    for name in FAMILIES:
        given = out[name]
        if isinstance(given, dict):
            whole |= {task: weight / len(FAMILIES) for task, weight in given.items()}
    incomplete = [name for name in FAMILIES if isinstance(out[name], str)]
    out[OVERALL] = f"not in both: all of {', '.join(incomplete)}" if incomplete else whole
    for name in out:
        for side in (first, second):
            group = side.results.groups[name]
            if isinstance(out[name], dict) and group.value is None:
                out[name] = f"{side.label}: {group.reason}"
    return out


def _contrast(
    found: PairedDifference,
    level: ContrastLevel,
    members: Mapping[str, float],
    printed: Mapping[str, Mapping[str, tuple[float, float]]],
    first: RunSide,
    second: RunSide,
    shared: SharedItems,
    tasks: Mapping[str, PairedItems],
) -> ScoreContrast:
    keys = [key for key in shared.keys if key[0] in members]
    silent = tuple(sum(not side.answers[key].scores.audible for key in keys) for side in (first, second))
    left_out = sum(_left_out(tasks[task], found.quantity) for task in members)
    reason = _without_score(found.quantity, members, first, second) or found.reason
    values = [printed[task].get(found.quantity) for task in members]
    if (found.quantity == PRODUCT and _without_score(found.quantity, members, first, second)) or None in values:
        nothing = PairedDifference(
            name=found.name, quantity=found.quantity, items=found.items, documents=found.documents, reason=reason
        )
        return ScoreContrast(
            level=level, first=None, second=None, difference=None, low=None, high=None, found=nothing,
            missing=(silent[0], silent[1]), left_out=left_out, reason=reason,
        )  # fmt: skip
    one, other = (sum(weight * printed[task][found.quantity][i] for task, weight in members.items()) for i in range(2))
    difference = other - one
    return ScoreContrast(
        level=level,
        first=one,
        second=other,
        difference=difference,
        # the printed numbers are rounded, so that their difference may lie beside that of the factors
        low=None if found.low is None else min(found.low, difference),
        high=None if found.high is None else max(found.high, difference),
        found=found,
        missing=(silent[0], silent[1]),
        left_out=left_out,
        reason=reason,
    )


def _left_out(items: PairedItems, quantity: str) -> int:
    names = items.multiplied if quantity == PRODUCT else (quantity,)
    columns = [items.factors.index(name) for name in names]
    return int(np.isnan(items.first[:, columns]).any(axis=1).sum())


def _without_score(quantity: str, members: Mapping[str, float], first: RunSide, second: RunSide) -> str:
    """Why a run prints no score of a task, empty where both do."""
    if quantity != PRODUCT:
        return ""
    found = [(side, side.tasks[task].scores) for task in members for side in (first, second)]
    return "; ".join(f"{side.label}: {s.reason or 'no score'}" for side, s in found if s.score is None)


def paced_apart(first: RunSide, second: RunSide, key: Key) -> bool:
    """Whether the speech of an item was sent in one way in one run, and in the other way in the other."""
    return len({side.answers[key].response.speech_pace for side in (first, second)} - {""}) > 1


def latency_contrasts(first: RunSide, second: RunSide, shared: SharedItems) -> list[LatencyContrast]:
    """Return the median paired differences of the times of every task, and of all, where both runs recorded them.

    Of an item whose speech went out whole in one run and at the pace it was spoken in the other, there is none.
    """
    documents = documents_of(first.answers, shared.keys)
    alike = [key for key in shared.keys if not paced_apart(first, second, key)]
    out = []
    for measure in LATENCIES:
        for name in (*shared.tasks, ALL_TASKS):
            keys = [key for key in alike if name in (key[0], ALL_TASKS)]
            times = [[getattr(side.answers[key].response, measure) for key in keys] for side in (first, second)]
            a, b = (np.array([math.nan if t is None else t for t in each], dtype=np.float64) for each in times)
            found = median_difference(a, b, [documents[key] for key in keys])
            if found.difference is not None:
                out.append(LatencyContrast(task=name, measure=measure, found=found))
    return out


def with_verdict(contrast: ScoreContrast, p_holm: float | None, verdict: PairedVerdict) -> ScoreContrast:
    """Return a contrast with what was decided of it among all."""
    return replace(contrast, p_holm=p_holm, verdict=verdict)
