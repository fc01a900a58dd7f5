"""What the task YAMLs name: the text of a document, what is kept of an answer, and the task's scores.

A model's answer becomes the same light record under every metric. The aggregations, which the harness
calls on the first process only, score a task's responses once, in batches, and write the scores into the
run folder; see :mod:`vaeval_tasks.scoring.scores`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from vaeval_tasks.asking.ledger import Entry, Ledger
from vaeval_tasks.asking.ranks import rank
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.hosts.lm_eval.answer import HarnessAnswer
from vaeval_tasks.hosts.lm_eval.documents import item
from vaeval_tasks.hosts.lm_eval.preflight import loaded_scorers
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings, run_folder
from vaeval_tasks.scoring.combine import TaskScores
from vaeval_tasks.scoring.metric import FactorUse
from vaeval_tasks.scoring.registry import factors
from vaeval_tasks.scoring.results import score_run
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir, now
from vaeval_tasks.store.schema import ModelConfig, Response, ResponseStatus, slug

__all__ = [
    "FACTORS",
    "METRICS",
    "doc_to_target",
    "doc_to_text",
    "missing",
    "process_results",
    "score",
    "unjudged",
]

FACTORS = tuple(factors(None, FactorUse.product))
"""The factors of the task score; each has an aggregation of its name here, which the YAMLs name."""
METRICS = ("vae_score", *(f"vae_{name}" for name in FACTORS), "vae_missing", "vae_unjudged")

Aggregation = Callable[[Sequence[Mapping[str, str]]], float]

log = logging.getLogger(__name__)


def doc_to_text(doc: Mapping[str, Any]) -> str:
    """Return what a text-only model reads: the system prompt and the transcript of what the user said."""
    lines = [doc["system_prompt"], doc["question"]]
    if not doc["transcripts"]:
        # the options are read aloud, so a transcript holds them; the raw question does not
        lines += doc["options"]
    return "\n".join(line for line in lines if line) or "<audio>"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """Return the first reference, empty where there is none."""
    return doc["references"][0] if doc["references"] else ""


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, dict[str, str]]:
    """Return the record of one answer under the name of every metric.

    Raises:
        InputError: the answer is neither text nor one of ours.
    """
    if not isinstance(results[0], str):
        raise InputError(f"item {doc['item_id']!r}: the model returned {type(results[0]).__name__}, not text")
    answer = HarnessAnswer.decode(results[0])
    if not answer.response_id:
        answer = _keep_text(doc, answer.text)
    record = {"run": answer.run, "response_id": answer.response_id, "settings": doc["settings"]}
    return dict.fromkeys(METRICS, record)


def _keep_text(doc: Mapping[str, Any], text: str) -> HarnessAnswer:
    """Put the answer of a text-only model into the run folder."""
    settings = HarnessSettings.from_json(doc["settings"])
    root = run_folder(settings.run_dir, settings.model_name).resolve()
    config = ModelConfig(model=settings.model_name, provider="text")
    key = f"{config.config_id} {doc['task']} {text}".encode()
    response = Response(
        response_id=f"{slug(doc['item_id'])}.{sha256_bytes(key)[:16]}",
        prompt_id=doc["item_id"],
        config_id=config.config_id,
        status=ResponseStatus.ok if text.strip() else ResponseStatus.empty,
        text=text,
        task=doc["task"],
        created=now(),
    )
    ledger = _texts(root)
    ledger.note("data", doc["task"], doc["revision"])
    known = response.response_id in ledger.responses
    ledger.append([Entry(item=item(doc), response=None if known else response)])
    return HarnessAnswer(text=text, response_id=response.response_id, run=str(root))


@cache
def _texts(root: Path) -> Ledger:
    """The run folder of a text-only model's answers, which come one by one, read once a process."""
    return Ledger(RunDir(root), rank=rank())


@cache
def _evaluate(root: str, response_ids: tuple[str, ...], settings: str) -> TaskScores:
    """The scores of one task, made once although every metric asks for them."""
    run = RunDir(Path(root))
    wanted = set(response_ids)
    with writing(run.root, Writer.score):
        found = score_run(
            run,
            [r for r in run.responses() if r.response_id in wanted],
            loaded_scorers(settings),
            retry_unjudged=HarnessSettings.from_json(settings).retry_unjudged,
        )
    if len(found) != 1:
        raise InputError(f"the answers of one task are of {len(found)} configurations; use one run folder", path=root)
    if found[0].reason:
        log.warning("%s has no score: %s", found[0].task, found[0].reason)
    return found[0]


def _scores(records: Sequence[Mapping[str, str]]) -> TaskScores:
    first = records[0]
    return _evaluate(first["run"], tuple(sorted({r["response_id"] for r in records})), first["settings"])


def score(records: Sequence[Mapping[str, str]]) -> float:
    """Return the task's score, the product of the rounded factors; NaN where a factor is absent."""
    value = _scores(records).score
    return math.nan if value is None else value


def __getattr__(name: str) -> Aggregation:
    """Return the aggregation of a factor: its value for a task, NaN where no answer has one."""
    if name not in FACTORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def aggregate(records: Sequence[Mapping[str, str]]) -> float:
        estimate = _scores(records).factors[name]
        # not a number is how the harness shows a value that is absent; a group of such tasks shows it too
        return math.nan if estimate is None else estimate.value

    return aggregate


def missing(records: Sequence[Mapping[str, str]]) -> float:
    """Return how many answers had no audible sound."""
    return float(_scores(records).missing)


def unjudged(records: Sequence[Mapping[str, str]]) -> float:
    """Return how many answers got no verdict."""
    return float(_scores(records).unjudged)
