"""One side of a comparison: what a configuration of a scored run answered, and what each answer scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.scoring.estimates import ItemScores, factor_columns
from vaeval_tasks.scoring.metric import AUDIBLE
from vaeval_tasks.scoring.registry import factors, response_metrics
from vaeval_tasks.scoring.results import ConfigResults, RunResults, TaskResult, read_results
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus, Score

__all__ = ["Key", "RunSide", "ScoredAnswer", "item_columns", "named_apart", "read_sides"]

Key = tuple[str, str]
"""A document: its task and its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAnswer:
    """One answer and its scores."""

    response: Response
    item: Item
    scores: ItemScores
    details: Mapping[str, str]
    """What each metric told of it, by metric."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunSide:
    """One configuration of one run."""

    run: RunDir
    config: str
    label: str
    results: ConfigResults
    methodology: str
    answers: Mapping[Key, ScoredAnswer]
    """The newest answer to each document; without those that the model does not take."""
    repeated: int
    """Documents that were answered more than once."""

    @property
    def tasks(self) -> Mapping[str, TaskResult]:
        """The scored tasks."""
        return self.results.tasks


def read_sides(run: RunDir, config: str | None = None) -> list[RunSide]:
    """Return the scored configurations of a run, or the one that is asked for.

    Raises:
        InputError: the folder is no run of the harness's tasks, is not scored, or its scores are damaged.
        UnknownNameError: there is no such configuration.
    """
    responses = run.responses()
    if not responses:
        raise InputError("holds no answers; name a folder that vaeval lm-eval or vaeval score worked on", path=run.root)
    if not any(response.task for response in responses):
        said = "holds a study's answers, which have no task scores; what people say of them: vaeval rank"
        raise InputError(said, path=run.root)
    results = read_results(run)
    if not any(entry.tasks for entry in results.configs.values()):
        raise InputError(f"is not scored yet; run: vaeval score {run.root}", path=run.root)
    if config is not None and config not in results.configs:
        raise UnknownNameError("configuration", config, results.configs, where=str(run.root))
    items = {(item.task, item.item_id): item for item in run.items()}
    scores: dict[str, list[Score]] = {}
    for score in run.scores():
        scores.setdefault(score.response_id, []).append(score)
    wanted = [config] if config is not None else [name for name, entry in results.configs.items() if entry.tasks]
    return [_side(run, name, results, responses, items, scores) for name in wanted]


def _side(
    run: RunDir,
    config: str,
    results: RunResults,
    responses: Sequence[Response],
    items: Mapping[Key, Item],
    scores: Mapping[str, Sequence[Score]],
) -> RunSide:
    own = [r for r in responses if r.config_id == config and r.task]
    entry = results.configs[config]
    answers: dict[Key, ScoredAnswer] = {}
    for response in latest(own):
        key = (response.task, response.prompt_id)
        if response.status is ResponseStatus.unsupported or response.task not in entry.tasks:
            continue
        item = items.get(key, Item(item_id=response.prompt_id, task=response.task))
        signatures = entry.tasks[response.task].scores.signatures
        answers[key] = _answer(response, item, scores.get(response.response_id, ()), signatures)
    if answers and not any(answer.scores.values for answer in answers.values()):
        said = f"results.json speaks of scores of {config!r} that are not in the folder; run: vaeval score {run.root}"
        raise InputError(said, path=run.root)
    counts = Counter((r.task, r.prompt_id) for r in own)
    return RunSide(
        run=run,
        config=config,
        label=config,
        results=entry,
        methodology=results.methodology,
        answers=answers,
        repeated=sum(n > 1 for n in counts.values()),
    )


def _answer(response: Response, item: Item, scores: Sequence[Score], signatures: Mapping[str, str]) -> ScoredAnswer:
    """Pick the scores that the results were made of: those of their signatures."""
    values: dict[str, float | None] = {}
    details: dict[str, str] = {}
    for metric in response_metrics():
        found = [score for score in scores if score.metric == metric.key]
        if metric.factor is not None:
            found = _signed(found, signatures.get(metric.factor.name, ""), signatures.get("emotion", ""))
        if found:
            values[metric.key], details[metric.key] = found[-1].value, found[-1].detail
    if values and AUDIBLE not in values:
        values[AUDIBLE] = float(values.get("mos") is not None)
    return ScoredAnswer(
        response=response, item=item, scores=ItemScores(values=values, failed=response.status.failed), details=details
    )


def _signed(scores: Sequence[Score], signature: str, emotion: str) -> list[Score]:
    """The scores of a signature. A verdict on empathy is signed with that of the emotions, too."""
    if exact := [score for score in scores if score.signature == signature]:
        return exact
    longer = [score for score in scores if signature and score.signature.startswith(f"{signature}|")]
    return [score for score in longer if score.signature == f"{signature}|{emotion}"] or longer


def item_columns(task: str, answers: Sequence[ScoredAnswer]) -> dict[str, NDArray[np.float64]]:
    """Return every factor of every answer on its scale to 100, as the task's scores are made of it; NaN for none."""
    nothing = np.full(len(answers), np.nan)
    found = factor_columns(task, [answer.scores for answer in answers])
    return dict.fromkeys(factors(task), nothing) | {name: factor.column for name, factor in found.items()}


def named_apart(sides: Sequence[RunSide]) -> list[str]:
    """Return a name for each side: the shortest of configuration, folder and both that tells all apart."""
    configs = [side.config for side in sides]
    folders = [side.run.root.resolve().name for side in sides]
    both = [f"{folder}@{config}" for folder, config in zip(folders, configs, strict=True)]
    paths = [f"{side.run.root}@{side.config}" for side in sides]
    for names in (configs, folders, both, paths):
        if len(set(names)) == len(names):
            return names
    return [f"{path} ({i})" for i, path in enumerate(paths, 1)]
