"""Coverage of 95 % intervals on independent ratings, by what is named. Usage: independent_coverage.py [STUDIES]

Three or five systems, 100 to 600 ratings that do not depend on rater or prompt. ``iid`` must cover 93-97 % whether or
not raters and prompts are named (0.1.0: 84 % where raters were not). Printed beside it: the clusters that sandwich and
bootstrap choose.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from vaeval_tasks.stats import Ci, Comparisons, RankSettings, comparisons, elo, ranking

TAU = np.array([-2.3, -1.3, -0.5, 0.5, 1.3, 2.3])


def study(seed: int, systems: int, ratings: int, raters: bool, prompts: bool) -> Comparisons:
    """Return independent ratings by 30 raters on 40 prompts, named or not."""
    rng = np.random.default_rng(seed)
    truth = np.linspace(0.5, -0.5, systems)
    a = rng.integers(systems, size=ratings)
    b = (a + rng.integers(1, systems, size=ratings)) % systems
    score = np.searchsorted(TAU, truth[a] - truth[b] + rng.logistic(size=ratings)) - 3
    rater, prompt = rng.integers(30, size=ratings), rng.integers(40, size=ratings)
    names = [f"s{i}" for i in range(systems)]
    return comparisons(
        entities=names, a=a, b=b, score=score, rater=rater if raters else None, prompt=prompt if prompts else None
    )


def main() -> int:
    """Print a line a design; exit 1 if independent intervals are off."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    off = False
    for (systems, ratings), raters, prompts in product([(3, 100), (3, 600), (5, 300)], [True, False], [True, False]):
        truth = elo(np.linspace(0.5, -0.5, systems))
        named = " and ".join(n for n, yes in (("raters", raters), ("prompts", prompts)) if yes) or "nobody"
        for ci in Ci:
            settings = RankSettings(ci=ci, resamples=200, threads=1)
            hits = []
            for seed in range(studies if ci is not Ci.bootstrap else studies // 5):
                found = ranking(study(seed, systems, ratings, raters, prompts), settings).rubrics[0].standings
                hits += [
                    i.low <= t <= i.high
                    for i, t in zip(found.intervals, truth, strict=True)
                    if i.low is not None and i.high is not None
                ]
            if hits:
                share = float(np.mean(hits))
                off |= ci is Ci.iid and not 0.93 <= share <= 0.97
                print(f"{systems} systems, {ratings} ratings, {named} named: {ci.value} covers {100 * share:.1f} %")
    return int(off)


if __name__ == "__main__":
    sys.exit(main())
