"""What a metric of a response is: one record that says how it is called, what it scores, how it runs and counts.

The records stand in the modules of :mod:`vaeval_tasks.scoring.metrics`, one list ``METRICS`` a module, and are found by
:mod:`vaeval_tasks.scoring.registry`. Passes, task scores, results, tables and the board read them; none of these names
a metric of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks.audio import Clip
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.store.schema import Item, Response

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = [
    "AUDIBLE",
    "Direction",
    "FactorUse",
    "MetricFamily",
    "ResponseMetric",
    "ScoringBatch",
    "ScoringJob",
    "TaskFactor",
    "own_text",
]

AUDIBLE = "audible"
"""The key of the metric that says whether a response has sound; the others' ``audible_only`` asks it."""


class Direction(StrEnum):
    """Which values of a metric are better."""

    more = "higher"
    less = "lower"
    neither = "neither"


class MetricFamily(StrEnum):
    """Metrics that are scored in one pass, in this order. A later family may read what an earlier one found."""

    sound = "sound"
    measures = "measures"
    judge = "judge"


class FactorUse(StrEnum):
    """What a task's mean of a metric is for."""

    product = "product"
    """It multiplies the task score."""
    weight = "weight"
    """It weighs the judge's verdict of each item: the mean of the products counts, not the product of the means."""
    shown = "shown"
    """It is reported beside the score and changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFactor:
    """How the values of a task's responses become one number, ``gain * (mean - zero)``, on a scale to 100."""

    name: str
    """In ``results.json`` and the printed table."""
    gain: float
    zero: float = 0.0
    """The value that is worth nothing; a response without sound counts as that (if ``audible_only``)."""
    unit: float = 1.0
    """The published product is made of factors that were rounded to 0.1 of this."""
    use: FactorUse = FactorUse.product

    def formula(self, key: str) -> str:
        """Return the scale in words, such as ``100 (1 - wer)``."""
        if self.gain < 0:
            return f"{-self.gain:g} ({self.zero:g} - {key})"
        return f"{self.gain:g} ({key} - {self.zero:g})" if self.zero else f"{self.gain:g} {key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringJob:
    """A response and the document it answers."""

    item: Item
    response: Response

    @property
    def key(self) -> str:
        """The response's id."""
        return self.response.response_id


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoringBatch:
    """The responses that one metric is to score together, and all that it may ask."""

    jobs: Sequence[ScoringJob]
    """Only those the metric applies to and that lack it."""
    backend: Any
    """What the metric runs on, a protocol of :mod:`vaeval_tasks.metrics.backends`; None where it needs nothing."""
    root: Path
    """The run folder, which the paths of responses are relative to."""
    clip: Callable[[ScoringJob], Clip | None]
    """The sound of a response as it was recorded, None where there is none; read once a batch."""
    detail: Callable[[ScoringJob, str], str]
    """What the metric of that key told of a response, empty where nothing."""

    def clips(self) -> list[Clip]:
        """The sound of every response; only for metrics that are ``audible_only``."""
        return [clip for job in self.jobs if (clip := self.clip(job)) is not None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResponseMetric:
    """One metric. Adding one is adding such a record; see ``README.md`` of this room."""

    key: str
    """In the score table."""
    label: str
    """On the board."""
    about: str
    """One line: what it says of a response."""
    unit: str = ""
    direction: Direction
    family: MetricFamily
    place: int
    """Among all metrics, wherever they are listed, and in its pass."""
    score: Callable[[ScoringBatch], Sequence[Scored]]
    """One result for each job of a batch, in order; a value of None says why in its detail."""
    backend: str = ""
    """Which field of the scorers it runs on; without it there is no such score. Empty: it needs none."""
    rule: str = ""
    """Our own part of the signature: change it when the same input may get another value."""
    sign: Callable[[Scorers, str], str] | None = None
    """The signature for a task, where that is more than backend and rule."""
    studies: bool = True
    """Whether responses of a study, which belong to no task, have it."""
    tasks: tuple[str, ...] | None = None
    """The tasks whose responses have it; None for all."""
    audible_only: bool = False
    """Whether only responses with sound have it."""
    words_only: bool = False
    """Whether it tells something in words (its detail) and never has a value."""
    ask_again: bool = False
    """Whether a score without a value is made again: by the next run where the scorer says so, else where the user
    does (``--retry-unjudged``)."""
    reported: str = ""
    """What ``results.json`` calls its signature; a factor's is its name."""
    factor: TaskFactor | None = None
    """How it counts in a task's scores, None where it does not."""
    published: str = ""
    """How the signature of the paper's scorer starts; another is a stand-in and is named beside its number."""
    reading: str = ""
    """What a reader must know beside the factor's figure, such as the level of chance."""
    remark: Callable[[str], str] | None = None
    """Likewise, by the signature that the figure was scored with; empty where there is nothing to say."""

    def concerns(self, task: str) -> bool:
        """Whether responses to a task (empty: of a study) have this metric."""
        if not task:
            return self.studies
        return self.tasks is None or task in self.tasks

    def stood_in(self, signature: str) -> bool:
        """Whether a score of this signature is by another scorer than the paper's."""
        return bool(self.published) and not signature.startswith(self.published)

    def runs_on(self, scorers: Scorers | None) -> Any:
        """Return its backend, None where it needs none or none is configured."""
        return getattr(scorers, self.backend, None) if self.backend else None

    def backend_signature(self, scorers: Scorers | None) -> str:
        """Return the signature of backend and rule; empty where the backend is not configured."""
        if not self.backend:
            return self.rule
        backend = self.runs_on(scorers)
        return "" if backend is None else " + ".join(part for part in (backend.signature, self.rule) if part)

    def signature(self, scorers: Scorers | None, task: str) -> str:
        """Return what a score of this metric is signed with; empty where it cannot be made."""
        plain = self.backend_signature(scorers) if self.concerns(task) else ""
        return self.sign(scorers, task) if plain and self.sign is not None and scorers is not None else plain


def own_text(response: Response) -> str:
    """Return the response's text: what the model says it said, or what the provider transcribed."""
    return response.text or response.output_transcript
