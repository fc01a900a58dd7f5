from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import Draws, MosRatings, Scheme, mos, mos_ratings
from vaeval_tasks.stats.draws import lanes

PLAN = Draws(replicates=200)


def small(**changes: object) -> MosRatings:
    """x: sample (prompt 0) 5, 3, 4 and sample (prompt 1) 2; y: one sample of 1, 2."""
    made: dict[str, object] = {
        "entities": ["x", "y", "z"],
        "entity": [0, 0, 0, 0, 1, 1],
        "score": [5, 3, 4, 2, 1, 2],
        "rater": [0, 1, 2, 0, 1, 2],
        "prompt": [0, 0, 0, 1, 0, 0],
    }
    return mos_ratings(**(made | changes))


def test_samples_are_averaged_before_their_mean() -> None:
    """(mean(5, 3, 4) + 2) / 2 = 3, where the pooled mean is 14 / 4 = 3.5."""
    x, y, z = mos(small(), PLAN)
    assert (x.mean, x.n_samples, x.coverage.n_ratings, x.coverage.n_raters) == (3.0, 2, 4.0, 3)
    assert x.distribution == (0, 0.25, 0.25, 0.25, 0.25)
    assert mos(small(), PLAN, pooled=True)[0].mean == 3.5
    assert y.mean == 1.5
    assert y.interval.reason == "there is one prompt, so nothing tells how prompts differ"
    assert (z.mean, z.distribution, z.reason) == (None, (), "no ratings")


def test_a_replicate_weighs_raters_in_samples_and_prompts_between(simulate: object) -> None:
    rng = np.random.default_rng(2)
    n = 200
    data = mos_ratings(
        entities=["x"], entity=np.zeros(n, int), score=rng.integers(1, 6, n), rater=rng.integers(0, 9, n),
        prompt=rng.integers(0, 12, n),
    )  # fmt: skip
    plan = Draws(replicates=2, seed=4)
    drawn = lanes(plan, 0, 2, data.n_raters, data.n_prompts)
    expected = []
    for b in range(2):
        total = below = 0.0
        for prompt in range(data.n_prompts):
            rows = data.prompt == prompt
            weight = drawn.rater[data.rater[rows], b]
            if weight.sum():
                total += drawn.prompt[prompt, b] * (weight * data.score[rows]).sum() / weight.sum()
                below += drawn.prompt[prompt, b]
        expected.append(total / below)
    interval = mos(data, plan, level=0.999999)[0].interval
    assert (interval.low, interval.high) == pytest.approx(sorted(expected), abs=1e-4)


def test_models_pool_samples_of_their_configurations() -> None:
    pooled = small().relabel(["m", "m", "n"])
    got = mos(pooled, PLAN)[0]
    assert got.n_samples == 3
    assert got.mean == pytest.approx((4 + 2 + 1.5) / 3)
    with pytest.raises(ValueError, match="needs 3 names"):
        small().relabel(["m"])


def test_an_interval_covers_the_truth(simulate: object) -> None:
    """Truth 3 with rater and prompt effects: in 60 studies a 95 % interval misses rarely (it is on the safe side)."""
    missed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rater, prompt = rng.integers(0, 25, 500), rng.integers(0, 25, 500)
        latent = 3 + rng.normal(0, 0.4, 25)[rater] + rng.normal(0, 0.4, 25)[prompt] + rng.normal(0, 0.7, 500)
        data = mos_ratings(
            entities=["x"], entity=np.zeros(500, int), score=np.clip(np.rint(latent), 1, 5).astype(int), rater=rater,
            prompt=prompt,
        )  # fmt: skip
        missed += mos(data, Draws(replicates=100, seed=seed))[0].interval.excludes(3)
    assert missed <= 6


def test_iid_is_narrower_than_clusters_that_matter() -> None:
    rng = np.random.default_rng(0)
    prompt = rng.integers(0, 15, 900)
    score = np.clip(np.rint(3 + rng.normal(0, 1, 15)[prompt] + rng.normal(0, 0.5, 900)), 1, 5).astype(int)
    data = mos_ratings(
        entities=["x"], entity=np.zeros(900, int), score=score, rater=rng.integers(0, 50, 900), prompt=prompt
    )
    wide, narrow = (
        mos(data, Draws(replicates=300, scheme=scheme), pooled=True)[0].interval.se
        for scheme in (Scheme.product, Scheme.iid)
    )
    assert wide > 3 * narrow


def test_a_score_outside_the_levels_is_named() -> None:
    with pytest.raises(EstimationError, match=r"column 'score', row 1: 6 is not a whole number from 1 to 5"):
        small(score=[6, 3, 4, 2, 1, 2])
    assert len(small(weight=[1, 0, 1, 1, 1, 1]).score) == 5
