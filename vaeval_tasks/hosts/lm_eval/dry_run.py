"""What a run of the harness would ask, before anybody is asked: requests, minutes of sound, judge calls and tokens.

The data are loaded and checked as for the run; no model is opened, no scorer loads its weights, and nothing is written
into the run folder. A judge's calls for answers that are not there yet are taken for one each, and their length for
:data:`~vaeval_tasks.scoring.forecast.ANSWER_CHARS` letters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import soundfile

from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.dataset import load
from vaeval_tasks.hosts.lm_eval.documents import item
from vaeval_tasks.hosts.lm_eval.left_out import left_out
from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.hosts.lm_eval.preflight import loaded_scorers
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings
from vaeval_tasks.metrics.backends import JudgeItem
from vaeval_tasks.scoring.forecast import ANSWER_CHARS, JudgeLoad, forecast_scores, judge_load
from vaeval_tasks.scoring.scores import scoring_jobs
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response

__all__ = ["TaskForecast", "forecast_run", "forecast_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskForecast:
    """What is still to come for one task, or for all."""

    task: str
    items: int
    left_out: int
    """Items of the data that cannot be asked."""
    at_hand: int
    """Items that the run folder has an answer to."""
    requests: int
    """To the model: turns of the items without an answer."""
    audio_min: float
    """Sound sent with them, in minutes."""
    judge_calls: int
    judge_tokens: int
    """Of the judge's questions, estimated; its replies come on top."""


def forecast_run(
    tasks: Sequence[str],
    metadata: Mapping[str, Any],
    *,
    model: SpeechLM | None = None,
    limit: float | None = None,
    samples: Mapping[str, Sequence[int]] | None = None,
    scored: bool = True,
) -> list[TaskForecast]:
    """Return what is still to be asked, by task.

    Args:
        tasks: some of the 13.
        metadata: ``--metadata``, and the model's arguments.
        model: the model, where it is one of ours: only then is it known what has an answer already.
        limit: the harness's ``--limit``: a number of items of each task, or a share below 1.
        samples: the harness's ``--samples``: which items of which tasks; tasks that are not named are not run.
        scored: whether answers are scored after.

    Raises:
        VaevalError: what the run itself would stop at before its first request: data, or options of the scorers.
    """
    return [
        _of_task(task, _chosen(task, metadata, limit, samples), metadata, model, scored)
        for task in tasks
        if not samples or task in samples
    ]


def forecast_table(found: Sequence[TaskForecast]) -> Table:
    """Return forecasts as a table that ends with their sum."""
    columns = tuple(field.name for field in fields(TaskForecast))
    rows = [asdict(one) for one in found]
    total = {name: sum(row[name] for row in rows) for name in columns if name != "task"}
    return Table(
        name="dry-run",
        title="Still to ask; minutes of sound sent; tokens of the judge's questions, estimated",
        columns=columns,
        rows=(*rows, {"task": "all", **total}),
        digits={"audio_min": 1},
    )


def _chosen(
    task: str, metadata: Mapping[str, Any], limit: float | None, samples: Mapping[str, Sequence[int]] | None
) -> list[dict[str, Any]]:
    """The documents that the harness would take."""
    docs = list(load(**{**metadata, "config_source": f"{task}.yaml", "predict_only": True})["test"])
    if samples:
        if far := [i for i in samples[task] if i >= len(docs)]:
            raise InputError(f"--samples: {task} has {len(docs)} items, numbered from 0; there is no {far[0]}")
        return [docs[i] for i in samples[task]]
    if limit is None:
        return docs
    return docs[: math.ceil(len(docs) * limit) if limit < 1 else int(limit)]


def _of_task(
    task: str, docs: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any], model: SpeechLM | None, scored: bool
) -> TaskForecast:
    answers: dict[str, Response] = {}
    if model is not None:
        answers = {r.response_id: r for r in latest(RunDir(model.run_root).responses())}
    keys = [model.unit(doc).response_id if model is not None else "" for doc in docs]
    due = [doc for key, doc in zip(keys, docs, strict=True) if key not in answers or answers[key].status.failed]
    there = [answers[key] for key in keys if key in answers and not answers[key].status.failed]
    load = _judged(HarnessSettings.from_metadata(metadata), due, there, model) if scored else JudgeLoad()
    return TaskForecast(
        task=task,
        items=len(docs),
        left_out=len(left_out(task, docs[0]["revision"])),
        at_hand=len(there),
        requests=sum(len(doc["turns"]) for doc in due),
        audio_min=sum(_minutes(doc) for doc in due),
        judge_calls=load.calls,
        judge_tokens=load.tokens,
    )


def _minutes(doc: Mapping[str, Any]) -> float:
    clips = [Path(clip) for turn in doc["turns"] for clip in turn]
    return sum(float(soundfile.info(clip).duration) for clip in clips) / 60


def _judged(
    settings: HarnessSettings, due: Sequence[Mapping[str, Any]], there: Sequence[Response], model: SpeechLM | None
) -> JudgeLoad:
    scorers = loaded_scorers(*settings.scored_by)
    calls, tokens = 0, 0
    if model is not None and there:
        run = RunDir(model.run_root)
        rows = forecast_scores(run, scoring_jobs(there, run.items()), scorers, retry_unjudged=settings.retry_unjudged)
        calls, tokens = sum(row.calls for row in rows), sum(row.tokens for row in rows)
    new = judge_load(scorers, (_question(doc) for doc in due))
    return JudgeLoad(calls=calls + new.calls, tokens=tokens + new.tokens)


def _question(doc: Mapping[str, Any]) -> JudgeItem:
    asked = item(doc)
    return JudgeItem(
        task=asked.task,
        question=asked.question,
        answer="x" * ANSWER_CHARS,
        references=asked.references,
        system_prompt=asked.system_prompt,
        user_emotion=asked.user_emotion,
    )
