from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from vaeval_tasks.stats import Comparisons, fit, rater_halves, spearman, split_half
from vaeval_tasks.stats.draws import halves
from vaeval_tasks.stats.rank_correlation import row_spearman

split_half_module = importlib.import_module("vaeval_tasks.stats.split_half")

STRENGTHS = [[0.6, 0.3, 0.0, -0.3, -0.6], [0.1, 0.0, 0.05, -0.1, -0.05]]


def test_spearman_with_ties_is_scipys() -> None:
    x, y = [1, 2, 2, 5, 0, 3], [3, 1, 4, 4, 0, 2]
    assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert spearman([1], [1]) is None


def test_mos_and_elo_ranks_of_the_published_board() -> None:
    """Overall: ranks 1234567 and 2314657 differ by 1 1 2 0 1 1 0, so 1 - 6 * 8 / 336 = .857."""
    assert spearman([1149, 1128, 1071, 993, 979, 897, 784], [4.13, 4.08, 4.26, 3.64, 3.59, 3.62, 3.04]) == (
        pytest.approx(0.857, abs=5e-4)
    )


def test_a_row_with_an_undefined_strength_is_undefined() -> None:
    got = row_spearman(np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 2.0]]), np.array([[1.0, 2.0, 3.0]] * 2))
    assert got[0] == 1
    assert np.isnan(got[1])


def test_a_half_is_a_fit_to_half_of_the_raters(simulate: object) -> None:
    data: Comparisons = simulate(STRENGTHS, n=1500)  # type: ignore[operator]
    got = rater_halves(data, splits=40, seed=7)
    assert got.shape == (40, 2, 2, 5)
    for split in (0, 35):
        chosen = halves(7, split, split + 1, data.n_raters)[data.rater, 0] > 0
        for half, rows in enumerate((chosen, ~chosen)):
            np.testing.assert_allclose(got[split, half, 1], fit(data.subset(rows), "r1").strengths, atol=1e-7)


def test_means_and_spread_over_splits(simulate: object) -> None:
    data: Comparisons = simulate(STRENGTHS, n=3000)  # type: ignore[operator]
    strong, weak = split_half(data, splits=100, seed=7, threads=2)
    pairs = rater_halves(data, splits=100, seed=7)
    by_hand = [spearmanr(first, second).statistic for first, second in pairs[:, :, 1]]
    assert weak.mean == pytest.approx(np.mean(by_hand))
    assert weak.sd == pytest.approx(np.std(by_hand, ddof=1))
    assert strong.mean > 0.95 > weak.mean
    assert (strong.n_splits, strong.n_undefined, strong.n_entities, strong.n_raters) == (100, 0, 5, 20)
    assert split_half(data, splits=100, seed=7, threads=1) == (strong, weak)


def test_one_rater_cannot_be_split(simulate: object) -> None:
    data: Comparisons = simulate(STRENGTHS[:1], n_raters=1)  # type: ignore[operator]
    (got,) = split_half(data, splits=10)
    assert (got.mean, got.sd, got.n_undefined) == (None, None, 10)
    assert "in 10 of 10 splits a half lacks an entity" in got.reason


def test_prompts_do_not_matter(simulate: object) -> None:
    data: Comparisons = simulate(STRENGTHS)  # type: ignore[operator]
    other = replace(data, prompt=np.zeros_like(data.prompt), n_prompts=1)
    assert split_half(data, splits=20) == split_half(other, splits=20)


def test_few_raters_are_halved_once_in_each_way(
    simulate: Callable[..., Comparisons], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = simulate(STRENGTHS, seed=3, n_raters=5, n=90)
    quick = split_half(data, splits=300, seed=1)
    monkeypatch.setattr(split_half_module, "_FEW_RATERS", 0)
    for few, each in zip(quick, split_half(data, splits=300, seed=1), strict=True):
        assert (few.n_splits, few.n_undefined, few.ridged) == (each.n_splits, each.n_undefined, each.ridged)
        assert few.mean == pytest.approx(each.mean, abs=1e-9)
