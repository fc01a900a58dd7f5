"""``results.json`` of a run folder: the task, family and overall scores of each configuration, and what made them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vaeval_tasks import __version__
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import write_text
from vaeval_tasks.scoring import combine
from vaeval_tasks.scoring.combine import Estimate, ItemScores, TaskScores
from vaeval_tasks.scoring.scores import ScoreTable, jobs, metric_signatures, score_jobs, signatures
from vaeval_tasks.scoring.suite import FAMILIES, TASKS
from vaeval_tasks.store.run import RunDir, now
from vaeval_tasks.store.schema import CHECK_PREFIX, Response, ResponseStatus

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["RESULTS_VERSION", "changed_scorers", "latest", "read_results", "score_run", "table"]

RESULTS_VERSION = 1
METHODOLOGY = "VoiceAssistant-Eval, arXiv 2509.22651v1, as vaeval reads it (1)"
FILE = "results.json"


def latest(responses: Iterable[Response]) -> list[Response]:
    """Return the newest response of each configuration to each document, in a fixed order.

    The worse copies that a study plays as checks are no configuration's answers and are left out.
    """
    found: dict[tuple[str, str, str], Response] = {}
    for response in sorted(responses, key=lambda r: (r.created, r.response_id)):
        if response.config_id.startswith(CHECK_PREFIX):
            continue
        found[response.config_id, response.task, response.prompt_id] = response
    return [found[key] for key in sorted(found)]


def score_run(run: RunDir, responses: Sequence[Response], scorers: Scorers, *, seed: int = 0) -> list[TaskScores]:
    """Score responses and write their task scores into ``results.json``, beside those of other tasks.

    Args:
        run: the run folder.
        responses: which of its responses; see :func:`latest`.
        scorers: the backends.
        seed: of the bootstrap.

    Returns:
        The task scores, by configuration and task.

    Raises:
        ServiceError: the judge cannot be reached; the scores made until then are kept.
    """
    _compact(run)
    rows = ScoreTable(run)
    work = jobs(responses, run.items())
    score_jobs(work, rows, scorers)
    groups: dict[tuple[str, str], list[ItemScores]] = {}
    for job in work:
        members = groups.setdefault((job.response.config_id, job.item.task), [])
        if job.response.status is not ResponseStatus.unsupported:
            members.append(_item_scores(job.response, job.item.task, rows, scorers))
    out = []
    for (config_id, task), items in sorted(groups.items()):
        if not task:
            continue
        found = combine.combine(task, items, signatures=signatures(scorers, task), seed=seed)
        _merge(run, config_id, found, seed)
        out.append(found)
    return out


def _compact(run: RunDir) -> None:
    """Write the tables of documents and responses from their logs, where these hold something new."""
    for name, rows in (("items", run.items()), ("responses", run.responses())):
        if not run.has(name) or run.read(name) != rows:
            run.write(name, rows, made_by="vaeval lm-eval or vaeval generate")


def _item_scores(response: Response, task: str, rows: ScoreTable, scorers: Scorers) -> ItemScores:
    values: dict[str, float | None] = {}
    for metric, signature in metric_signatures(scorers, task).items():
        score = rows.get(response.response_id, metric, signature)
        values[metric] = score.value if score is not None else None
    return ItemScores(
        content=values.get("content"),
        audible=bool(values["audible"]),
        mos=values.get("mos"),
        wer=values.get("wer"),
        similarity=values.get("similarity"),
        failed=response.status in (ResponseStatus.error, ResponseStatus.timeout),
    )


def read_results(run: RunDir) -> dict[str, Any]:
    """Return ``results.json``, or an empty one.

    Raises:
        InputError: the file is not JSON, or of a newer version.
    """
    path = run.root / FILE
    if not path.is_file():
        return {"version": RESULTS_VERSION, "configs": {}}
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"cannot be read as JSON ({error})", path=path) from None
    if results.get("version", 0) > RESULTS_VERSION:
        raise InputError("was written by a newer vaeval; upgrade this one", path=path)
    return results


def _merge(run: RunDir, config_id: str, scores: TaskScores, seed: int) -> None:
    results = read_results(run)
    about = run.manifest()["about"]
    config = results["configs"].setdefault(config_id, {"tasks": {}})
    config["model_config"] = about.get("configs", {}).get(config_id)
    config["tasks"][scores.task] = {
        **asdict(scores),
        "data_revision": about.get("data", {}).get(scores.task),
        "seed": seed,
    }
    config["groups"] = {name: asdict(g) for name, g in combine.group_scores(_tasks(config)).items()}
    results |= {"software": f"vaeval {__version__}", "methodology": METHODOLOGY, "made": now()}
    text = json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_text(run.root / FILE, text + "\n")


def _tasks(config: Mapping[str, Any]) -> dict[str, TaskScores]:
    """The task scores of one configuration, read back from ``results.json``."""
    out = {}
    for task, entry in config["tasks"].items():
        values = {key: value for key, value in entry.items() if key not in ("data_revision", "seed")}
        for name in ("content", "speech", "consistency", "similarity", "unrounded"):
            values[name] = Estimate(**values[name]) if values[name] is not None else None
        out[task] = TaskScores(**values)
    return out


def changed_scorers(results: Mapping[str, Any], made: Sequence[TaskScores]) -> list[str]:
    """Return a sentence for each factor that earlier results of the same tasks had from other scorers."""
    found = set()
    for scores in made:
        for config in results["configs"].values():
            before = config["tasks"].get(scores.task, {}).get("signatures", {})
            found |= {
                f"{name} was scored by {before[name]}, now by {signature}: the numbers do not compare"
                for name, signature in scores.signatures.items()
                if name in before and before[name] != signature
            }
    return sorted(found)


_COLUMNS = ("content", "speech", "consistency", "similarity")
_WIDTH = 17
_HEAD = (
    f"{'':32}"
    + "".join(f"{name:>{_WIDTH}}" for name in _COLUMNS)
    + f"{'score':>7}{'95 % interval':>{_WIDTH}}{'n':>6}{'missing':>9}{'unjudged':>10}"
)


def table(results: Mapping[str, Any]) -> str:
    """Return the scores as text: for each configuration 13 task rows, three family rows and one overall."""
    blocks = []
    for config_id, config in results["configs"].items():
        groups = config["groups"]
        lines = [config_id, _HEAD]
        for name, members in FAMILIES.items():
            lines += [_task_row(task, config["tasks"].get(task)) for task in members]
            lines.append(_group_row(name, groups[name]))
        lines.append(_group_row("overall", groups["overall"]))
        lines += _notes(config)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _cell(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return "-".rjust(_WIDTH)
    return f"{estimate['value']:.1f} [{estimate['low']:.0f}, {estimate['high']:.0f}]".rjust(_WIDTH)


def _span(entry: Mapping[str, Any] | None) -> str:
    if entry is None or entry["low"] is None:
        return " " * _WIDTH
    return f"[{entry['low']:.1f}, {entry['high']:.1f}]".rjust(_WIDTH)


def _task_row(task: str, entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return f"  {task:30}{'not run':>{_WIDTH}}"
    cells = "".join(_cell(entry[name]) for name in _COLUMNS)
    counts = f"{entry['n']:>6}{entry['missing']:>9}{entry['unjudged']:>10}"
    return f"  {task:30}{cells}{_number(entry['score']):>7}{_span(entry['unrounded'])}{counts}"


def _group_row(name: str, group: Mapping[str, Any]) -> str:
    gap = " " * _WIDTH * len(_COLUMNS)
    return f"{name:32}{gap}{_number(group['value'], 2):>7}{_span(group)}".rstrip()


def _notes(config: Mapping[str, Any]) -> list[str]:
    """Why a score is absent, what failed, and what the numbers were scored with."""
    tasks = {task: config["tasks"][task] for task in TASKS if task in config["tasks"]}
    lines = [f"no score for {task}: {entry['reason']}" for task, entry in tasks.items() if entry["reason"]]
    for task, entry in tasks.items():
        lines += [f"{task}: {entry[k]} answers {k}" for k in ("failed", "unscored") if entry[k]]
    used = sorted({f"{name}: {sig}" for e in tasks.values() for name, sig in e["signatures"].items()})
    return lines + [f"scored with {line}" for line in used]
