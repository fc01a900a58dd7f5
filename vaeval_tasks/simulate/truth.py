"""The planted truth of a simulated study: strengths, cut points, and what every table should come to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.simulate.published_study import CONFIGS, MODELS, TIE_THRESHOLDS, VOICE_MARGINS, elo_matrix, mos_matrix
from vaeval_tasks.simulate.shape import Effects
from vaeval_tasks.stats import ELO_PER_LOGIT, comparisons, elo, fit_all

__all__ = ["LEVELS", "MODEL_OF", "Truth", "answer_probabilities", "plant", "true_model_elo"]

LEVELS = np.arange(-3, 4)
MODEL_OF: NDArray[np.int64] = np.array([MODELS.index(c.model) for c in CONFIGS])


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What was planted. Axes: rubrics in the order of ``rubrics.KEYS``, configurations of ``CONFIGS``."""

    strengths: NDArray[np.float64]
    """Rubrics by configurations, logits; 0 is the mean of the seven models."""
    thresholds: NDArray[np.float64]
    """Rubrics by 3, logits."""
    mos: NDArray[np.float64]
    """Rubrics by models, the mean rating, 1 to 5."""

    @property
    def config_elo(self) -> NDArray[np.float64]:
        """Rubrics by configurations, Elo points, anchored so that the mean of the configurations is 1000."""
        return elo(self.strengths)


def plant(rng: np.random.Generator, effects: Effects) -> Truth:
    """Return the published strengths of the models, with their voices moved apart.

    Grok's voices differ by the published margins (one CMOS point is about one logit); the voices of
    the other models by small random amounts. The thinking level makes no difference, as published.
    """
    strengths = (elo_matrix()[:, MODEL_OF] - 1000) / ELO_PER_LOGIT
    shifts = rng.normal(0, effects.voice_sd, (len(KEYS), len(MODELS)))
    shifts[:, MODELS.index("Grok voice-think-fast 2.0")] = [VOICE_MARGINS[k] / 2 for k in KEYS]
    first = {c.model: c.voice for c in reversed(CONFIGS)}
    voices = {m: {c.voice for c in CONFIGS if c.model == m} for m in MODELS}
    for i, config in enumerate(CONFIGS):
        if len(voices[config.model]) > 1:
            strengths[:, i] += shifts[:, MODEL_OF[i]] * (1 if config.voice == first[config.model] else -1)
    return Truth(
        strengths=strengths,
        thresholds=np.array([TIE_THRESHOLDS[k] for k in KEYS]),
        mos=mos_matrix(),
    )


def answer_probabilities(delta: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the answers -3..3 of the ordinal Bradley-Terry model.

    Args:
        delta: strength of ``a`` less that of ``b``, logits, any shape.
        thresholds: the three positive cut points.

    Returns:
        The shape of ``delta`` with a last axis of 7.
    """
    t1, t2, t3 = thresholds
    cuts = np.array([-t3, -t2, -t1, t1, t2, t3])
    below = 1 / (1 + np.exp(-(cuts - np.asarray(delta)[..., None])))
    edges = [np.zeros((*below.shape[:-1], 1)), below, np.ones((*below.shape[:-1], 1))]
    return np.diff(np.concatenate(edges, axis=-1), axis=-1)


def true_model_elo(truth: Truth) -> dict[str, dict[str, float]]:
    """Return the Elo of every model per rubric that an infinite study would estimate.

    Pooling two voices of unlike strength into one model is not averaging their strengths: the truth of
    the pooled model is its fit to the expected answers of all pairs of configurations.
    """
    a, b = np.triu_indices(len(CONFIGS), 1)
    size = len(a) * len(LEVELS)
    weights = [
        answer_probabilities(truth.strengths[k, a] - truth.strengths[k, b], truth.thresholds[k])
        for k in range(len(KEYS))
    ]
    data = comparisons(
        entities=MODELS,
        rubrics=KEYS,
        rubric=np.repeat(np.arange(len(KEYS)), size),
        a=np.tile(np.repeat(MODEL_OF[a], len(LEVELS)), len(KEYS)),
        b=np.tile(np.repeat(MODEL_OF[b], len(LEVELS)), len(KEYS)),
        score=np.tile(LEVELS, len(a) * len(KEYS)),
        rater=np.zeros(size * len(KEYS), dtype=np.int64),
        prompt=np.zeros(size * len(KEYS), dtype=np.int64),
        weight=np.concatenate([w.ravel() for w in weights]),
    )
    return {fit.rubric: dict(zip(fit.entities, elo(fit.strengths).tolist(), strict=True)) for fit in fit_all(data)}
