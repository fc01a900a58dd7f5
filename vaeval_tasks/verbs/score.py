"""``score``: score a run's responses again, without the model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.metrics import profiles
from vaeval_tasks.metrics.guest_scorers import ROLES
from vaeval_tasks.progress import progress_shown
from vaeval_tasks.scoring.combine import MIN_JUDGED, check_min_judged
from vaeval_tasks.scoring.forecast import MetricForecast, forecast_scores
from vaeval_tasks.scoring.readiness import check_due
from vaeval_tasks.scoring.results import RunResults, changed_scorers, read_results, score_run, thin_coverage
from vaeval_tasks.scoring.scores import scoring_jobs
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.verbs.options import pairs_of
from vaeval_tasks.verbs.source import run_folder

__all__ = ["ScoredRun", "score"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScoredRun(ShownResult):
    """The scores of a run; those of every response are in the run folder."""

    results: RunResults
    changes: tuple[str, ...]
    """What to mind: factors that earlier results had from other scorers, tasks of which many items do not count."""
    forecast: tuple[MetricForecast, ...] = ()
    """Of a dry run: what each metric has still to score; the results are then those of before."""

    def tables(self) -> list[Table]:
        """Return the tasks, families and the whole of every configuration as a table; of a dry run, what is to do."""
        if self.forecast:
            return [
                Table(
                    name="forecast",
                    title="Scores still to make; tokens are those of the requests, estimated",
                    columns=tuple(MetricForecast.__dataclass_fields__),
                    rows=tuple(asdict(row) for row in self.forecast),
                    digits={},
                )
            ]
        return [
            Table(
                name="results",
                title=f"Scores, 0 to 100, with 95 % intervals ({self.results.methodology or 'no task was scored'})",
                columns=("config", "task", "score", "low", "high", "n", "missing", "unjudged", "coverage", "reason"),
                rows=tuple(self._rows()),
                digits={"score": 2, "low": 1, "high": 1, "coverage": 3},
                notes=self.changes,
            )
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``vaeval score --json`` prints."""
        if self.forecast:
            return {"forecast": [asdict(row) for row in self.forecast]}
        return self.results.to_json()

    def parts(self) -> dict[str, list[Mapping[str, Any]]]:
        """Return every task, family and the whole of every configuration as a row."""
        return {"rows": self._rows()}

    def _rows(self) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = []
        for config, found in self.results.configs.items():
            for task, result in found.tasks.items():
                scores, whole_score = result.scores, result.scores.unrounded
                rows.append(
                    {
                        "config": config,
                        "task": task,
                        "score": scores.score,
                        "low": whole_score.low if whole_score else None,
                        "high": whole_score.high if whole_score else None,
                        "n": scores.n,
                        "missing": scores.missing,
                        "unjudged": scores.unjudged,
                        "coverage": scores.coverage,
                        "reason": scores.reason,
                    }
                )
            for name, group in found.groups.items():
                row = {"score": group.value, "low": group.low, "high": group.high, "reason": group.reason}
                row["coverage"] = group.coverage
                rows.append({"config": config, "task": name, **row})
        return rows


def score(
    run: str | os.PathLike[str] | RunDir,
    *,
    profile: str = "reference",
    scorer: Mapping[str, str] | None = None,
    judge_url: str | None = None,
    judge_model: str | None = None,
    judge_prompts: str | os.PathLike[str] | None = None,
    judge_max_tokens: int | str | None = None,
    judge_temperature: float | str | None = None,
    judge_reasoning_effort: str | None = None,
    judge_timeout: float | str | None = None,
    judge_concurrency: int | str | None = None,
    judge_extra_body: Mapping[str, Any] | str | None = None,
    judge_structured: bool | str | None = None,
    utmos_path: str | os.PathLike[str] | None = None,
    asr_model: str | os.PathLike[str] | None = None,
    speaker_path: str | os.PathLike[str] | None = None,
    emotion_path: str | os.PathLike[str] | None = None,
    device: str | None = None,
    min_judged: float = MIN_JUDGED,
    retry_unjudged: bool = False,
    dry_run: bool = False,
    progress: bool = True,
) -> ScoredRun:
    """Score the responses of a run again, without the model, as ``vaeval score`` does.

    What was scored by the same scorers is not scored again. Before the first score, every scorer that has something to
    do is loaded, and the judge is asked one test question.

    Example::

        vaeval.score("run", profile="offline").to_pandas()

    Args:
        run: the run folder.
        profile: ``reference`` or ``offline``.
        scorer: scorers of your own by role: ``{"speech": "package.module:Class"}``.
        judge_url: an OpenAI-compatible endpoint.
        judge_model: the judge's name there.
        judge_prompts: a folder with another set of judge prompts.
        judge_max_tokens: of the judge's thinking and verdict together (8192); ``none`` sets no limit.
        judge_temperature: 0 by default; ``none`` sends none.
        judge_reasoning_effort: in the words of the judge's provider, such as ``low``.
        judge_timeout: seconds for one request (180).
        judge_concurrency: requests at once (8).
        judge_extra_body: further fields of each request, a mapping or a JSON object.
        judge_structured: ask for the verdict as JSON, by a schema where the endpoint takes one.
        utmos_path: UTMOS22 weights.
        asr_model: the recogniser, by name or path.
        speaker_path: speaker encoder weights.
        emotion_path: emotion recogniser weights.
        device: where scorers run, such as ``cpu`` or ``cuda:0``.
        min_judged: the share of a task's items, 0 to 1, that must have a verdict and scores, or it has no score.
        retry_unjudged: ask once more for verdicts that the judge could not give.
        dry_run: ask nothing and write nothing; ``forecast`` of what is returned says what there is to do.
        progress: show bars on a terminal or in a notebook.

    Raises:
        InputError: there are no responses, or an option does not go with the profile.
        UnknownNameError: there is no such profile, role or scorer.
        MissingWeightsError: a scorer's weights are absent.
        ServiceError: the judge cannot be reached, or refuses us; the scores made until then are kept.
        RunBusyError: another process scores this run.
    """
    folder, floor = run_folder(run), check_min_judged(min_judged)
    own = {str(role): str(name) for role, name in pairs_of("scorer", scorer)}
    for role in own:
        if role not in ROLES:
            raise UnknownNameError("role", role, ROLES, where="scorer")
    given = {
        "judge_url": judge_url,
        "judge_model": judge_model,
        "judge_prompts": judge_prompts,
        "utmos_path": utmos_path,
        "asr_model": asr_model,
        "speaker_path": speaker_path,
        "emotion_path": emotion_path,
        "device": device,
    }
    request = {
        "judge_max_tokens": judge_max_tokens,
        "judge_temperature": judge_temperature,
        "judge_reasoning_effort": judge_reasoning_effort,
        "judge_timeout": judge_timeout,
        "judge_concurrency": judge_concurrency,
        "judge_extra_body": judge_extra_body,
        "judge_structured": judge_structured,
    }
    named: dict[str, Any] = {name: os.fspath(value) for name, value in given.items() if value is not None}
    named |= {name: value for name, value in request.items() if value is not None}
    held = nullcontext() if dry_run else writing(folder.root, Writer.score)
    with progress_shown(progress), held:
        responses = latest(folder.responses())
        if not responses:
            said = "there are no responses; make some with vaeval lm-eval or vaeval generate"
            raise InputError(said, path=folder.root)
        before = read_results(folder)
        try:
            scorers = profiles.load_scorers(profile, **named, **own)
        except InputError as error:
            if judge_url or "judge" in own:
                raise
            raise InputError(f"{error}; give --judge-url URL, or --profile offline") from None
        work = scoring_jobs(responses, folder.items())
        if dry_run:
            rows = forecast_scores(folder, work, scorers, retry_unjudged=retry_unjudged)
            return ScoredRun(results=before, changes=(), forecast=tuple(rows))
        check_due(folder, work, scorers, retry_unjudged=retry_unjudged)
        made = score_run(folder, responses, scorers, min_judged=floor, retry_unjudged=retry_unjudged)
        return ScoredRun(results=read_results(folder), changes=(*changed_scorers(before, made), *thin_coverage(made)))
