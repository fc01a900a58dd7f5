"""``generate``: ask models for responses."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.asking.asking_progress import AskingOutcome
from vaeval_tasks.asking.pending import Share, make_plan, parse_sessions, settle_configs
from vaeval_tasks.asking.runner import generate_study, stopped_error
from vaeval_tasks.models.configs import select, unique
from vaeval_tasks.scoring.latency import LatencySummary, latency_summary, paces_of
from vaeval_tasks.stats.quantiles import QuantileEstimate
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, Response
from vaeval_tasks.verbs.options import whole
from vaeval_tasks.verbs.source import run_folder

__all__ = ["AskedStudy", "AskingForecast", "generate"]

Configs = str | os.PathLike[str] | ModelConfig | Iterable[str | os.PathLike[str] | ModelConfig]
Sessions = int | str | Mapping[str, int] | Iterable[str]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AskedStudy(ShownResult):
    """What became of the requests; the responses are in the run folder."""

    run: RunDir
    statuses: Mapping[str, int]
    """Responses of this call by status; ``retried`` counts attempts that another followed."""
    stopped: Mapping[str, str]
    """Configurations that could not go on (a key or a model was refused, nobody was there), and why."""
    left: int
    """Responses that are still to come."""
    latency: Mapping[str, LatencySummary]
    """Of each configuration that was asked for, over all its answers in the run folder."""
    paces: Mapping[str, tuple[str, ...]]
    """How its speech was sent (``SpeechPace``)."""
    outcome: AskingOutcome

    def raise_for_stopped(self) -> None:
        """Raise where a configuration could not go on; what was answered is kept.

        Raises:
            ServiceError: one was stopped; the message says why.
        """
        if self.outcome.stopped:
            raise stopped_error(self.outcome)

    def tables(self) -> list[Table]:
        """Return the counts by status."""
        return [
            Table(
                name="responses",
                title=f"{self.run.root}: {self.left} responses are still to come",
                columns=("status", "responses"),
                rows=tuple(self._counts()),
                digits={},
                notes=tuple(f"stopped: {name}: {why}" for name, why in self.stopped.items()),
            ),
            *self.latency_tables(),
        ]

    def latency_tables(self) -> list[Table]:
        """Return the median and the 90 % quantile of the times by configuration; no table where none was recorded."""
        rows = self._latency_rows()
        if not rows:
            return []
        times = [found for summary in self.latency.values() for found in _quantiles(summary).values()]
        return [
            Table(
                name="latency",
                title="Seconds from the end of the user's speech to the first audio and to the end, all answers so far",
                columns=tuple(rows[0]),
                rows=tuple(rows),
                digits=dict.fromkeys(_quantiles({}), 2),
                notes=tuple(dict.fromkeys(one.reason for one in times if one and one.value is None and one.reason)),
            )
        ]

    def _latency_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "configuration": name,
                "speech sent": ", ".join(self.paces[name]) or None,
                **{column: one and one.value for column, one in _quantiles(summary).items()},
                "answers": max(quantiles["p50"].n for quantiles in summary.values()),
            }
            for name, summary in self.latency.items()
            if summary
        ]

    def to_json(self) -> dict[str, Any]:
        """Return counts and reasons as plain values."""
        counts = {"rows": self._counts(), "stopped": dict(self.stopped), "left": self.left}
        return {**counts, "latency": self._latency_rows()}

    def _counts(self) -> list[dict[str, Any]]:
        return [{"status": status, "responses": n} for status, n in sorted(self.statuses.items())]


def _quantiles(summary: LatencySummary) -> dict[str, QuantileEstimate | None]:
    """Return what the table shows of a configuration's times, by column."""
    shown = {"first": "first_audio_s", "end": "total_s"}
    return {f"{name} {q}": summary.get(key, {}).get(q) for name, key in shown.items() for q in ("p50", "p90")}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AskingForecast(ShownResult):
    """What is still to be asked, provider by provider."""

    shares: tuple[Share, ...]

    def tables(self) -> list[Table]:
        """Return the shares as a table."""
        return [
            Table(
                name="forecast",
                title="Requests still to come; minutes of prompt audio",
                columns=tuple(Share.__dataclass_fields__),
                rows=tuple(asdict(share) for share in self.shares),
                digits={"minutes": 1},
            )
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the shares as plain values."""
        return {"rows": [asdict(share) for share in self.shares]}


@overload
def generate(
    run: str | os.PathLike[str] | RunDir,
    *,
    configs: Configs = ...,
    sessions: Sessions | None = ...,
    processes: int = ...,
    limit: int | None = ...,
    retry_failed: bool = ...,
    seed: int = ...,
    dry_run: Literal[False] = ...,
    progress: bool = ...,
) -> AskedStudy: ...
@overload
def generate(
    run: str | os.PathLike[str] | RunDir,
    *,
    configs: Configs = ...,
    sessions: Sessions | None = ...,
    processes: int = ...,
    limit: int | None = ...,
    retry_failed: bool = ...,
    seed: int = ...,
    dry_run: Literal[True],
    progress: bool = ...,
) -> AskingForecast: ...
def generate(
    run: str | os.PathLike[str] | RunDir,
    *,
    configs: Configs = (),
    sessions: Sessions | None = None,
    processes: int = 1,
    limit: int | None = None,
    retry_failed: bool = False,
    seed: int = 0,
    dry_run: bool = False,
    progress: bool = True,
) -> AskedStudy | AskingForecast:
    """Ask models for a response to every prompt of a run, as ``vaeval generate`` does; also within a notebook's loop.

    Keys come from the environment. A run that was stopped goes on where it was; nothing is paid for twice.

    Example::

        vaeval.generate("study", configs=["gpt-realtime-2.1/*", "mine.yaml"], limit=5).raise_for_stopped()

    Args:
        run: the run folder with its prompts.
        configs: a configuration's name, a pattern, ``all``, a YAML file or a ``ModelConfig``, or several; by default
            those the run has used before.
        sessions: requests at once, for every provider (8) or by provider (``{"openai_realtime": 8}``).
        processes: processes that share the sessions, up to 1024.
        limit: only the first so many prompts.
        retry_failed: ask again for responses that failed or timed out.
        seed: of local sampling.
        dry_run: ask nothing; return requests and audio minutes by provider.
        progress: show a bar on a terminal or in a notebook.

    Returns:
        The counts. A configuration that could not go on is in ``stopped``; ``raise_for_stopped()`` makes it an error.

    Raises:
        InputError: there are no prompts, a configuration differs from an earlier one of its name, a key is missing, or
            an option is wrong.
        UnknownNameError: there is no such configuration or provider.
        RunBusyError: another process asks for responses of this run.
    """
    folder = run_folder(run)
    named, limits = _configs(configs), parse_sessions(_sessions(sessions))
    wanted: dict[str, Any] = {
        "limits": limits,
        "limit": None if limit is None else whole("limit", limit, 1),
        "retry_failed": retry_failed,
        "seed": whole("seed", seed, 0),
    }
    number = whole("processes", processes, 1, 1024)
    if dry_run:
        return AskingForecast(shares=tuple(make_plan(folder, settle_configs(folder, named), **wanted).shares()))
    outcome = generate_study(folder, named, **wanted, processes=number, quiet=not progress)
    answers = _answers(folder, settle_configs(folder, named))
    return AskedStudy(
        run=folder,
        statuses=dict(outcome.statuses),
        stopped={name: str(error) for name, error in outcome.stopped.items()},
        left=outcome.left,
        latency={name: latency_summary((answer, "") for answer in given) for name, given in answers.items()},
        paces={name: tuple(paces_of(given)) for name, given in answers.items()},
        outcome=outcome,
    )


def _answers(run: RunDir, configs: Iterable[ModelConfig]) -> dict[str, list[Response]]:
    """Return the responses to prompts of some configurations."""
    found: dict[str, list[Response]] = {config.config_id: [] for config in configs}
    for response in run.responses():
        if response.config_id in found and not response.task:
            found[response.config_id].append(response)
    return found


def _configs(configs: Configs) -> list[ModelConfig]:
    several = [configs] if isinstance(configs, str | os.PathLike | ModelConfig) else list(configs)
    found = [[one] if isinstance(one, ModelConfig) else select([os.fspath(one)]) for one in several]
    return unique((config for part in found for config in part), "configs")


def _sessions(sessions: Sessions | None) -> list[str]:
    if sessions is None:
        return []
    if isinstance(sessions, Mapping):
        return [f"{name}={number}" for name, number in sessions.items()]
    return [str(sessions)] if isinstance(sessions, int | str) else [str(one) for one in sessions]
