from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import adjusted_rand, cluster_rubrics, partition, residual_profiles

HUMANNESS_FIRST = (0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1)


def test_row_means_of_the_published_table_are_1000(published: tuple[list[str], np.ndarray]) -> None:
    _, strengths = published
    assert strengths.shape == (12, 7)
    np.testing.assert_allclose(strengths.mean(axis=1), 1000, atol=0.2)


@pytest.mark.parametrize("pooled", [False, True])
def test_the_published_table_gives_the_published_two_groups(
    published: tuple[list[str], np.ndarray], pooled: bool
) -> None:
    """Seven models, or six families with both GPT pooled; the overall rubric is left out."""
    rubrics, strengths = published
    x = strengths[1:]
    if pooled:
        x = np.column_stack([x[:, :2].mean(axis=1), x[:, 2:]])
    got = cluster_rubrics(x, rubrics[1:])
    assert got.labels == HUMANNESS_FIRST
    assert got.axis_share == pytest.approx(0.867 if pooled else 0.886, abs=2e-3)
    assert got.reproduction is None
    assert got.reason == "no replicates and no rater halves with every strength defined"


def test_without_removing_the_component_the_groups_differ(published: tuple[list[str], np.ndarray]) -> None:
    """Perceived audio quality then joins Humanness: the step matters."""
    _, strengths = published
    x = strengths[1:] - strengths[1:].mean(axis=1, keepdims=True)
    norms = np.sqrt((x**2).sum(axis=1))
    assert partition(x @ x.T / np.outer(norms, norms), 2) != HUMANNESS_FIRST


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 1),
        ([0, 0, 1, 2], [0, 0, 1, 1], 0.571429),
        ([0, 0, 0, 0], [0, 1, 2, 3], 0),
        ([0, 0, 1, 1], [0, 1, 0, 1], -0.5),
        ([0, 0, 0], [0, 0, 0], 1),
    ],
)
def test_adjusted_rand(first: list[int], second: list[int], value: float) -> None:
    assert adjusted_rand(first, second) == pytest.approx(value, abs=5e-7)


@settings(max_examples=50, deadline=None)
@given(x=arrays(np.float64, (5, 6), elements=st.floats(-5, 5)))
def test_residuals_are_orthogonal_to_the_axis_and_to_one(x: np.ndarray) -> None:
    got = residual_profiles(x)
    np.testing.assert_allclose(got.residuals @ got.axis, 0, atol=1e-9)
    np.testing.assert_allclose(got.residuals.sum(axis=1), 0, atol=1e-9)
    assert 0 <= got.share <= 1 + 1e-12


def _profiles(rng: np.random.Generator, noise: float) -> np.ndarray:
    """Six rubrics: one shared axis, and two groups of three with opposite residual profiles."""
    axis, group = np.array([3, 1, 0, -1, -3.0]), np.array([0.5, -1, 1, -1, 0.5])
    rows = [axis * w + group * g for w, g in ((1, 1), (0.9, 1), (1.1, 1), (1, -1), (0.8, -1), (1.2, -1))]
    return np.array(rows) + rng.normal(0, noise, (6, 5))


def test_reproduction_is_high_with_signal_and_chance_is_low() -> None:
    rng = np.random.default_rng(3)
    replicates = np.stack([_profiles(rng, 0.25) for _ in range(200)])
    halves = np.stack([[_profiles(rng, 0.35), _profiles(rng, 0.35)] for _ in range(60)])
    got = cluster_rubrics(_profiles(rng, 0.0), [f"r{i}" for i in range(6)], replicates=replicates, halves=halves)
    assert got.labels == (0, 0, 0, 1, 1, 1)
    assert got.reproduction > 0.9
    assert got.chance < 0.2
    assert got.rand_mean > 0.8
    assert (got.replicates, got.halves, got.reason) == (200, 60, "")
    np.testing.assert_allclose(np.diag(got.noise), got.noise.max(), rtol=0.6)  # independent noise lies on the diagonal


def test_shared_noise_is_subtracted() -> None:
    """Noise that two rubrics share raises their products; the correction takes its mean out."""
    rng = np.random.default_rng(4)
    common = rng.normal(0, 0.4, (1000, 1, 5))
    truth = _profiles(rng, 0.0)
    replicates = np.repeat(truth[None], 1000, axis=0)
    replicates[:, :2] += common
    got = cluster_rubrics(truth, [f"r{i}" for i in range(6)], replicates=replicates)
    assert got.noise[0, 1] > 0.1
    assert abs(got.noise[3, 4]) < got.noise[0, 1] / 2


def test_replicates_with_an_undefined_strength_are_left_out() -> None:
    rng = np.random.default_rng(5)
    replicates = np.stack([_profiles(rng, 0.2) for _ in range(10)])
    replicates[0, 0, 0] = np.nan
    got = cluster_rubrics(_profiles(rng, 0.0), list("abcdef"), replicates=replicates)
    assert got.replicates == 9
    assert got.reason == "no rater halves with every strength defined"


def test_groups_are_numbered_in_order_of_appearance() -> None:
    similarity = np.eye(4)
    similarity[0, 3] = similarity[3, 0] = similarity[1, 2] = similarity[2, 1] = 0.9
    assert partition(similarity, 2) == (0, 1, 1, 0)
    assert partition(similarity, 4) == (0, 1, 2, 3)


@pytest.mark.parametrize(("shape", "k"), [((2, 5), 3), ((4, 2), 2), ((4, 5), 0)])
def test_too_little_to_cluster(shape: tuple[int, int], k: int) -> None:
    with pytest.raises(EstimationError, match="cannot be clustered"):
        cluster_rubrics(np.random.default_rng(0).normal(size=shape), ["r"] * shape[0], k=k)
