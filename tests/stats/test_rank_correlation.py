from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from vaeval_tasks.stats.rank_correlation import rank_correlations

LISTS = st.integers(3, 12).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 5), min_size=n, max_size=n) for _ in range(2)))
)


@given(LISTS)
def test_both_coefficients_are_scipys(lists: tuple[list[int], list[int]]) -> None:
    x, y = lists
    found = rank_correlations(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan([found.rho[0], found.tau[0]]).all()
        return
    assert found.rho[0] == pytest.approx(spearmanr(x, y).statistic)
    assert found.tau[0] == pytest.approx(kendalltau(x, y).statistic)


@given(LISTS, st.data())
def test_a_weight_is_a_repetition(lists: tuple[list[int], list[int]], data: st.DataObject) -> None:
    x, y = lists
    w = data.draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)))
    weighted = rank_correlations(x, y, w)
    written = rank_correlations(np.repeat(x, w)[None], np.repeat(y, w)[None])
    assert weighted.rho == pytest.approx(written.rho, nan_ok=True)
    assert weighted.tau == pytest.approx(written.tau, nan_ok=True)


def test_an_item_without_weight_may_be_missing() -> None:
    found = rank_correlations([[1.0, 2.0, np.nan]], [[1.0, 2.0, 0.0]], [[1, 1, 0]])
    assert (found.rho[0], found.tau[0]) == (1.0, 1.0)
    assert np.isnan(rank_correlations([1.0, np.nan], [1.0, 2.0]).rho[0])
