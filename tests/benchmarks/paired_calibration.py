"""False positives and coverage of paired comparisons. Usage: python tests/benchmarks/paired_calibration.py [STUDIES]

Two systems answer the same items of a task. An item has a difficulty that both feel; verdicts are 0 or 100, predicted
MOS lies around 75, WER is skewed, and 2 % of the answers have no sound. Under "same" both systems are alike (false
positives of the test, coverage of 0); under "apart" the second is worse in content, better in speech, and its true
difference is found from 400,000 items (coverage). Some documents hold several items.

Checked for the product score of 20 items or more: false positives 4 to 6 %, coverage 93 to 97 %.
"""

from __future__ import annotations

import sys

import numpy as np

from vaeval_tasks.stats.paired import PairedItems, paired_differences

FACTORS = ("content", "speech", "consistency")
DESIGNS = ((5, 1), (10, 1), (20, 1), (50, 1), (50, 4), (200, 1), (500, 1))
"""Documents and the most items of one."""


def one_task(rng: np.random.Generator, documents: int, most: int, apart: bool, silent: float = 0.02) -> PairedItems:
    """Return the items of a task under two systems."""
    sizes = rng.integers(1, most + 1, size=documents)
    document = np.repeat(np.arange(documents), sizes)
    n = len(document)
    difficulty = rng.normal(size=documents)[document] * 0.8 + rng.normal(size=n) * 0.8
    sides = []
    for second in (False, True):
        shift = 1.0 if apart and second else 0.0
        right = rng.normal(size=n) + difficulty < 0.5 - 0.5 * shift
        mos = np.clip(75 + 6 * shift + 8 * rng.normal(size=n) + 3 * difficulty, 20, 100)
        agrees = 100 - 100 * np.minimum(1, rng.gamma(0.4, 0.15 * (1 + shift), size=n))
        heard = rng.random(n) >= silent
        sides.append(np.column_stack([100.0 * right, mos * heard, agrees * heard]))
    return PairedItems(
        factors=FACTORS, multiplied=FACTORS, first=sides[0], second=sides[1], document=document, verdict="content"
    )


def truth(apart: bool) -> dict[str, float]:
    """Return the differences of two systems over endless items."""
    if not apart:
        return dict.fromkeys([*FACTORS, "score"], 0.0)
    task = one_task(np.random.default_rng(1), 400_000, 1, apart)
    first, second = task.first.mean(axis=0), task.second.mean(axis=0)
    whole = {name: float(second[i] - first[i]) for i, name in enumerate(FACTORS)}
    return whole | {"score": float(100 * (np.prod(second / 100) - np.prod(first / 100)))}


def measured(documents: int, most: int, apart: bool, studies: int, draws: int = 499) -> dict[str, tuple[float, ...]]:
    """Return, by quantity, the shares of false positives, of flagged drops, of covered truths, and of no interval."""
    known = truth(apart)
    hits: dict[str, list[tuple[bool, bool, bool, bool]]] = {name: [] for name in known}
    for study in range(studies):
        rng = np.random.default_rng([documents, most, int(apart), study])
        task = one_task(rng, documents, most, apart)
        for found in paired_differences({"t": task}, draws=draws, seed=study):
            none = found.low is None or found.high is None
            inside = none or found.low <= known[found.quantity] <= found.high
            hits[found.quantity].append(((found.p or 1) < 0.05, (found.p_drop or 1) < 0.05, inside, none))
    return {name: tuple(np.mean(rows, axis=0)) for name, rows in hits.items()}


def main() -> int:
    """Print the table; exit 1 where the product score is off."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    wrong = 0
    print("documents items truth quantity     rejected  drop flagged  covered  no interval")
    for documents, most in DESIGNS:
        for apart in (False, True):
            for quantity, (rejected, dropped, covered, none) in measured(documents, most, apart, studies).items():
                cells = f"{100 * rejected:7.1f} % {100 * dropped:11.1f} % {100 * covered:6.1f} % {100 * none:9.1f} %"
                print(
                    f"{documents:9d} {'1' if most == 1 else f'1-{most}':>5s} {'apart' if apart else 'same':5s} "
                    f"{quantity:12s} {cells}"
                )
                if quantity == "score" and documents >= 20:
                    wrong += not 0.93 <= covered <= 0.97 or (not apart and not 0.04 <= rejected <= 0.06)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
