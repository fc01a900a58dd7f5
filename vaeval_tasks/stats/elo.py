"""The Elo scale: 400 points are odds of ten to one, and the mean of the shown entities is 1000.

Source: DAI-S2S-ST, "Model Ranking Methodology"; the anchor is what its table A10 shows (row means 1000).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ANCHOR", "ELO_PER_LOGIT", "elo"]

ELO_PER_LOGIT = 400 / float(np.log(10))
"""Elo points per unit of log odds, 173.7."""
ANCHOR = 1000.0
"""The mean Elo of the shown entities."""


def elo(strengths: ArrayLike) -> NDArray[np.float64]:
    """Return ``1000 + 400/ln(10) * s``, with s centred over the last axis (the entities).

    Args:
        strengths: log odds, any leading axes, entities last.
    """
    s = np.asarray(strengths, dtype=np.float64)
    return ANCHOR + ELO_PER_LOGIT * (s - s.mean(axis=-1, keepdims=True))
