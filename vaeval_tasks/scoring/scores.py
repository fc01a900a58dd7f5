"""Score the responses of a run: in batches, once per response, and only what was not scored before.

The metrics are records, see :mod:`vaeval_tasks.scoring.metric`; this module knows none of them. Each batch is appended
to the run's score log, so that a killed run loses no more than the batch it was at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.scoring.metric import AUDIBLE, MetricFamily, ResponseMetric, ScoringBatch, ScoringJob
from vaeval_tasks.scoring.registry import family_metrics, find_metric, response_metrics
from vaeval_tasks.scoring.score_log import ScoreLog
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus, Score

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["BATCH", "document_of", "lacks", "score_responses", "scored_with", "scoring_jobs"]

BATCH = 32
"""Responses whose sound is in memory at once."""


def scoring_jobs(responses: Iterable[Response], items: Iterable[Item]) -> list[ScoringJob]:
    """Join responses and documents. A study's response (of no task) needs no document.

    Raises:
        InputError: a response answers a document that the run folder does not hold.
    """
    known = {(i.task, i.item_id): i for i in items}
    out = []
    for response in responses:
        key = (response.task, response.prompt_id)
        if not response.task:
            out.append(ScoringJob(item=Item(item_id=response.prompt_id, task=""), response=response))
            continue
        if key not in known:
            raise InputError(f"response {response.response_id!r} answers {key}, which is not among the run's items")
        out.append(ScoringJob(item=known[key], response=response))
    return out


def document_of(item: Item) -> str:
    """Return what an item has in common with others of its task: its picture, role's voice or first recording.

    Several questions on one of these are not independent, and intervals mind it. Empty where there is none of them.
    """
    return next(iter(item.images), "") or item.role_audio or next(iter(item.audio), "")


def scored_with(scorers: Scorers, task: str) -> dict[str, str]:
    """Return what each factor of a task is scored with; ``none`` where a scorer is not configured."""
    named = [(m.factor.name if m.factor is not None else m.reported, m) for m in response_metrics() if m.concerns(task)]
    return {name: metric.backend_signature(scorers) or "none" for name, metric in named if name}


def score_responses(
    run: RunDir,
    work: Sequence[ScoringJob],
    scorers: Scorers | None,
    *,
    families: Iterable[MetricFamily] = MetricFamily,
    retry_unjudged: bool = False,
) -> ScoreLog:
    """Score responses and keep the scores in the run; what is there with the same signature stays.

    Sound is scored first, so that an unreachable judge loses nothing. A verdict that a judge was not there to give is
    asked for again; one that it could not give stays away, with its reason.

    Args:
        run: the run folder.
        work: its responses, see :func:`scoring_jobs`; unsupported ones are passed over.
        scorers: the backends; without them only metrics that need none are scored.
        families: which passes to make.
        retry_unjudged: ask once more for every verdict that is missing, whatever the reason.

    Returns:
        All scores of the run.

    Raises:
        ServiceError: the judge cannot be reached; the scores made until then are kept.
        MissingWeightsError: a scorer's weights are absent.
        InputError: a response's audio cannot be read.
    """
    log = ScoreLog(run)
    work = [job for job in work if job.response.status is not ResponseStatus.unsupported]
    try:
        for family in families:
            _pass(family, work, log, scorers, retry_unjudged)
    finally:
        log.compact()
    return log


def _pass(
    family: MetricFamily, work: Sequence[ScoringJob], log: ScoreLog, scorers: Scorers | None, retry: bool
) -> None:
    metrics = family_metrics(family)
    todo = [job for job in work if any(lacks(job, metric, log, scorers, retry) for metric in metrics)]
    made = without = 0
    with progress_bar(len(todo), f"score {family}", "response") as bar:
        for start in range(0, len(todo), BATCH):
            batch = todo[start : start + BATCH]
            try:
                for metric, scores in _score(batch, metrics, log, scorers, retry):
                    log.add(scores)
                    made += len(scores)
                    without += 0 if metric.words_only else sum(s.value is None for s in scores)
            finally:  # what one metric found is kept where the next one fails
                log.flush()
            bar.set_postfix(scores=made, without_value=without, refresh=False)
            bar.update(len(batch))


def lacks(job: ScoringJob, metric: ResponseMetric, log: ScoreLog, scorers: Scorers | None, retry: bool = False) -> bool:
    """Whether this response is to get this metric. Whether it is audible may not be known yet."""
    signature = metric.signature(scorers, job.item.task)
    if not signature or (metric.audible_only and _audible(job, log) is False):
        return False
    found = log.get(job.key, metric.key, signature)
    return found is None or (metric.ask_again and found.value is None and (found.again or retry))


def _audible(job: ScoringJob, log: ScoreLog) -> bool | None:
    metric = find_metric(AUDIBLE)
    found = log.get(job.key, AUDIBLE, metric.rule) if metric is not None else None
    return None if found is None else bool(found.value)


def _score(
    batch: Sequence[ScoringJob],
    metrics: Sequence[ResponseMetric],
    log: ScoreLog,
    scorers: Scorers | None,
    retry: bool,
) -> Iterator[tuple[ResponseMetric, list[Score]]]:
    clip = _reader(log.run)

    def detail(job: ScoringJob, key: str) -> str:
        metric = find_metric(key)
        signature = metric.signature(scorers, job.item.task) if metric is not None else ""
        found = log.get(job.key, key, signature)
        return found.detail if found is not None else ""

    for metric in metrics:
        jobs = [job for job in batch if lacks(job, metric, log, scorers, retry)]
        if not jobs:
            continue
        given = ScoringBatch(jobs=jobs, backend=metric.runs_on(scorers), root=log.run.root, clip=clip, detail=detail)
        yield (
            metric,
            [
                Score(
                    response_id=job.key,
                    metric=metric.key,
                    value=scored.value,
                    signature=metric.signature(scorers, job.item.task),
                    detail=scored.detail,
                    again=scored.again,
                )
                for job, scored in zip(jobs, metric.score(given), strict=True)
            ],
        )


def _reader(run: RunDir) -> Callable[[ScoringJob], Clip | None]:
    """Return a reader that reads each response's sound once."""
    kept: dict[str, Clip | None] = {}

    def clip(job: ScoringJob) -> Clip | None:
        if job.key not in kept:
            try:
                kept[job.key] = read_audio(run.root / job.response.path) if job.response.path else None
            except InputError as error:
                raise InputError(f"response {job.key!r}: {error}") from None
        return kept[job.key]

    return clip
