"""Speed of the statistics beside evalica, in one run. Usage: python tests/benchmarks/stats_speed.py

Checked: the resamples of 12 rubrics are at least 15 times faster (CPU seconds) than evalica's Bradley-Terry on
aggregated cells; 20,000 split halves of 12 rubrics take at most 30 CPU s; ten times as many ratings cost at most twice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import evalica
import numpy as np
from stats_study import simulate

from vaeval_tasks.stats import Comparisons, Draws, bootstrap, fit_all, split_half
from vaeval_tasks.stats.cells import count_cells

REPLICATES = 1000
PEER_FITS = 120
ROUNDS = 5


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def resample(data: Comparisons) -> None:
    """From rows to 12 fits and 12,000 refits."""
    bootstrap(data, Draws(replicates=REPLICATES), fits=fit_all(data), threads=1)


def evalica_fit(data: Comparisons) -> Callable[[], object]:
    """Return evalica's fit of the first rubric's cells, as cheap as its interface allows."""
    cells = count_cells(data.only(data.rubrics[0]))[0]
    apart = cells.first != cells.second
    share = (np.arange(7) / 3 - 1) / 2 + 0.5
    counts = cells.counts[apart]
    wins, losses = counts @ share, counts @ (1 - share)
    names = np.array(data.entities)
    left, right = names[cells.first[apart]], names[cells.second[apart]]
    xs, ys = np.concatenate([left, left]).tolist(), np.concatenate([right, right]).tolist()
    winners = [evalica.Winner.X] * len(left) + [evalica.Winner.Y] * len(left)
    weights = np.concatenate([wins, losses]).tolist()
    return lambda: evalica.bradley_terry(xs, ys, winners, weights=weights)


def main() -> int:
    """Print the ratios; exit 1 if a target is missed."""
    study = simulate(1)
    data = study.configurations
    ten = simulate(1, pairs_per_prompt=120).configurations
    print(f"{len(data):,} ratings, {data.n_raters} raters, {data.n_prompts} prompts; ten times: {len(ten):,}")
    peer_fit = evalica_fit(data)
    works = {
        "own": lambda: resample(data),
        "ten": lambda: resample(ten),
        "peer": lambda: [peer_fit() for _ in range(PEER_FITS)],
    }
    resample(data.subset(np.arange(0, len(data), 7)))  # compile
    rounds = [{name: cpu_seconds(work) for name, work in works.items()} for _ in range(ROUNDS)]  # in turn: one load
    own, large, peer = (min(seconds[name] for seconds in rounds) for name in works)
    peer /= PEER_FITS
    ratio = peer * 12 * REPLICATES / own
    print(f"12 x {REPLICATES} ordinal refits of 19 configurations: {own:.2f} CPU s")
    print(
        f"evalica 12 x {REPLICATES} x {1e3 * peer:.2f} ms = {peer * 12 * REPLICATES:.1f} CPU s: {ratio:.1f} times ours"
    )
    growth = large / own
    print(f"ten times as many ratings: {large:.2f} CPU s, {growth:.2f} times")
    halves = cpu_seconds(lambda: split_half(data, splits=20_000, threads=1))
    print(f"20,000 x 12 split halves: {halves:.1f} CPU s")
    print(f"models: {cpu_seconds(lambda: resample(study.models)):.2f} CPU s for the resamples of 7 models")
    return 0 if ratio >= 15 and growth <= 2 and halves <= 30 else 1


if __name__ == "__main__":
    sys.exit(main())
