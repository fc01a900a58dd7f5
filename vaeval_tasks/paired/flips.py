"""Answers that changed: a verdict or the sound was lost or gained between two runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from vaeval_tasks.paired.comparable import SharedItems
from vaeval_tasks.paired.sides import Key, RunSide, ScoredAnswer, item_columns
from vaeval_tasks.scoring.metric import FactorUse, MetricFamily, own_text
from vaeval_tasks.scoring.registry import factors

__all__ = ["ChangedAnswer", "FlipKind", "FlippedItem", "flipped_items"]


class FlipKind(StrEnum):
    """What became of an item."""

    lost = "right, then wrong"
    silenced = "no sound any more"
    gained = "wrong, then right"
    heard = "sound at last"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedAnswer:
    """One run's answer to a flipped item."""

    text: str
    transcript: str
    """What was heard in it."""
    verdict: float | None
    why: str
    """What the judge said."""
    audio: Path | None
    """The file, None where there is no sound or the folder came without it."""
    audio_path: str
    """Where it is, or was, below its run folder."""
    status: str
    score: float | None
    """The item's own product of factors, 0 to 100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlippedItem:
    """An item whose verdict or sound changed."""

    task: str
    item_id: str
    kind: FlipKind
    question: str
    references: tuple[str, ...]
    first: ChangedAnswer
    second: ChangedAnswer

    @property
    def change(self) -> float:
        """Points of the item's own score; where it has none, of its verdict."""
        one, other = self.first, self.second
        if one.score is not None and other.score is not None:
            return other.score - one.score
        return 100 * ((other.verdict or 0.0) - (one.verdict or 0.0))


def flipped_items(first: RunSide, second: RunSide, shared: SharedItems) -> list[FlippedItem]:
    """Return the items whose verdict or sound changed, the worst first."""
    scores = [_own_scores(side, shared) for side in (first, second)]
    out = []
    for key in shared.keys:
        one, other = first.answers[key], second.answers[key]
        kind = _kind(one, other, key[0])
        if kind is not None:
            out.append(
                FlippedItem(
                    task=key[0],
                    item_id=key[1],
                    kind=kind,
                    question=one.item.question,
                    references=one.item.references,
                    first=_changed(first, one, scores[0][key]),
                    second=_changed(second, other, scores[1][key]),
                )
            )
    return sorted(out, key=lambda flip: (flip.change, flip.task, flip.item_id))


def _verdict(answer: ScoredAnswer, task: str) -> float | None:
    judged = (metric for metric, _ in factors(task).values() if metric.family is MetricFamily.judge)
    return next((answer.scores.values.get(metric.key) for metric in judged), None)


def _kind(one: ScoredAnswer, other: ScoredAnswer, task: str) -> FlipKind | None:
    before, after = _verdict(one, task), _verdict(other, task)
    if before is not None and after is not None and before != after:
        return FlipKind.gained if after > before else FlipKind.lost
    if one.scores.audible != other.scores.audible:
        return FlipKind.heard if other.scores.audible else FlipKind.silenced
    return None


def _own_scores(side: RunSide, shared: SharedItems) -> Mapping[Key, float | None]:
    out: dict[Key, float | None] = {}
    for task in shared.tasks:
        keys = [key for key in shared.keys if key[0] == task]
        columns = item_columns(task, [side.answers[key] for key in keys])
        for place, key in enumerate(keys):
            value = 100 * math.prod(float(columns[name][place]) / 100 for name in factors(task, FactorUse.product))
            out[key] = None if math.isnan(value) else value
    return out


def _changed(side: RunSide, answer: ScoredAnswer, score: float | None) -> ChangedAnswer:
    response = answer.response
    path = side.run.root / response.path
    judged = [m.key for m, _ in factors(response.task).values() if m.family is MetricFamily.judge]
    return ChangedAnswer(
        text=own_text(response),
        transcript=answer.details.get("wer", ""),
        verdict=_verdict(answer, response.task),
        why=answer.details.get(judged[0], "") if judged else "",
        audio=path if response.path and path.is_file() else None,
        audio_path=response.path,
        status=response.status.value,
        score=score,
    )
