"""False positives and coverage of paired comparisons. Usage: python tests/benchmarks/paired_calibration.py [STUDIES]

Two systems answer the same items of a task. An item has a difficulty that both feel; verdicts are 0 or 100, predicted
MOS lies around 75, WER is skewed, and 2 % of the answers have no sound. Under "same" both systems are alike (false
positives of the test, coverage of 0); under "apart" the second is worse in content, better in speech, and its true
difference is found from 400,000 items (coverage). Some documents hold several items.

Then the flake rate of a gate: how often any of 13 tasks of 50 items is called a regression where nothing changed, by
one-sided tests at 2.5 % after Holm; and how often a gate finds that 1 of them, or all, fell.

Checked: for the product score of 50 items or more false positives 4 to 6 % and coverage 93 to 97 % (fewer items: 93 %
or more), flake rate at most 5 %, each within what the number of studies can tell.
"""

from __future__ import annotations

import sys

import numpy as np

from vaeval_tasks.stats.paired import PairedItems, holm, paired_differences

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


def flagged(studies: int, fallen: int, *, tasks: int = 13, documents: int = 50, draws: int = 999) -> float:
    """Return how often a gate calls a run worse, of whose tasks so many fell."""
    worse = 0
    for study in range(studies):
        found = []
        for task in range(tasks):
            rng = np.random.default_rng([7, study, task])
            items = one_task(rng, documents, 1, task < fallen)
            (score,) = [
                one for one in paired_differences({"t": items}, draws=draws, seed=study) if one.quantity == "score"
            ]
            found.append(score)
        adjusted = holm([score.p_drop for score in found])
        worse += any(p is not None and p < 0.025 for p in adjusted)
    return worse / studies


def main() -> int:
    """Print the tables; exit 1 where the product score or the flake rate is off."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    noise = 2 * np.sqrt(0.05 * 0.95 / studies)
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
                if quantity == "score":
                    wrong += covered < 0.93 - noise or (documents >= 50 and covered > 0.97 + noise)
                    wrong += not apart and documents >= 50 and not 0.04 - noise <= rejected <= 0.06 + noise
    print("gate of 13 tasks of 50 items: share of runs called a regression")
    for fallen in (0, 1, 13):
        share = flagged(studies // 4, fallen)
        print(f"{fallen:9d} tasks fell: {100 * share:5.1f} %")
        wrong += fallen == 0 and share > 0.05
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
