"""How often nominal 95 % intervals hold the truth, over simulated studies: tests/benchmarks/interval_coverage.py.

Every study has its own voices, raters, prompts and answers (19 configurations of 7 models, half the published size by
default); the truth of a pooled model is what an infinite study would estimate. Prints the share of model Elos, and of
differences of neighbours, that lie within the sandwich's, the product bootstrap's and the iid interval.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from vaeval_tasks.simulate import Shape, simulate
from vaeval_tasks.simulate.published_study import MODELS
from vaeval_tasks.simulate.study_comparisons import study_comparisons
from vaeval_tasks.simulate.truth import true_model_elo
from vaeval_tasks.stats import Ci, RankSettings, fit_all, ranking


def hits(study_seed: int, args: argparse.Namespace) -> dict[str, list[bool]]:
    """Return for each method which of the 7 Elos and 6 neighbour differences are covered."""
    shape = Shape(prompts=args.prompts, raters=args.raters, mos_per_sample=0)
    study = simulate(shape, seed=study_seed)
    data = study_comparisons(study, (args.rubric,), by_model=True)
    truth = true_model_elo(study.truth)[args.rubric]
    fits = fit_all(data)
    out = {}
    for ci in Ci:
        settings = RankSettings(ci=ci, resamples=args.resamples, seed=study_seed, threads=1)
        (found,) = ranking(data, settings, fits=fits).rubrics
        intervals = dict(zip(data.entities, found.standings.intervals, strict=True))
        marks = [not intervals[m].excludes(truth[m]) for m in MODELS]
        for a, b in itertools.pairwise(MODELS):
            marks.append(not found.difference(a, b).excludes(truth[a] - truth[b]))
        out[ci.value] = marks
    return out


def main() -> None:
    """Simulate, count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--prompts", type=int, default=342)
    parser.add_argument("--raters", type=int, default=120)
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--rubric", default="overall")
    args = parser.parse_args()
    counted: dict[str, list[list[bool]]] = {}
    for seed in range(args.studies):
        for name, marks in hits(10_000 + seed, args).items():
            counted.setdefault(name, []).append(marks)
    print(f"{args.studies} studies, {args.prompts} prompts, {args.raters} raters, {args.rubric}; nominal 95 %")
    for name, rows in counted.items():
        table = np.array(rows, dtype=float)
        # an error that minds that the 13 numbers of one study share its raters
        errors = [float(part.mean(axis=1).std(ddof=1) / np.sqrt(len(table))) for part in (table[:, :7], table[:, 7:])]
        shares = [float(table[:, :7].mean()), float(table[:, 7:].mean())]
        said = ", ".join(f"{100 * s:.1f} % +- {100 * e:.1f}" for s, e in zip(shares, errors, strict=True))
        print(f"{name:10} Elo and differences: {said}")


if __name__ == "__main__":
    main()
