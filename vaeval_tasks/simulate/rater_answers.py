"""Draw what raters answer: CMOS on pairs and MOS on responses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.simulate.shape import Effects
from vaeval_tasks.simulate.task_lists import MosTasks, PairTasks
from vaeval_tasks.simulate.truth import MODEL_OF, Truth

__all__ = ["NOT_ASKED", "draw_cmos", "draw_mos"]

NOT_ASKED = -128


def _field(
    shape: tuple[int, int], shared: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a unit-variance effect in two parts: common to all rubrics, and one more for each rubric."""
    common = np.sqrt(shared) * rng.standard_normal(shape)
    own = np.sqrt(1 - shared) * rng.standard_normal((len(KEYS), *shape))
    return common, own


def draw_cmos(
    truth: Truth, tasks: PairTasks, asked: NDArray[np.bool_], effects: Effects, raters: int, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Draw the scores of every task, positive where ``a`` is preferred.

    Args:
        truth: the planted strengths and cut points.
        tasks: who hears which pair.
        asked: rubrics by prompts; False where a gate leaves the question out.
        effects: variance shares.
        raters: number of raters.
        rng: the generator.

    Returns:
        Rubrics by tasks, -3..3, or ``NOT_ASKED``.
    """
    from scipy.special import log_ndtr

    prompts, configs = asked.shape[1], len(MODEL_OF)
    n = len(tasks.prompt)
    model_a, model_b = MODEL_OF[tasks.a], MODEL_OF[tasks.b]
    on_prompt = _field((prompts, configs), effects.shared, rng)
    on_model = _field((raters, int(MODEL_OF.max()) + 1), effects.shared, rng)
    on_config = _field((raters, configs), effects.shared, rng)
    halo = np.sqrt(effects.halo) * rng.standard_normal(n)
    side = np.sqrt(effects.side) * rng.standard_normal(raters)[tasks.rater] * np.where(tasks.left_is_a, 1, -1)
    # a rater's liking for a model cancels within the model: noise takes its share there, so that every
    # row keeps unit variance and the logistic marginal stays exact
    model_share = np.where(model_a == model_b, 0.0, effects.rater_model)
    rest = np.sqrt(1 - effects.prompt - model_share - effects.rater_config - effects.halo - effects.side)
    out = np.full((len(KEYS), n), NOT_ASKED, dtype=np.int8)
    for k in range(len(KEYS)):
        prompt_k, model_k, config_k = (common + own[k] for common, own in (on_prompt, on_model, on_config))
        latent = (
            halo
            + side
            + np.sqrt(effects.prompt / 2) * (prompt_k[tasks.prompt, tasks.a] - prompt_k[tasks.prompt, tasks.b])
            + np.sqrt(effects.rater_model / 2) * (model_k[tasks.rater, model_a] - model_k[tasks.rater, model_b])
            + np.sqrt(effects.rater_config / 2) * (config_k[tasks.rater, tasks.a] - config_k[tasks.rater, tasks.b])
            + rest * rng.standard_normal(n)
        )
        logistic = log_ndtr(latent) - log_ndtr(-latent)
        t1, t2, t3 = truth.thresholds[k]
        cuts = np.array([-t3, -t2, -t1, t1, t2, t3])
        score = np.searchsorted(cuts, truth.strengths[k, tasks.a] - truth.strengths[k, tasks.b] + logistic) - 3
        out[k] = np.where(asked[k, tasks.prompt], score, NOT_ASKED)
    return out


def _mos_centre(mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the latent centres at which a unit Gaussian, cut to the levels 1 to 5, has the given means."""
    from scipy.special import ndtr

    grid = np.linspace(-2, 9, 4401)
    means = 5 - ndtr(np.array([1.5, 2.5, 3.5, 4.5])[:, None] - grid).sum(axis=0)
    return np.interp(mean, means, grid)


def draw_mos(
    truth: Truth, tasks: MosTasks, asked: NDArray[np.bool_], raters: int, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Draw the MOS of every task, 1..5 or ``NOT_ASKED``; its expectation is the planted mean of the model.

    Rater leniency, prompt, response and task effects have the variance shares .12, .04, .12 and .30.
    """
    prompts: int = asked.shape[1]
    configs, n = len(MODEL_OF), len(tasks.prompt)
    response = rng.standard_normal((prompts, configs))
    shared = (
        np.sqrt(0.12) * rng.standard_normal(raters)[tasks.rater]
        + np.sqrt(0.04) * rng.standard_normal(prompts)[tasks.prompt]
        + np.sqrt(0.12) * response[tasks.prompt, tasks.config]
        + np.sqrt(0.30) * rng.standard_normal(n)
    )
    centres: NDArray[np.float64] = _mos_centre(truth.mos)[:, MODEL_OF]
    out = np.full((len(KEYS), n), NOT_ASKED, dtype=np.int8)
    for k in range(len(KEYS)):
        latent = centres[k, tasks.config] + shared + np.sqrt(0.42) * rng.standard_normal(n)
        out[k] = np.where(asked[k, tasks.prompt], np.clip(np.rint(latent), 1, 5), NOT_ASKED)
    return out
