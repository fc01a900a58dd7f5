"""How balanced a design is, counted from the pairs themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from vaeval_tasks.design.plan import in_strata_order
from vaeval_tasks.rubrics import GATED, KEYS
from vaeval_tasks.store.schema import Condition, Pair, PairKind, Prompt

__all__ = ["Balance", "Range", "balance"]


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and the largest of some counts."""

    low: int
    high: int

    @classmethod
    def of(cls, values: Iterable[int]) -> Range:
        """Return the range of the values, 0 to 0 for none."""
        found = list(values) or [0]
        return cls(min(found), max(found))

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The counts of a design's main pairs, and how many pairs of each kind there are."""

    prompts: int
    configs: tuple[str, ...]
    kinds: dict[str, int]
    """Pairs of each kind."""
    tasks: int
    """Main pairs times their slots."""
    ratings: int
    """Answers the tasks will give: the ungated rubrics, and each prompt's gates."""
    matrix: tuple[tuple[int, ...], ...]
    """Prompts on which two configurations meet, in the order of ``configs``; zero on the diagonal."""
    pair_rate: Range
    """Over all configuration pairs that meet in the first wave."""
    added_rate: Range
    """Over all configuration pairs with one that joined in a later wave; 0 to 0 without such a wave."""
    appearances: dict[str, int]
    """Main pairs each configuration stands in."""
    uncovered: dict[str, int]
    """Prompts on which a configuration stands in no pair; configurations that cover all are left out."""
    strata: dict[str, Range]
    """Range of the pair counts within each category, level and the degraded set (first wave)."""
    side_gap: int
    """Largest difference, over configuration pairs, between left and right in the first slot."""
    left_share: dict[str, float]
    """Share of the left side over all slots."""


def balance(pairs: Sequence[Pair], prompts: Sequence[Prompt]) -> Balance:
    """Count a design.

    Args:
        pairs: all pairs of all kinds.
        prompts: at least the prompts of the pairs.
    """
    main = [pair for pair in pairs if pair.kind is PairKind.main]
    first = [pair for pair in main if pair.wave == 1]
    by_id = {p.prompt_id: p for p in prompts}
    used = {pair.prompt_id for pair in main}
    configs = tuple(sorted({name for pair in main for name in (pair.a, pair.b)}))
    counts = Counter((pair.a, pair.b) for pair in main)
    met = defaultdict(set)
    for pair in main:
        met[pair.a].add(pair.prompt_id)
        met[pair.b].add(pair.prompt_id)
    founders = sorted({name for pair in first for name in (pair.a, pair.b)})
    all_pairs, founder_pairs = set(combinations(configs, 2)), set(combinations(founders, 2))
    ungated = len(KEYS) - len(GATED)
    return Balance(
        prompts=len(used),
        configs=configs,
        kinds={kind.value: n for kind in PairKind if (n := sum(p.kind is kind for p in pairs))},
        tasks=sum(pair.slots for pair in main),
        ratings=sum(pair.slots * (ungated + len(by_id[pair.prompt_id].gates)) for pair in main),
        matrix=tuple(tuple(counts[min(x, y), max(x, y)] for y in configs) for x in configs),
        pair_rate=Range.of(counts[p] for p in founder_pairs),
        added_rate=Range.of(counts[p] for p in all_pairs - founder_pairs),
        appearances={x: sum(n for two, n in counts.items() if x in two) for x in configs},
        uncovered={x: len(used) - len(met[x]) for x in configs if len(met[x]) < len(used)},
        strata=_strata(first, [by_id[i] for i in used], founder_pairs),
        side_gap=_side_gap(main),
        left_share=_left_share(main),
    )


def _strata(first: list[Pair], prompts: list[Prompt], possible: set[tuple[str, str]]) -> dict[str, Range]:
    groups: dict[str, set[str]] = defaultdict(set)
    for p in in_strata_order(prompts):
        groups[f"category {p.category}"].add(p.prompt_id)
        if p.condition is not Condition.clean:
            groups["degraded"].add(p.prompt_id)
        elif p.difficulty:
            groups[f"level {p.difficulty}"].add(p.prompt_id)
    out = {}
    for name in sorted(groups):
        counts = Counter((pair.a, pair.b) for pair in first if pair.prompt_id in groups[name])
        out[name] = Range.of(counts[two] for two in possible)
    return out


def _side_gap(main: list[Pair]) -> int:
    left: Counter[tuple[str, str]] = Counter()
    for pair in main:
        left[pair.a, pair.b] += 1 if pair.left_is_a else -1
    return max(map(abs, left.values()), default=0)


def _left_share(main: list[Pair]) -> dict[str, float]:
    left: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for pair in main:
        mirrored = pair.slots // 2
        for name, first in ((pair.a, pair.left_is_a), (pair.b, not pair.left_is_a)):
            left[name] += pair.slots - mirrored if first else mirrored
            total[name] += pair.slots
    return {name: left[name] / total[name] for name in sorted(total)}
