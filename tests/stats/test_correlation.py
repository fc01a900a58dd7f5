from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vaeval_tasks.stats import Comparisons, CorrelationLevel, block_means, comparisons, rubric_correlations


def two_rubrics() -> Comparisons:
    """Three sessions answer both rubrics, one answers the first alone."""
    return comparisons(
        entities=["x", "y"], rubrics=["p", "q", "empty"], rubric=[0, 0, 0, 0, 1, 1, 1], a=[0, 0, 1, 0, 0, 0, 1],
        b=[1, 1, 0, 1, 1, 1, 0], score=[3, 1, 2, 3, 1, 1, -1], rater=[0, 1, 0, 2, 0, 1, 0],
        prompt=[0, 0, 1, 1, 0, 0, 1],
    )  # fmt: skip


def test_uncentred_correlation_by_hand() -> None:
    """(3 * 1 + 1 * 1 + 2 * -1) / sqrt((9 + 1 + 4) (1 + 1 + 1)) = 2 / sqrt(42)."""
    got = rubric_correlations(two_rubrics())
    assert got.matrix[0, 1] == pytest.approx(2 / np.sqrt(42))
    assert got.n[0, 1] == 3
    assert got.n[0, 0] == 4
    assert not got.defined[0, 2]
    assert got.matrix[0, 2] == 0


def test_pair_means_by_hand() -> None:
    """Pairs: prompt 0 has p mean 2 and q mean 1; prompt 1 (turned) p mean (-2 + 3) / 2 = .5 and q mean 1."""
    got = rubric_correlations(two_rubrics(), level=CorrelationLevel.pair)
    assert got.matrix[0, 1] == pytest.approx((2 + 0.5) / np.sqrt((4 + 0.25) * 2))


def test_the_order_of_a_and_b_does_not_matter(simulate: object) -> None:
    data: Comparisons = simulate([[0.5, 0.0, -0.5], [0.4, 0.1, -0.5]])  # type: ignore[operator]
    turned = replace(data, a=data.b, b=data.a, score=-data.score)
    np.testing.assert_allclose(rubric_correlations(data).matrix, rubric_correlations(turned).matrix, atol=1e-12)


def test_block_means_recombine_to_the_mean_of_all(simulate: object) -> None:
    strengths = np.random.default_rng(0).normal(size=(5, 3))
    data: Comparisons = simulate(strengths)  # type: ignore[operator]
    got = rubric_correlations(data)
    blocks = block_means(got, ["h", "h", "t", "t", "t"])
    assert [(b.first, b.second, b.n_pairs) for b in blocks] == [("h", "h", 1), ("h", "t", 6), ("t", "t", 3)]
    upper = got.matrix[np.triu_indices(5, 1)]
    assert sum(b.mean * b.n_pairs for b in blocks) == pytest.approx(upper.sum())
    assert block_means(got, ["h", "t", "t", "t", "t"])[0].mean is None
    with pytest.raises(ValueError, match="needs 5 groups, got 1"):
        block_means(got, ["h"])
