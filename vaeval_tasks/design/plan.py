"""The pairs of a study: prompts in order of their strata, configurations relabelled a block, sides balanced.

Everything is a function of the prompts, the configurations and the seed. Random orders come from SHA-256,
so that a design can be made again on any machine and with any version of the libraries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vaeval_tasks.design import factors
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.store.schema import Condition, Pair, PairKind, Prompt

__all__ = ["GENERATOR", "DesignSettings", "added_wave", "first_wave", "in_strata_order", "shuffled", "stratum"]

GENERATOR = "cyclic-near-factors/1"
"""Name and version of the algorithm; kept with every design, and raised when the same seed gives another design."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignSettings:
    """What a design is made with, beside prompts and configurations."""

    seed: int = 0
    raters_per_pair: int = 2
    """Slots of a pair; each next slot shows the mirror image."""
    repeat_share: float = 0.03
    """Share of the pairs that the same rater gets again, sides swapped."""
    check_every: int = 12
    """One trap or gold pair for that many main pairs; 0 for none."""
    training: int = 5
    """Practice pairs at the start, the same for every rater, never analysed."""

    def __post_init__(self) -> None:
        if self.raters_per_pair < 1:
            raise InputError(f"raters per pair must be 1 or more, got {self.raters_per_pair}")
        if not 0 <= self.repeat_share <= 1:
            raise InputError(f"the share of repeats must be between 0 and 1, got {self.repeat_share}")
        if self.check_every < 0 or self.training < 0:
            raise InputError("the rate of check pairs and the number of training pairs cannot be negative")


def shuffled(names: Iterable[str], *key: object) -> list[str]:
    """Return the names in a random order that depends on nothing but the names and the key."""
    salt = "/".join(map(str, key))
    return sorted(names, key=lambda name: (sha256_bytes(f"{salt}/{name}".encode()), name))


def stratum(prompt: Prompt) -> str:
    """Return ``category/level/condition`` of a prompt."""
    return f"{prompt.category}/{prompt.difficulty or '-'}/{prompt.condition}"


def in_strata_order(prompts: Iterable[Prompt]) -> list[Prompt]:
    """Return the prompts by degraded or not, category, level, condition and id.

    Neighbours in this order get different pairs, so that every stratum, being a run of neighbours, gets
    every pair about equally often. The degraded set is a stratum of its own and comes last.
    """
    return sorted(
        prompts,
        key=lambda p: (p.condition is not Condition.clean, p.category, p.difficulty, p.condition, p.prompt_id),
    )


def first_wave(prompts: Sequence[Prompt], configs: Iterable[str], settings: DesignSettings) -> list[Pair]:
    """Return the main pairs of a new study: every configuration on every prompt.

    Raises:
        InputError: fewer than two configurations, no prompt, or a name twice.
    """
    names = _distinct("configuration", configs)
    block = factors.period(len(names))
    rows: list[tuple[Prompt, str, str]] = []
    for t, prompt in enumerate(_ordered(prompts)):
        if t % block == 0:
            labels = shuffled(names, settings.seed, "block", t // block)
        rows.extend((prompt, labels[i], labels[j]) for i, j in factors.prompt_pairs(len(names), t))
    return _paired(rows, names, wave=1, slots=settings.raters_per_pair)


def added_wave(
    existing: Sequence[Pair], prompts: Sequence[Prompt], configs: Iterable[str], settings: DesignSettings
) -> list[Pair]:
    """Return the main pairs of a further wave: the configurations that joined, once on every prompt of the study.

    Args:
        existing: the pairs of the design so far; they stay as they are.
        prompts: the prompts of the run; those without a pair in ``existing`` are not used.
        configs: all configurations, old and new.
        settings: seed and raters per pair.

    Raises:
        InputError: no configuration is new.
    """
    main = [pair for pair in existing if pair.kind is PairKind.main]
    old = sorted({name for pair in main for name in (pair.a, pair.b)})
    new = sorted(set(_distinct("configuration", configs)) - set(old))
    if not new:
        raise InputError("the design has all these configurations already; there is none to add")
    wave = max(pair.wave for pair in main) + 1
    kept = {pair.prompt_id for pair in main}
    block = factors.added_period(len(old), len(new))
    rows: list[tuple[Prompt, str, str]] = []
    for t, prompt in enumerate(_ordered(p for p in prompts if p.prompt_id in kept)):
        if t % block == 0:
            key = (settings.seed, "wave", wave, t // block)
            labels = shuffled(old, *key) + shuffled(new, *key)
        rows.extend((prompt, labels[i], labels[j]) for i, j in factors.added_pairs(len(old), len(new), t))
    return _paired(rows, [*old, *new], wave=wave, slots=settings.raters_per_pair)


def _distinct(what: str, names: Iterable[str]) -> list[str]:
    counts = Counter(names)
    if twice := [name for name, n in counts.items() if n > 1]:
        raise InputError(f"the {what} {twice[0]!r} is named twice")
    return sorted(counts)


def _ordered(prompts: Iterable[Prompt]) -> list[Prompt]:
    ordered = in_strata_order(prompts)
    if not ordered:
        raise InputError("a pair design needs at least one prompt; run: vaeval prompts import")
    _distinct("prompt", (p.prompt_id for p in ordered))
    return ordered


def _paired(rows: list[tuple[Prompt, str, str]], names: list[str], *, wave: int, slots: int) -> list[Pair]:
    """Make the pairs, each configuration pair's left side alternating from one of its prompts to the next.

    Which side a configuration pair starts with follows a regular tournament (i starts left of the K//2
    names after it, around the circle), so that no configuration starts on the left more often than others.
    """
    place = {name: i for i, name in enumerate(names)}
    seen: Counter[tuple[str, str]] = Counter()
    pairs = []
    for number, (prompt, *two) in enumerate(rows, 1):
        a, b = sorted(two)
        starts_left = (place[b] - place[a]) % len(names) <= len(names) // 2
        pairs.append(
            Pair(
                pair_id=f"w{wave}-main-{number:05d}",
                prompt_id=prompt.prompt_id,
                a=a,
                b=b,
                wave=wave,
                slots=slots,
                left_is_a=starts_left == (seen[a, b] % 2 == 0),
                stratum=stratum(prompt),
            )
        )
        seen[a, b] += 1
    return pairs
