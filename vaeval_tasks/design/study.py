"""Design the pairs of a run: from its prompts and responses to ``pairs.parquet``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vaeval_tasks.design.checks import Checks, check_pairs, repeat_pairs, training_pairs
from vaeval_tasks.design.copies import make_copies
from vaeval_tasks.design.expect import gold_from_file
from vaeval_tasks.design.plan import GENERATOR, DesignSettings, added_wave, first_wave
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.store.answers import study_answers
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import CHECK_PREFIX, Pair, PairKind, Prompt, Response

__all__ = ["Request", "design_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What ``vaeval pair`` was asked for, beside the settings."""

    configs: tuple[str, ...] = ()
    """Configurations to compare; empty for all that have responses."""
    add: bool = False
    """Whether to add a wave for configurations that joined since the design was frozen."""
    exclude_unanswered: bool = False
    """Whether prompts that some configuration gave no audio for are left out, for all of them."""
    gold: Path | None = None
    """A file of gold pairs."""


def design_run(run: RunDir, settings: DesignSettings, request: Request) -> list[Pair]:
    """Design the first wave, or a further one, and write ``pairs.parquet``.

    Pairs that are there stay as they are, first in the file.

    Returns:
        All pairs of the design.

    Raises:
        InputError: the run has no prompts or configurations, a response has no audio, or the design is frozen
            and no wave is to be added.
    """
    if not run.has("prompts"):
        raise InputError("there are no prompts yet; run: vaeval prompts import MANIFEST RUN", path=run.root)
    frozen = _frozen(run, request)
    responses = study_answers(run.responses())
    configs = request.configs or tuple(sorted({c for _, c in responses if not c.startswith(CHECK_PREFIX)}))
    prompts = _answered(run, run.read("prompts"), configs, responses, request, frozen)
    heard = bool(responses)
    if frozen:
        main = added_wave(frozen, prompts, configs, settings)
        training = Checks(pairs=())
    else:
        main = first_wave(prompts, configs, settings)
        training = training_pairs(prompts, configs, settings, gold=heard)
    old = {name for pair in frozen for name in (pair.a, pair.b)}
    checks = check_pairs(main, prompts, set(configs) - old, settings, gold=heard)
    gold: list[Pair] = []
    if request.gold:
        by_id = {p.prompt_id: p for p in prompts}
        gold = gold_from_file(
            request.gold, by_id, frozenset(configs), slots=settings.raters_per_pair, wave=main[0].wave
        )
    make_copies(run, (*training.copies, *checks.copies), responses)
    pairs = [*frozen, *training.pairs, *main, *repeat_pairs(main, settings), *checks.pairs, *gold]
    _write(run, pairs, main, settings)
    return pairs


def _frozen(run: RunDir, request: Request) -> list[Pair]:
    frozen: list[Pair] = run.read("pairs") if run.has("pairs") else []
    if frozen and not request.add:
        raise InputError(
            "the design is frozen; use --add for configurations that joined later (or, before any rating is "
            "collected, delete the file to design it anew)",
            path=run.path("pairs"),
        )
    if request.add and not frozen:
        raise InputError("there is no design to add to yet; run vaeval pair without --add", path=run.root)
    return frozen


def _answered(
    run: RunDir,
    prompts: Sequence[Prompt],
    configs: Sequence[str],
    responses: dict[tuple[str, str], Response],
    request: Request,
    frozen: Sequence[Pair],
) -> list[Prompt]:
    """Return the prompts to use: those that every configuration answered with audio.

    A prompt is used for all configurations or for none: leaving it out for the one that failed would
    flatter that one. What can be heard is rated as it is, however bad.
    """
    if not configs:
        raise InputError(
            "there are no responses yet; run vaeval generate, or name the configurations with --config", path=run.root
        )
    if not responses:
        return list(prompts)
    known = {c for _, c in responses if not c.startswith(CHECK_PREFIX)}
    for config in configs:
        if config not in known:
            raise UnknownNameError("configuration", config, known, where="the responses")
    needed = {pair.prompt_id for pair in frozen if pair.kind is PairKind.main} or {p.prompt_id for p in prompts}
    silent = [
        (p.prompt_id, c)
        for p in prompts
        if p.prompt_id in needed
        for c in configs
        if (response := responses.get((p.prompt_id, c))) is None or response.sound(run.root) is None
    ]
    if silent and not request.exclude_unanswered:
        prompt_id, config = silent[0]
        raise InputError(
            f"{len(silent)} of {len(needed) * len(configs)} responses have no audio, the first of {config!r} to "
            f"{prompt_id!r}. Run vaeval generate again, or leave these prompts out for every configuration with "
            "--exclude-unanswered",
            path=run.root,
        )
    out = {prompt_id for prompt_id, _ in silent}
    return [p for p in prompts if p.prompt_id in needed and p.prompt_id not in out]


def _write(run: RunDir, pairs: list[Pair], main: list[Pair], settings: DesignSettings) -> None:
    waves = run.manifest()["tables"].get("pairs", {}).get("waves", []) if main[0].wave > 1 else []
    configs = sorted({name for pair in main for name in (pair.a, pair.b)})
    made = {"wave": main[0].wave, "generator": GENERATOR, **asdict(settings), "configs": configs}
    run.write("pairs", pairs, made_by="vaeval pair", inputs=["prompts"], waves=[*waves, made])
