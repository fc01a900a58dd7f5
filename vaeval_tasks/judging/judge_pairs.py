"""Let a judge rate the pairs of a run in both orders, resumably, and keep its ratings as a rater of its own kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.judging.instructions import (
    REMINDER,
    AudioPart,
    PairVerdict,
    instructions_sha256,
    messages,
    questions,
    read_verdict,
    scores_schema,
)
from vaeval_tasks.services.http.chat import ChatAnswer, ChatClient
from vaeval_tasks.store.answers import study_answers
from vaeval_tasks.store.log import append_jsonl, read_jsonl
from vaeval_tasks.store.run import RunDir, now
from vaeval_tasks.store.schema import Pair, PairKind, Prompt, Rater, RaterKind, Rating, StudyKind, slug

__all__ = [
    "Judgement",
    "JudgementStatus",
    "PairJudgeSettings",
    "PairJudgeSummary",
    "judge_id",
    "judge_pairs",
    "judgements",
    "log_path",
    "write_ratings",
]


class JudgementStatus(StrEnum):
    """What became of a request. One that never got an answer is not kept: it is asked again."""

    ok = "ok"
    malformed = "malformed"
    """Answered, but not with a usable verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One request of a judge: one pair in one order."""

    judge_id: str
    pair_id: str
    prompt_id: str
    a: str
    b: str
    a_first: bool
    status: JudgementStatus
    scores: dict[str, Any] = field(default_factory=dict)
    """Per rubric, positive where ``a`` is preferred whatever the order; empty if malformed."""
    detail: str = ""
    model: str = ""
    attempts: int = 1
    created: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairJudgeSettings:
    """What a judge of pairs is to rate; which model it is, and how it is asked, are options of the client."""

    rubrics: tuple[str, ...] = ()
    """Only these questions; all that apply if empty."""
    pairs: int | None = None
    """Only so many pairs, drawn by ``seed``; all if None."""
    seed: int = 0
    audio_part: AudioPart = AudioPart.input_audio
    retry_malformed: bool = False
    """Ask again where the last answer was malformed."""


def judge_id(model: str) -> str:
    """Return a judge's name as a rater: another model or another instruction is another rater."""
    return f"judge:{slug(model)}:{instructions_sha256()[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairJudgeSummary:
    """What a run of the judge came to."""

    judge_id: str
    asked: int
    """Requests that were to be made this time."""
    ok: int
    malformed: int
    unanswered: int
    """Requests that got no answer: run again to go on."""
    resumed: int
    """Requests answered by an earlier run."""
    skipped: int
    """Pairs left out because a response or a clip is missing."""
    ratings: int
    """Ratings of this judge in the run now."""
    reasons: tuple[tuple[str, int], ...] = ()
    """Why answers were malformed, most frequent first."""
    stopped: str = ""
    """Why the endpoint was not asked any more; "" where it is there, and single requests got no answer."""


def log_path(run: RunDir) -> Path:
    """Return the append-only log of judgements."""
    return run.root / "judgements.jsonl"


def judgements(run: RunDir) -> list[Judgement]:
    """Return the last judgement of every judge, pair and order."""
    path = log_path(run)
    rows = read_jsonl(path, Judgement) if path.is_file() else iter(())
    last = {(j.judge_id, j.pair_id, j.a_first): j for j in rows}
    return [last[key] for key in sorted(last)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    pair: Pair
    prompt: Prompt
    a_first: bool
    first: Path
    second: Path


def _pairs(run: RunDir, settings: PairJudgeSettings) -> list[Pair]:
    pairs = [p for p in run.read("pairs") if p.kind is PairKind.main]
    if settings.pairs is None or settings.pairs >= len(pairs):
        return pairs
    chosen = np.random.default_rng(settings.seed).choice(len(pairs), settings.pairs, replace=False)
    return [pairs[i] for i in sorted(chosen)]


def _tasks(run: RunDir, pairs: Sequence[Pair], settings: PairJudgeSettings) -> Iterator[_Task | None]:
    """Yield both orders of every pair; None for a pair that cannot be played."""
    prompts: dict[str, Prompt] = {p.prompt_id: p for p in run.read("prompts")}
    answers = study_answers(run.responses())
    sounds = {key: answers[key].sound(run.root) for p in pairs for key in _sides(p) if key in answers}
    for pair in pairs:
        prompt = prompts.get(pair.prompt_id)
        a, b = (sounds.get(key) for key in _sides(pair))
        playable = prompt is not None and bool(prompt.path) and (run.root / prompt.path).is_file()
        if prompt is None or not playable or a is None or b is None or not questions(prompt, settings.rubrics):
            yield None
            continue
        yield _Task(pair=pair, prompt=prompt, a_first=True, first=a, second=b)
        yield _Task(pair=pair, prompt=prompt, a_first=False, first=b, second=a)


def _sides(pair: Pair) -> tuple[tuple[str, str], tuple[str, str]]:
    return (pair.prompt_id, pair.a), (pair.prompt_id, pair.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    task: _Task
    verdict: PairVerdict | None
    answer: ChatAnswer


def _ask(run: RunDir, client: ChatClient, settings: PairJudgeSettings, task: _Task) -> _Asked:
    asked = questions(task.prompt, settings.rubrics)
    request, first, second = (p.read_bytes() for p in (run.root / task.prompt.path, task.first, task.second))
    answer = client.ask_reminding(
        messages(asked, request, first, second, settings.audio_part),
        lambda text: read_verdict(text, asked).reason,
        REMINDER,
        schema=scores_schema(asked),
        modalities=["text"],
    )
    return _Asked(task=task, verdict=read_verdict(answer.text, asked) if answer.ok else None, answer=answer)


def _judgement(model: str, asked: _Asked) -> Judgement:
    task, scores = asked.task, asked.verdict.scores if asked.verdict else {}
    return Judgement(
        judge_id=judge_id(model),
        pair_id=task.pair.pair_id,
        prompt_id=task.pair.prompt_id,
        a=task.pair.a,
        b=task.pair.b,
        a_first=task.a_first,
        status=JudgementStatus.ok if scores else JudgementStatus.malformed,
        scores={key: score if task.a_first else -score for key, score in scores.items()},
        detail=asked.verdict.reason if asked.verdict else asked.answer.reason,
        model=model,
        attempts=asked.answer.attempts,
        created=now(),
    )


def _each(
    pool: ThreadPoolExecutor, call: Callable[[_Task], _Asked], tasks: Iterable[_Task], width: int
) -> Iterator[_Asked]:
    """Yield results as they come, with at most ``width`` tasks under way, so that stopping early asks nothing more."""
    pending: set[Future[_Asked]] = set()
    for task in tasks:
        pending.add(pool.submit(call, task))
        if len(pending) >= width:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in done)


def judge_pairs(
    run: RunDir, client: ChatClient, settings: PairJudgeSettings, *, progress: Callable[[int], object] | None = None
) -> PairJudgeSummary:
    """Let the judge rate the main pairs of a run, each in both orders.

    Every answer is logged at once; a second run asks only for what has no answer yet. At the end, and when it is
    interrupted, ``judge_ratings`` and ``judges`` are written from the log.

    Args:
        run: with pairs, prompts, responses and their audio.
        client: the connection.
        settings: the judge and what it rates.
        progress: told how many requests are done.

    Raises:
        InputError: a table is missing, or no pair can be played.
        ServiceError: the endpoint refuses us, or has stopped answering.
    """
    pairs = _pairs(run, settings)
    found = list(_tasks(run, pairs, settings))
    tasks = [task for task in found if task is not None]
    if not tasks:
        raise InputError("no pair has a prompt and two responses with audio that a judge could hear", path=run.root)
    rater = judge_id(client.options.model)
    last = {(j.pair_id, j.a_first): j for j in judgements(run) if j.judge_id == rater}
    done = {key for key, j in last.items() if j.status is JudgementStatus.ok or not settings.retry_malformed}
    todo = [task for task in tasks if (task.pair.pair_id, task.a_first) not in done]
    counts: Counter[JudgementStatus] = Counter()
    try:
        stopped = _run(run, client, settings, todo, counts, progress)
    finally:
        ratings = write_ratings(run)
    if stopped and not counts and not done:
        raise ServiceError(f"the judge at {client.url} gave no answer: {stopped}")
    bad = [j for j in judgements(run) if j.judge_id == rater and j.status is JudgementStatus.malformed]
    return PairJudgeSummary(
        judge_id=rater,
        asked=len(todo),
        ok=counts[JudgementStatus.ok],
        malformed=counts[JudgementStatus.malformed],
        unanswered=len(todo) - sum(counts.values()),
        resumed=len(tasks) - len(todo),
        skipped=found.count(None),
        ratings=ratings[rater],
        reasons=tuple(Counter(j.detail for j in bad).most_common()),
        stopped=stopped,
    )


def _run(
    run: RunDir,
    client: ChatClient,
    settings: PairJudgeSettings,
    todo: Sequence[_Task],
    counts: Counter[JudgementStatus],
    progress: Callable[[int], object] | None,
) -> str:
    """Ask and log; return why the endpoint is not to be asked any more, "" while it is there."""
    breaker, width = client.breaker(), client.options.concurrency
    refusal: ChatAnswer | None = None
    pool = ThreadPoolExecutor(width)
    try:
        # what is under way when the endpoint stops is still waited for and kept: it was paid for
        wanted = takewhile(lambda _: not breaker.reason, todo)
        for asked in _each(pool, lambda task: _ask(run, client, settings, task), wanted, width):
            answer = asked.answer
            if answer.reached:
                judgement = _judgement(client.options.model, asked)
                append_jsonl(log_path(run), judgement)
                counts[judgement.status] += 1
            if answer.stop:
                refusal = refusal or answer
                breaker.open(answer.stop)
            else:
                breaker.note(answer.outcome)
            if breaker.reason:
                client.stop()  # nobody wants to wait for the pauses of the others
            if progress is not None:
                progress(1)
        if refusal is not None:
            raise client.refusal(refusal)
        return breaker.gone() if sum(counts.values()) < len(todo) else ""
    finally:
        client.stop()  # an error or Ctrl-C must not wait for long pauses
        pool.shutdown(wait=True, cancel_futures=True)


def write_ratings(run: RunDir) -> Counter[str]:
    """Write the tables ``judge_ratings`` and ``judges`` from the log, and return the ratings per judge."""
    usable = [j for j in judgements(run) if j.status is JudgementStatus.ok]
    if not usable:
        return Counter()
    rows = [
        Rating(
            prompt_id=j.prompt_id,
            a=j.a,
            b=j.b,
            rater_id=j.judge_id,
            rubric=rubric,
            score=score,
            left_is_a=j.a_first,
            assignment_id=f"{j.pair_id}:{'ab' if j.a_first else 'ba'}",
        )
        for j in usable
        for rubric, score in j.scores.items()
    ]
    models = {j.judge_id: j.model for j in usable}
    run.write("judge_ratings", rows, made_by="vaeval judge", inputs=("pairs",), models=models)
    raters = [Rater(rater_id=judge_id, kind=RaterKind.judge, pools=(StudyKind.cmos,)) for judge_id in sorted(models)]
    run.write("judges", raters, made_by="vaeval judge")
    return Counter(row.rater_id for row in rows)
