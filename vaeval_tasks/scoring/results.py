"""``results.json`` of a run folder: the task, family and overall scores of each configuration, and what made them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks import __version__
from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.files import write_text
from vaeval_tasks.scoring import combine
from vaeval_tasks.scoring.combine import BootstrapEstimate, GroupScore, ItemScores, TaskScores
from vaeval_tasks.scoring.registry import response_metrics
from vaeval_tasks.scoring.score_log import ScoreLog
from vaeval_tasks.scoring.scores import score_responses, scored_with, scoring_jobs
from vaeval_tasks.store.run import RunDir, now
from vaeval_tasks.store.schema import Response, ResponseStatus
from vaeval_tasks.store.tables import from_row

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = [
    "RESULTS_VERSION",
    "ConfigResults",
    "RunResults",
    "TaskResult",
    "changed_scorers",
    "read_results",
    "score_run",
]

RESULTS_VERSION = 1
METHODOLOGY = "VoiceAssistant-Eval, arXiv 2509.22651v1, as vaeval reads it (1)"
FILE = "results.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The scores of one task and where they come from."""

    scores: TaskScores
    data_revision: str | None = None
    seed: int = 0
    """Of the bootstrap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigResults:
    """What one configuration scored."""

    tasks: Mapping[str, TaskResult] = field(default_factory=dict)
    model_config: Mapping[str, Any] | None = None
    """The configuration as it was resolved, for provenance."""

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
        tasks[name] = {**estimates, **flat, "data_revision": task.data_revision, "seed": task.seed}
    groups = {name: asdict(group) for name, group in config.groups.items()}
    return {"tasks": tasks, "groups": groups, "model_config": config.model_config}


def _mapping(value: Any, place: str, path: Path | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"must be an object, not {type(value).__name__}", path=path, field=place or None)
    return value


def _config(entry: Any, place: str, path: Path | None) -> ConfigResults:
    tasks = _mapping(_mapping(entry, place, path).get("tasks", {}), f"{place}.tasks", path)
    return ConfigResults(
        tasks={name: _task(task, f"{place}.tasks.{name}", path) for name, task in tasks.items()},
        model_config=entry.get("model_config"),
    )


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
    revision, seed = rest.pop("data_revision", None), rest.pop("seed", 0)
    plain = {name: rest.pop(name) for name in _PLAIN if name in rest}
    for name, kind in _PLAIN.items():
        if not isinstance(plain.get(name), kind):
            raise InputError(f"has the wrong type: {plain.get(name)!r}", path=path, field=f"{place}.{name}")
    estimates = {name: _estimate(value, f"{place}.{name}", path) for name, value in rest.items()}
    scores = TaskScores(**plain, unrounded=estimates.pop("unrounded", None), factors=estimates)
    return TaskResult(scores=scores, data_revision=revision, seed=seed)


def _estimate(value: Any, place: str, path: Path | None) -> BootstrapEstimate | None:
    if value is None:
        return None
    try:
        return from_row(BootstrapEstimate, _mapping(value, place, path))
    except VaevalError as error:
        raise InputError(f"is no estimate: {error}", path=path, field=place) from None


def read_results(run: RunDir) -> RunResults:
    """Return what ``results.json`` of a run folder holds; nothing where there is none.

    Raises:
        InputError: the file is not JSON, or of a newer version, or a part of it is not what it must be.
    """
    path = run.root / FILE
    if not path.is_file():
        return RunResults()
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as JSON ({error})", path=path) from None
    return RunResults.from_json(parsed, path=path)


def score_run(
    run: RunDir, responses: Sequence[Response], scorers: Scorers, *, seed: int = 0, retry_unjudged: bool = False
) -> list[TaskScores]:
    """Score responses and write their task scores into ``results.json``, beside those of other tasks.

    Args:
        run: the run folder.
        responses: which of its responses; see :func:`vaeval_tasks.store.answers.latest`.
        scorers: the backends.
        seed: of the bootstrap.
        retry_unjudged: ask once more for every verdict that is missing, whatever the reason.

    Returns:
        The task scores, by configuration and task.

    Raises:
        ServiceError: the judge cannot be reached; the scores made until then are kept.
    """
    _compact(run)
    work = scoring_jobs(responses, run.items())
    log = score_responses(run, work, scorers, retry_unjudged=retry_unjudged)
    groups: dict[tuple[str, str], list[ItemScores]] = {}
    for job in work:
        members = groups.setdefault((job.response.config_id, job.item.task), [])
        if job.response.status is not ResponseStatus.unsupported:
            members.append(_item_scores(job.response, job.item.task, log, scorers))
    found = {
        (config_id, task): combine.combine(task, items, signatures=scored_with(scorers, task), seed=seed)
        for (config_id, task), items in sorted(groups.items())
        if task
    }
    if found:
        _merge(run, found, seed)
    return list(found.values())


def _compact(run: RunDir) -> None:
    """Write the tables of documents and responses from their logs, where these hold something new."""
    for name, rows in (("items", run.items()), ("responses", run.responses())):
        if not run.has(name) or run.read(name) != rows:
            run.write(name, rows, made_by="vaeval lm-eval or vaeval generate")


def _item_scores(response: Response, task: str, log: ScoreLog, scorers: Scorers) -> ItemScores:
    values: dict[str, float | None] = {}
    for metric in response_metrics():
        score = log.get(response.response_id, metric.key, metric.signature(scorers, task))
        values[metric.key] = score.value if score is not None else None
    return ItemScores(values=values, failed=response.status.failed)


def _merge(run: RunDir, found: Mapping[tuple[str, str], TaskScores], seed: int) -> None:
    results = read_results(run)
    about = run.manifest()["about"]
    configs = dict(results.configs)
    for (config_id, task), scores in found.items():
        result = TaskResult(scores=scores, data_revision=about.get("data", {}).get(task), seed=seed)
        before = configs.get(config_id, ConfigResults())
        configs[config_id] = ConfigResults(
            tasks={**before.tasks, task: result}, model_config=about.get("configs", {}).get(config_id)
        )
    made = replace(
        results, configs=configs, software=f"vaeval {__version__}", methodology=METHODOLOGY, made=now()
    ).to_json()
    text = json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_text(run.root / FILE, text + "\n")


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
