"""What a run still has to ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.errors import InputError
from vaeval_tasks.models.configs import load_configs, write_configs
from vaeval_tasks.models.protocol import Turn, TurnRole
from vaeval_tasks.models.providers import provider
from vaeval_tasks.store.answers import study_answers
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, Prompt

__all__ = ["ALL_PROVIDERS", "AskingPlan", "Share", "keep_configs", "make_plan", "parse_sessions", "settle_configs"]

ALL_PROVIDERS = "*"
"""The key of a session limit that holds for every provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One provider's part of a plan."""

    provider: str
    configs: int
    requests: int
    minutes: float
    """Prompt audio to be sent."""
    done: int
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingPlan:
    """All responses that are still to come, and how many are there."""

    units: tuple[AskingUnit, ...]
    sessions: Mapping[str, int]
    """Requests at once per provider."""
    configs: tuple[ModelConfig, ...] = ()
    done: Mapping[str, int] = field(default_factory=dict)
    """Responses at hand per ``config_id``."""
    rank: int = 0
    """The number of this process."""

    def shares(self) -> list[Share]:
        """Return each provider's part, by name."""
        shares = []
        for name in sorted(self.sessions):
            units = [unit for unit in self.units if unit.config.provider == name]
            configs = [c for c in self.configs if c.provider == name]
            shares.append(
                Share(
                    provider=name,
                    configs=len(configs),
                    requests=len(units),
                    minutes=sum(unit.seconds for unit in units) / 60,
                    done=sum(self.done[c.config_id] for c in configs),
                    sessions=self.sessions[name],
                )
            )
        return shares

    def split(self, processes: int) -> list[AskingPlan]:
        """Return the plan in parts for so many processes, with the sessions divided among them.

        A provider of fewer sessions than there are processes is left to the first ones; a part may be empty.
        """
        parts = []
        for number in range(processes):
            units: list[AskingUnit] = []
            sessions = {}
            for name, total in self.sessions.items():
                among = min(processes, total)
                if number < among:
                    sessions[name] = total // among + (number < total % among)
                    units += [unit for unit in self.units if unit.config.provider == name][number::among]
            rank = self.rank * processes + number
            parts.append(replace(self, units=tuple(units), sessions=sessions, rank=rank))
        return parts


def parse_sessions(values: Iterable[str]) -> dict[str, int]:
    """Read session limits: ``8`` for every provider, or ``openai_realtime=8``.

    Raises:
        UnknownNameError: there is no such provider.
        PluginError: somebody else's cannot be imported.
        InputError: the number is not a whole number from 1.
    """
    limits: dict[str, int] = {}
    for value in values:
        name, _, number = value.rpartition("=")
        if name:
            provider(name, where="--sessions")
        if not number.isdecimal() or int(number) < 1:
            raise InputError(f"--sessions: expected a whole number from 1, got {value!r}")
        limits[name or ALL_PROVIDERS] = int(number)
    return limits


def _sessions(configs: Sequence[ModelConfig], limits: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in {c.provider for c in configs}:
        about = [c.connection for c in configs if c.provider == name]
        own = [connection["sessions"] for connection in about if "sessions" in connection]
        batches = [int(connection.get("batch_size", 1)) for connection in about]
        default = min(own) if own else max(provider(name).sessions, *batches)
        found[name] = limits.get(name, limits.get(ALL_PROVIDERS, default))
    return found


def settle_configs(run: RunDir, asked: Sequence[ModelConfig]) -> list[ModelConfig]:
    """Return the configurations to run: those asked for, else those of the run's ``configs.yaml``.

    What a run has once used stays as it is: answers of two settings must not share a name.

    Raises:
        InputError: none is named, or one differs from the one of the same name in ``configs.yaml``.
    """
    path = run.root / "configs.yaml"
    kept = {c.config_id: c for c in load_configs(path)} if path.is_file() else {}
    for config in asked:
        if kept.get(config.config_id, config) != config:
            raise InputError(
                f"{config.config_id!r} is not what this run used before; give it another name or start a new run",
                path=path,
            )
    chosen = list(asked) or list(kept.values())
    if not chosen:
        raise InputError("no configuration; name some with --config (see: vaeval configs list)")
    return chosen


def keep_configs(run: RunDir, configs: Sequence[ModelConfig]) -> None:
    """Add the configurations to the run's ``configs.yaml``."""
    path = run.root / "configs.yaml"
    kept = {c.config_id: c for c in load_configs(path)} if path.is_file() else {}
    merged = {**kept, **{c.config_id: c for c in configs}}
    if merged != kept:
        write_configs(path, merged.values())


def _prompts(run: RunDir, limit: int | None) -> list[Prompt]:
    prompts: list[Prompt] = run.read("prompts")
    if not prompts:
        raise InputError("there are no prompts; make some with: vaeval prompts", path=run.path("prompts"))
    counts: Counter[Any] = Counter(p.prompt_id for p in prompts)
    if twice := [key for key, n in counts.items() if n > 1]:
        raise InputError(f"prompt {twice[0]!r} is there twice", path=run.path("prompts"), field="prompt_id")
    return sorted(prompts, key=lambda p: p.prompt_id)[:limit]


def make_plan(
    run: RunDir,
    configs: Sequence[ModelConfig],
    *,
    limits: Mapping[str, int] | None = None,
    limit: int | None = None,
    retry_failed: bool = False,
    seed: int = 0,
    rank: int = 0,
    world: int = 1,
) -> AskingPlan:
    """Find what a study still has to ask.

    Args:
        run: the run folder with its prompts.
        configs: the configurations.
        limits: sessions at once per provider, see :func:`parse_sessions`.
        limit: only the first so many prompts.
        retry_failed: ask again for responses that timed out or failed; an empty or degenerate answer is an answer.
        seed: of local sampling.
        rank: the number of this process.
        world: how many processes share the work.

    Raises:
        InputError: there are no prompts.
    """
    prompts = _prompts(run, limit)
    known = study_answers(run.responses())
    failed = {(r.prompt_id, r.config_id): r.attempts for r in run.failed_attempts()}
    units, done = [], dict.fromkeys((c.config_id for c in configs), 0)
    grid = [(prompt, config) for prompt in prompts for config in configs]
    for number, (prompt, config) in enumerate(grid):
        key = (prompt.prompt_id, config.config_id)
        before = known.get(key)
        if before is not None and not (retry_failed and before.status.failed):
            done[config.config_id] += 1
        elif number % world == rank:  # a share of the whole: another process may have answered since it looked
            attempts = max(failed.get(key, 0), before.attempts if before is not None else 0)
            units.append(_unit(run, prompt, config, seed=seed, attempts=attempts))
    return AskingPlan(
        units=tuple(units),
        configs=tuple(configs),
        done=done,
        sessions=_sessions(configs, limits or {}),
        rank=rank,
    )


def _unit(run: RunDir, prompt: Prompt, config: ModelConfig, *, seed: int, attempts: int) -> AskingUnit:
    path = run.root / prompt.path
    return AskingUnit(
        response_id=f"{config.config_id}/{prompt.prompt_id}",
        prompt_id=prompt.prompt_id,
        config=config,
        turns=(Turn(role=TurnRole.user, audio=(path,)),),
        seeds=(seed,),
        attempts=attempts,
        sha256={path: prompt.sha256},
        seconds=prompt.seconds,
    )
