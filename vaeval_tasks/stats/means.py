"""Weighted sums of rows under resampling weights."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.draws import Draws, Scheme, lanes

__all__ = ["Rated", "resampled_sums"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
_BLOCK = 64


class Rated(Protocol):
    """Rows with a rater and a prompt."""

    @property
    def rater(self) -> Codes:
        """Per row."""

    @property
    def prompt(self) -> Codes:
        """Per row."""

    @property
    def n_raters(self) -> int:
        """How many there are."""

    @property
    def n_prompts(self) -> int:
        """How many there are."""


def resampled_sums(rows: Rated, group: Codes, weights: Floats, n_groups: int, draws: Draws) -> Floats:
    """Return sums of ``weights`` (kinds, rows) per group under each replicate: (kinds, groups, replicates)."""
    from scipy.sparse import csr_matrix  # here: a bad file is refused without SciPy

    n = len(group)
    iid = draws.scheme is Scheme.iid
    raters, prompts = (np.arange(n), np.zeros(n, dtype=np.int64)) if iid else (rows.rater, rows.prompt)
    n_raters, n_prompts = (n, 1) if iid else (rows.n_raters, rows.n_prompts)
    adders = [csr_matrix((w, (group, np.arange(n))), shape=(n_groups, n)) for w in weights]
    out = np.empty((len(weights), n_groups, draws.replicates))
    for start in range(0, draws.replicates, _BLOCK):
        stop = min(start + _BLOCK, draws.replicates)
        drawn = lanes(draws, start, stop, n_raters, n_prompts)
        times = drawn.rater[raters] * drawn.prompt[prompts]
        for kind, adder in enumerate(adders):
            out[kind, :, start:stop] = adder @ times
    return out
