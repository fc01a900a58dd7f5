"""Agreement of raters who gave opinion scores, and how alike two halves of them order the systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vaeval_tasks.analysis.agree.agreement import LevelSplitHalf, RubricAgreement, rubric_groups
from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.mos.opinions import MosTable
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import Metric, MosRatings, Progress, Weights, agreement_of_counts, unit_counts
from vaeval_tasks.stats.opinion_halves import opinion_halves

__all__ = ["opinion_agreements", "opinion_split_halves"]


def _of(data: MosRatings, rubrics: Sequence[str]) -> MosRatings:
    return data.subset(np.isin(data.rubric, [data.rubrics.index(name) for name in rubrics]))


def opinion_agreements(
    table: MosTable, rubrics: Sequence[str], *, metric: Metric = Metric.interval, weights: Weights = Weights.quadratic
) -> tuple[RubricAgreement, ...]:
    """Return Krippendorff's alpha, ICC(1) and Gwet's AC2 for every rubric and every family of rubrics.

    A unit is a response (a prompt and a configuration) and a rubric, with two ratings or more; the levels of the scale
    are the declared categories.
    """
    out = []
    for name, inside in rubric_groups(rubrics, table.questions):
        data = _of(table.data, inside)
        step = data.levels[1] - data.levels[0]
        level = np.round((data.score - data.levels[0]) / step).astype(np.int64)
        unit = data.sample * len(data.rubrics) + data.rubric
        found = agreement_of_counts(
            unit_counts(unit, level, len(data.levels)),
            data.levels,
            metric=metric,
            weights=weights,
            n_raters=data.n_raters,
            n_prompts=data.n_prompts,
        )
        out.append(RubricAgreement(name=name, found=found))
    return tuple(out)


def opinion_split_halves(
    table: MosTable,
    rubrics: Sequence[str],
    levels: Sequence[Level],
    *,
    splits: int,
    seed: int,
    progress: Progress | None = None,
) -> tuple[LevelSplitHalf, ...]:
    """Return the split-half Spearman correlation of the systems' mean scores per rubric, at each level.

    Raises:
        EstimationError: there is one rater, who cannot be halved.
    """
    if table.data.n_raters < 2:
        raise EstimationError(f"{table.path}: there is one rater, who cannot be halved; --splits 0 leaves that out")
    out: list[LevelSplitHalf] = []
    for level in levels:
        found = opinion_halves(table.at(level), splits=splits, seed=seed, progress=progress)
        kept = [half for half in found if half.rubric in rubrics]
        out += [LevelSplitHalf(level=level, half=h, family=table.questions.family_of(h.rubric)) for h in kept]
    return tuple(out)
