"""``results.json`` of a run folder: the task, family and overall scores of each configuration, and what made them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vaeval_tasks import __version__
from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.files import write_text
from vaeval_tasks.scoring import combine
from vaeval_tasks.scoring.combine import MIN_JUDGED, GroupScore, ItemScores, ScoreEstimate, TaskScores
from vaeval_tasks.scoring.latency import LatencySummary, latency_summary
from vaeval_tasks.scoring.metric import ScoringJob
from vaeval_tasks.scoring.registry import response_metrics
from vaeval_tasks.scoring.score_log import ScoreLog
from vaeval_tasks.scoring.scores import document_of, score_responses, scored_with, scoring_jobs
from vaeval_tasks.stats.quantiles import QuantileEstimate
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.run import RunDir, now
from vaeval_tasks.store.schema import Response, ResponseStatus
from vaeval_tasks.store.tables import from_row

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = [
    "PARTIAL",
    "RESULTS_VERSION",
    "ConfigResults",
    "RunResults",
    "ScoredItem",
    "TaskResult",
    "changed_scorers",
    "read_results",
    "score_run",
    "thin_coverage",
]

RESULTS_VERSION = 2
METHODOLOGY = "VoiceAssistant-Eval, arXiv 2509.22651v1, as vaeval reads it (1)"
FILE = "results.json"
PARTIAL = "results-partial.json"
"""Results of fewer items than those of the same task in ``results.json``: they never take its place."""

log = logging.getLogger(__name__)

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The scores of one task and where they come from."""

    scores: TaskScores
    data_revision: str | None = None
    data_items: int | None = None
    """How many items the data have; None where that was not kept."""
    asked: int | None = None
    """Of how many items there is an answer, or that the model does not take them; None in files of version 1."""
    min_judged: float = MIN_JUDGED
    latency: LatencySummary = field(default_factory=dict)
    left_out: tuple[Mapping[str, str], ...] = ()
    """Items of the data that could not be asked, each with ``item_id``, ``column`` and ``reason``."""

    @property
    def size(self) -> int:
        """Of how many items it is."""
        return self.scores.n if self.asked is None else self.asked

    @property
    def partial(self) -> bool:
        """Whether it is known to be of fewer items than there are."""
        return self.data_items is not None and self.size < self.data_items


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredItem:
    """What one response scored, with what was read and by whom."""

    response_id: str
    answered: bool
    """Whether the model takes such requests."""
    scores: ItemScores
    details: Mapping[str, str]
    """By metric: a verdict, a transcript, the reason of a missing value."""
    signatures: Mapping[str, str]
    """By metric; of those that have a score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigResults:
    """What one configuration scored."""

    tasks: Mapping[str, TaskResult] = field(default_factory=dict)
    model_config: Mapping[str, Any] | None = None
    """The configuration as it was resolved, for provenance."""
    latency: LatencySummary = field(default_factory=dict)
    """Of the answers to all its tasks."""

    @property
    def groups(self) -> dict[str, GroupScore]:
        """The scores of the families and of the suite."""
        return combine.group_scores({name: task.scores for name, task in self.tasks.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """All of ``results.json``."""

    configs: Mapping[str, ConfigResults] = field(default_factory=dict)
    software: str = ""
    methodology: str = ""
    made: str = ""
    """UTC, ISO 8601."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values. A factor stands beside the other fields of its task, under its name."""
        configs = {name: _config_json(config) for name, config in self.configs.items()}
        made = {"software": self.software, "methodology": self.methodology, "made": self.made} if self.made else {}
        return {"version": RESULTS_VERSION, "configs": configs, **made}

    @classmethod
    def from_json(cls, parsed: Any, *, path: Path | None = None) -> RunResults:
        """Read plain values back.

        Raises:
            InputError: a part is not what it must be, or the version is newer.
        """
        whole = _mapping(parsed, "", path)
        if not isinstance(whole.get("version", 0), int) or whole.get("version", 0) > RESULTS_VERSION:
            raise InputError("was written by a newer vaeval; upgrade this one", path=path)
        configs = _mapping(whole.get("configs", {}), "configs", path)
        return cls(
            configs={name: _config(entry, f"configs.{name}", path) for name, entry in configs.items()},
            **{key: str(whole.get(key, "")) for key in ("software", "methodology", "made")},
        )


def _config_json(config: ConfigResults) -> dict[str, Any]:
    tasks = {}
    for name, task in config.tasks.items():
        flat = asdict(task.scores)
        estimates = flat.pop("factors")
        gone = {"left_out": [dict(item) for item in task.left_out]} if task.left_out else {}
        tasks[name] = {
            **estimates,
            **flat,
            "data_revision": task.data_revision,
            "data_items": task.data_items,
            "asked": task.asked,
            "min_judged": task.min_judged,
            "latency": _latency_json(task.latency),
            **gone,
        }
    groups = {name: asdict(group) for name, group in config.groups.items()}
    latency = _latency_json(config.latency)
    return {"tasks": tasks, "groups": groups, "latency": latency, "model_config": config.model_config}


def _latency_json(latency: LatencySummary) -> dict[str, Any]:
    return {name: {q: asdict(found) for q, found in quantiles.items()} for name, quantiles in latency.items()}


def _mapping(value: Any, place: str, path: Path | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"must be an object, not {type(value).__name__}", path=path, field=place or None)
    return value


def _config(entry: Any, place: str, path: Path | None) -> ConfigResults:
    tasks = _mapping(_mapping(entry, place, path).get("tasks", {}), f"{place}.tasks", path)
    return ConfigResults(
        tasks={name: _task(task, f"{place}.tasks.{name}", path) for name, task in tasks.items()},
        model_config=entry.get("model_config"),
        latency=_latency(entry.get("latency", {}), f"{place}.latency", path),
    )


def _latency(entry: Any, place: str, path: Path | None) -> LatencySummary:
    return {
        name: {
            q: _record(QuantileEstimate, value, f"{place}.{name}.{q}", path)
            for q, value in _mapping(quantiles, f"{place}.{name}", path).items()
        }
        for name, quantiles in _mapping(entry, place, path).items()
    }


_PLAIN: dict[str, type | tuple[type, ...]] = {
    "task": str,
    "n": int,
    "score": (int, float, type(None)),
    "missing": int,
    "unjudged": int,
    "unscored": int,
    "failed": int,
    "reason": str,
    "signatures": dict,
}


def _task(entry: Any, place: str, path: Path | None) -> TaskResult:
    """Read one task. What is neither a field of the task nor its provenance is a factor."""
    rest = dict(_mapping(entry, place, path))
    rest.pop("seed", None)  # of the bootstrap of version 1
    about = {name: rest.pop(name) for name in ("data_revision", "data_items", "asked", "min_judged") if name in rest}
    latency = _latency(rest.pop("latency", {}), f"{place}.latency", path)
    coverage = rest.pop("coverage", None)
    gone = rest.pop("left_out", [])
    if not isinstance(gone, list) or not all(isinstance(item, dict) for item in gone):
        raise InputError(f"has the wrong type: {gone!r}", path=path, field=f"{place}.left_out")
    plain = {name: rest.pop(name) for name in _PLAIN if name in rest}
    for name, kind in _PLAIN.items():
        if not isinstance(plain.get(name), kind):
            raise InputError(f"has the wrong type: {plain.get(name)!r}", path=path, field=f"{place}.{name}")
    estimates = {name: _estimate(value, f"{place}.{name}", path) for name, value in rest.items()}
    scores = TaskScores(**plain, unrounded=estimates.pop("unrounded", None), factors=estimates, coverage=coverage)
    return TaskResult(scores=scores, latency=latency, left_out=tuple(gone), **about)


def _estimate(value: Any, place: str, path: Path | None) -> ScoreEstimate | None:
    return None if value is None else _record(ScoreEstimate, value, place, path)


def _record(kind: type[Kind], value: Any, place: str, path: Path | None) -> Kind:
    try:
        return from_row(kind, _mapping(value, place, path))
    except VaevalError as error:
        raise InputError(f"is no estimate: {error}", path=path, field=place) from None


def read_results(run: RunDir, *, file: str = FILE) -> RunResults:
    """Return what ``results.json`` of a run folder holds; nothing where there is none.

    Args:
        run: the run folder.
        file: another file of that form in it, :data:`PARTIAL`.

    Raises:
        InputError: the file is not JSON, or of a newer version, or a part of it is not what it must be.
    """
    path = run.root / file
    if not path.is_file():
        return RunResults()
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as JSON ({error})", path=path) from None
    return RunResults.from_json(parsed, path=path)


def score_run(
    run: RunDir,
    responses: Sequence[Response],
    scorers: Scorers,
    *,
    min_judged: float = MIN_JUDGED,
    retry_unjudged: bool = False,
    tell: Callable[[ScoredItem], object] = id,
) -> list[TaskScores]:
    """Score responses and write their task scores into ``results.json``, beside those of other tasks.

    A result of fewer items than the one that is there goes to ``results-partial.json``, with a warning.

    Args:
        run: the run folder.
        responses: which of its responses; see :func:`vaeval_tasks.store.answers.latest`.
        scorers: the backends.
        min_judged: the share of items that a factor must have a value for, or there is no score.
        retry_unjudged: ask once more for every verdict that is missing, whatever the reason.
        tell: called with what each response scored.

    Returns:
        The task scores, by configuration and task.

    Raises:
        ServiceError: the judge cannot be reached; the scores made until then are kept.
    """
    _compact(run)
    work = scoring_jobs(responses, run.items())
    scored = score_responses(run, work, scorers, retry_unjudged=retry_unjudged)
    groups: dict[tuple[str, str], list[ScoringJob]] = {}
    for job in work:
        if job.item.task:
            groups.setdefault((job.response.config_id, job.item.task), []).append(job)
    about = run.manifest()["about"]
    found = {}
    for (config_id, task), jobs in sorted(groups.items()):
        answered = [job for job in jobs if job.response.status is not ResponseStatus.unsupported]
        told = [_scored_item(job, scored, scorers) for job in jobs]
        for item in told:
            tell(item)
        items = [item.scores for item in told if item.answered]
        found[config_id, task] = TaskResult(
            scores=combine.combine(task, items, signatures=scored_with(scorers, task), min_judged=min_judged),
            data_revision=about.get("data", {}).get(task),
            data_items=about.get("items", {}).get(task),
            asked=len(jobs),
            min_judged=min_judged,
            latency=latency_summary((job.response, document_of(job.item)) for job in answered),
            left_out=tuple(about.get("left_out", {}).get(task, ())),
        )
    if found:
        _merge(run, found, about)
    return [result.scores for result in found.values()]


def _compact(run: RunDir) -> None:
    """Write the tables of documents and responses from their logs, where these hold something new."""
    for name, rows in (("items", run.items()), ("responses", run.responses())):
        if not run.has(name) or run.read(name) != rows:
            run.write(name, rows, made_by="vaeval lm-eval or vaeval generate")


def _scored_item(job: ScoringJob, scored: ScoreLog, scorers: Scorers) -> ScoredItem:
    signatures = {m.key: m.signature(scorers, job.item.task) for m in response_metrics()}
    found = {key: scored.get(job.key, key, signature) for key, signature in signatures.items()}
    values = {key: score.value if score is not None else None for key, score in found.items()}
    return ScoredItem(
        response_id=job.key,
        answered=job.response.status is not ResponseStatus.unsupported,
        scores=ItemScores(values=values, failed=job.response.status.failed, document=document_of(job.item)),
        details={key: score.detail for key, score in found.items() if score is not None},
        signatures={key: score.signature for key, score in found.items() if score is not None},
    )


def _merge(run: RunDir, found: Mapping[tuple[str, str], TaskResult], about: Mapping[str, Any]) -> None:
    """Put results into ``results.json``; one of fewer items than the one that is there into the file beside it."""
    whole, partial = read_results(run), read_results(run, file=PARTIAL)
    kept, aside = dict(whole.configs), dict(partial.configs)
    for (config_id, task), result in found.items():
        before = kept.get(config_id, ConfigResults()).tasks.get(task)
        complete = result.data_items is not None and not result.partial
        if before is not None and before.size > result.size and not complete:
            log.warning(
                "%s: results.json keeps the result of %d items; that of these %d is in %s",
                task, before.size, result.size, PARTIAL,
            )  # fmt: skip
            aside[config_id] = _with(aside.get(config_id), config_id, task, result, about)
            continue
        kept[config_id] = _with(kept.get(config_id), config_id, task, result, about)
        if config_id in aside:
            rest = {name: other for name, other in aside[config_id].tasks.items() if name != task}
            aside[config_id] = replace(aside[config_id], tasks=rest)
    kept = {name: replace(config, latency=_all_latency(run, name)) for name, config in kept.items()}
    _write(run, FILE, replace(whole, configs=kept))
    aside = {name: config for name, config in aside.items() if config.tasks}
    if aside or partial.configs:
        _write(run, PARTIAL, replace(partial, configs=aside))


def _with(
    config: ConfigResults | None, config_id: str, task: str, result: TaskResult, about: Mapping[str, Any]
) -> ConfigResults:
    tasks = {**(config.tasks if config is not None else {}), task: result}
    return ConfigResults(tasks=tasks, model_config=about.get("configs", {}).get(config_id))


def _all_latency(run: RunDir, config_id: str) -> LatencySummary:
    """Of the newest answers of a configuration to the items of all tasks."""
    documents = {(item.task, item.item_id): document_of(item) for item in run.items()}
    mine = [r for r in latest(run.responses()) if r.config_id == config_id and r.task]
    return latency_summary((r, documents.get((r.task, r.prompt_id), "")) for r in mine)


def _write(run: RunDir, file: str, results: RunResults) -> None:
    made = replace(results, software=f"vaeval {__version__}", methodology=METHODOLOGY, made=now()).to_json()
    text = json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_text(run.root / file, text + "\n")


def changed_scorers(before: RunResults, made: Sequence[TaskScores]) -> list[str]:
    """Return a sentence for each factor that earlier results of the same tasks had from other scorers."""
    found = set()
    for scores in made:
        for config in before.configs.values():
            earlier = config.tasks.get(scores.task)
            signatures = earlier.scores.signatures if earlier is not None else {}
            found |= {
                f"{name} was scored by {signatures[name]}, now by {signature}: the numbers do not compare"
                for name, signature in scores.signatures.items()
                if name in signatures and signatures[name] != signature
            }
    return sorted(found)


def thin_coverage(made: Sequence[TaskScores]) -> list[str]:
    """Return a sentence for each task of which many items do not count, or so many that it has no score."""
    return [
        f"{scores.task}: only {100 * (scores.coverage or 0):.1f} % of {scores.n} items count"
        + (
            f", so there is no score ({scores.reason})"
            if scores.score is None
            else "; what is left out is seldom left out by chance"
        )
        for scores in made
        if scores.thin
    ]
