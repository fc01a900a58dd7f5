"""Split-half reliability of opinion scores: how alike do two halves of the raters order the systems?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.bootstrap import Progress
from vaeval_tasks.stats.comparisons import recode
from vaeval_tasks.stats.draws import halves
from vaeval_tasks.stats.mos import MosRatings
from vaeval_tasks.stats.rank_correlation import row_spearman
from vaeval_tasks.stats.split_half import SplitHalf, half_summary

__all__ = ["opinion_halves"]

Floats = NDArray[np.float64]
_BLOCK = 64


def opinion_halves(
    data: MosRatings, *, splits: int = 20_000, seed: int = 0, progress: Progress | None = None
) -> tuple[SplitHalf, ...]:
    """Split the raters in two by head count, average each half's scores as ``mos`` does, and correlate; per rubric.

    A sample's mean is over the raters of the half, a system's over the samples that the half rated.
    """
    out = []
    for code in range(len(data.rubrics)):
        one = data.subset(data.rubric == code)
        rho = np.concatenate(
            [_rho(one, seed, start, min(start + _BLOCK, splits)) for start in range(0, splits, _BLOCK)]
        )
        if progress is not None:
            progress(splits)
        n_entities = len(np.unique(one.entity))
        out.append(half_summary(data.rubrics[code], rho, n_entities=n_entities, n_raters=one.n_raters))
    return tuple(out)


def _rho(one: MosRatings, seed: int, start: int, stop: int) -> Floats:
    """Return the correlation of the two halves in some splits; NaN where a half lacks a system."""
    chosen = halves(seed, start, stop, one.n_raters)
    first, second = _means(one, chosen), _means(one, 1 - chosen)
    return row_spearman(first.T, second.T)


def _means(one: MosRatings, chosen: Floats) -> Floats:
    """Return every system's mean, (entities, splits), over the raters that are chosen."""
    from scipy.sparse import csr_matrix  # here: a bad file is refused without SciPy

    sample, n_samples = recode(one.sample)
    entity, n_entities = recode(one.entity)
    shape = (n_samples, one.n_raters)
    total = csr_matrix((one.weight * one.score, (sample, one.rater)), shape=shape) @ chosen
    weight = csr_matrix((one.weight, (sample, one.rater)), shape=shape) @ chosen
    mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    of = np.zeros(n_samples, dtype=np.int64)
    of[sample] = entity
    gather = csr_matrix((np.ones(n_samples), (of, np.arange(n_samples))), shape=(n_entities, n_samples))
    rated = gather @ (weight > 0).astype(np.float64)
    return np.divide(gather @ mean, rated, out=np.full(rated.shape, np.nan), where=rated > 0)
