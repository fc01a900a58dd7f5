"""What the task YAMLs name: the text of a document, what is kept of an answer, and the task's scores.

A model's answer becomes the same light record under every metric. The aggregations, which the harness
calls on the first process only, score a task's responses once, in batches, and write the scores into the
run folder; see :mod:`vaeval_tasks.scoring.scores`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from vaeval_tasks.asking.ledger import Entry, Ledger
from vaeval_tasks.asking.ranks import rank
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.hosts.lm_eval.answer import HarnessAnswer
from vaeval_tasks.hosts.lm_eval.documents import item
from vaeval_tasks.hosts.lm_eval.left_out import note_data
from vaeval_tasks.hosts.lm_eval.messages import plain_text
from vaeval_tasks.hosts.lm_eval.preflight import loaded_scorers
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings
from vaeval_tasks.hosts.lm_eval.samples import SampleRecord, fill, scorer_names
from vaeval_tasks.scoring.combine import TaskScores
from vaeval_tasks.scoring.metric import FactorUse
from vaeval_tasks.scoring.registry import factors
from vaeval_tasks.scoring.results import ScoredItem, score_run, thin_coverage
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir, now
from vaeval_tasks.store.schema import Response, ResponseStatus, slug

__all__ = [
    "FACTORS",
    "METRICS",
    "coverage",
    "doc_to_target",
    "doc_to_text",
    "missing",
    "process_results",
    "score",
    "scorers",
    "unjudged",
]

FACTORS = tuple(factors(None, FactorUse.product))
"""The factors of the task score; each has an aggregation of its name here, which the YAMLs name."""
METRICS = (
    "vae_score",
    *(f"vae_{name}" for name in FACTORS),
    *("vae_missing", "vae_unjudged", "vae_coverage", "vae_scorers"),
)

Records = Sequence[SampleRecord]
Aggregation = Callable[[Records], float]

log = logging.getLogger(__name__)


def doc_to_text(doc: Mapping[str, Any]) -> str:
    """Return what a text-only model reads without chat messages: the role, and the transcript of what was said."""
    return plain_text(doc)


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """Return the first reference, empty where there is none."""
    return doc["references"][0] if doc["references"] else ""


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, SampleRecord]:
    """Return the record of one answer under the name of every metric.

    Raises:
        InputError: the answer is neither text nor one of ours.
    """
    if not isinstance(results[0], str):
        raise InputError(f"item {doc['item_id']!r}: the model returned {type(results[0]).__name__}, not text")
    answer = HarnessAnswer.decode(results[0])
    if not answer.response_id:
        answer = _keep_text(doc, answer)
    about = {"run": answer.run, "response_id": answer.response_id, "settings": doc["settings"]}
    return {metric: SampleRecord(about, metric=metric) for metric in METRICS}


def _keep_text(doc: Mapping[str, Any], answer: HarnessAnswer) -> HarnessAnswer:
    """Put the answer of a text-only model into the run folder, or that it was not asked and why."""
    unasked = answer.status is ResponseStatus.unsupported
    text = "" if unasked else answer.text
    settings = HarnessSettings.from_json(doc["settings"])
    root, config = settings.text_model()
    key = f"{config.config_id} {doc['task']} {answer.text}".encode()
    response = Response(
        response_id=f"{slug(doc['item_id'])}.{sha256_bytes(key)[:16]}",
        prompt_id=doc["item_id"],
        config_id=config.config_id,
        status=answer.status if unasked else ResponseStatus.ok if text.strip() else ResponseStatus.empty,
        text=text,
        error=answer.text if unasked else "",
        task=doc["task"],
        created=now(),
    )
    ledger = _texts(root)
    note_data(ledger, doc["task"], doc["revision"])
    ledger.note("models", config.config_id, settings.identity)
    if settings.items:
        ledger.note("items", doc["task"], settings.items)
    known = response.response_id in ledger.responses
    ledger.append([Entry(item=item(doc), response=None if known else response)])
    return HarnessAnswer(text=text, response_id=response.response_id, run=str(root))


@cache
def _texts(root: Path) -> Ledger:
    """The run folder of a text-only model's answers, which come one by one, read once a process.

    Without the lock of who asks: these answers are there, and refusing one while another process asks would lose it.
    Whole lines are appended, so both stay readable.
    """
    return Ledger(RunDir(root), rank=rank())


@dataclass(frozen=True, slots=True)
class _Evaluated:
    task: TaskScores
    items: Mapping[str, ScoredItem]
    """By ``response_id``."""


@cache
def _evaluate(root: str, response_ids: tuple[str, ...], given: str) -> _Evaluated:
    """The scores of one task, made once although every metric asks for them."""
    run, settings = RunDir(Path(root)), HarnessSettings.from_json(given)
    wanted, items = set(response_ids), {}
    with writing(run.root, Writer.score):
        found = score_run(
            run,
            [r for r in run.responses() if r.response_id in wanted],
            loaded_scorers(*settings.scored_by),
            retry_unjudged=settings.retry_unjudged,
            min_judged=settings.min_judged,
            tell=lambda item: items.update({item.response_id: item}),
        )
    if len(found) != 1:
        raise InputError(f"the answers of one task are of {len(found)} configurations; use one run folder", path=root)
    if found[0].reason:
        log.warning("%s has no score: %s", found[0].task, found[0].reason)
    for line in thin_coverage([scores for scores in found if not scores.reason]):
        log.warning(line)
    return _Evaluated(found[0], items)


def _scores(records: Records) -> TaskScores:
    first = records[0]
    found = _evaluate(first["run"], tuple(sorted({r["response_id"] for r in records})), first["settings"])
    fill(first["metric"], records, found.items, found.task)
    return found.task


def score(records: Records) -> float:
    """Return the task's score, the product of the rounded factors; NaN where a factor is absent."""
    value = _scores(records).score
    return math.nan if value is None else value


def __getattr__(name: str) -> Aggregation:
    """Return the aggregation of a factor: its value for a task, NaN where no answer has one."""
    if name not in FACTORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def aggregate(records: Records) -> float:
        estimate = _scores(records).factors[name]
        # not a number is how the harness shows a value that is absent; a group of such tasks shows it too
        return math.nan if estimate is None else estimate.value

    return aggregate


def missing(records: Records) -> float:
    """Return how many answers had no audible sound."""
    return float(_scores(records).missing)


def unjudged(records: Records) -> float:
    """Return how many answers got no verdict."""
    return float(_scores(records).unjudged)


def coverage(records: Records) -> float:
    """Return the smallest share of items that a factor of the score has a value for; NaN where nothing was answered."""
    value = _scores(records).coverage
    return math.nan if value is None else value


def scorers(records: Records) -> str:
    """Return who scored, for the harness's table and JSON: a stand-in's name travels with its number."""
    return scorer_names(_scores(records))
