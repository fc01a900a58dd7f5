"""What scoring a run would take: scores to make, judge calls and their tokens. Nothing is asked and nothing written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaeval_tasks.metrics.backends import JudgeItem
from vaeval_tasks.scoring.metric import MetricFamily, ScoringJob, own_text
from vaeval_tasks.scoring.registry import response_metrics
from vaeval_tasks.scoring.score_log import ScoreLog
from vaeval_tasks.scoring.scores import lacks
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ResponseStatus

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["ANSWER_CHARS", "JudgeLoad", "MetricForecast", "forecast_scores", "judge_load", "tokens_of"]

ANSWER_CHARS = 600
"""How long an answer is taken to be that is not there yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricForecast:
    """What one metric has still to score."""

    metric: str
    scorer: str
    """Its signature; ``none`` where the profile has no such scorer."""
    to_make: int
    at_hand: int
    calls: int = 0
    """Requests to a judge model; a reply without a clear verdict costs one more."""
    tokens: int = 0
    """Of these requests, estimated: four letters each, or one where a letter is a word. Replies come on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLoad:
    """Requests to a judge model, and their tokens as an estimate."""

    calls: int = 0
    tokens: int = 0


def tokens_of(text: str) -> int:
    """Return about how many tokens a text has."""
    wide = sum(ord(letter) >= 0x2E80 for letter in text)
    return wide + (len(text) - wide + 3) // 4


def judge_load(scorers: Scorers, items: Iterable[JudgeItem]) -> JudgeLoad:
    """Return what a judge would be asked; nothing where it is not a model behind an endpoint."""
    question = getattr(scorers.judge, "question", None)
    if question is None:
        return JudgeLoad()
    sizes = [tokens_of(question(item)) for item in items]
    return JudgeLoad(calls=len(sizes), tokens=sum(sizes))


def forecast_scores(
    run: RunDir, work: Sequence[ScoringJob], scorers: Scorers, *, retry_unjudged: bool = False
) -> list[MetricForecast]:
    """Return what each metric has still to score in a run folder.

    Raises:
        MissingWeightsError: a scorer's weights are absent, so that nobody knows what it has scored.
    """
    log = ScoreLog(run)
    jobs = [job for job in work if job.response.status is not ResponseStatus.unsupported]
    found = []
    for metric in response_metrics():
        concerned = [job for job in jobs if metric.concerns(job.item.task)]
        if not concerned:
            continue
        todo = [job for job in concerned if lacks(job, metric, log, scorers, retry_unjudged)]
        load = JudgeLoad()
        if metric.family is MetricFamily.judge:
            load = judge_load(scorers, (_asked(job) for job in todo if not job.response.status.failed))
        at_hand = sum(log.get(j.key, metric.key, metric.signature(scorers, j.item.task)) is not None for j in concerned)
        found.append(
            MetricForecast(
                metric=metric.key,
                scorer=metric.backend_signature(scorers) or "none",
                to_make=len(todo),
                at_hand=at_hand,
                calls=load.calls,
                tokens=load.tokens,
            )
        )
    return found


def _asked(job: ScoringJob) -> JudgeItem:
    item = job.item
    return JudgeItem(
        task=item.task,
        question=item.question,
        answer=own_text(job.response) or "x" * ANSWER_CHARS,
        references=item.references,
        system_prompt=item.system_prompt,
        user_emotion=item.user_emotion,
    )
