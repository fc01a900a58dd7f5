from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.stats import (
    Clusters,
    Comparisons,
    Draws,
    Engine,
    bootstrap,
    difference,
    elo,
    fit,
    percentile_interval,
    sandwich,
    standings,
)
from vaeval_tasks.stats.intervals import t_interval, wilson_interval


def test_percentiles_are_type_7_with_their_monte_carlo_error() -> None:
    """Of 0..1000 the 2.5 % point is 25; its error is that of 25 +- sqrt(1001 * .025 * .975) = 4.94 in ranks."""
    got = percentile_interval(np.random.default_rng(0).permutation(1001))
    assert (got.low, got.high) == pytest.approx((25, 975))
    assert got.replicates == 1001
    assert got.low_error == pytest.approx(4.94, abs=0.01)
    assert got.se == pytest.approx(np.std(np.arange(1001), ddof=1))
    assert got.excludes(24)
    assert not got.excludes(500)


def test_undefined_replicates_are_left_out_until_half_are() -> None:
    assert percentile_interval([1.0, 2.0, np.nan, 3.0]).replicates == 3
    none = percentile_interval([1.0, np.nan])
    assert (none.low, none.high, none.se) == (None, None, None)
    assert none.reason == "the number is undefined in 1 of 2 replicates"
    assert not none.excludes(0)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (36, 40), (85, 100), (1, 1000)])
def test_wilsons_interval_is_that_of_statsmodels(successes: int, n: int) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    got = wilson_interval(successes, n)
    assert (got.low, got.high) == pytest.approx(proportion.proportion_confint(successes, n, method="wilson"))
    assert wilson_interval(0, 0).reason == "no trials"


def test_a_t_interval_widens_with_few_degrees() -> None:
    assert t_interval(10, 4, 1e9).high == pytest.approx(10 + 2 * 1.959964, abs=1e-4)
    assert t_interval(10, 4, 5).high == pytest.approx(10 + 2 * 2.570582, abs=1e-5)


def test_elo_is_400_points_for_odds_of_ten() -> None:
    got = elo([np.log(10), 0.0])
    assert got[0] - got[1] == pytest.approx(400)
    assert got.mean() == pytest.approx(1000)


def test_ranks_are_ranges_where_differences_include_zero(simulate: object) -> None:
    data: Comparisons = simulate([[2.0, 0.02, 0.0, -2.0]], n=900)  # type: ignore[operator]
    got = standings(bootstrap(data, Draws(replicates=300)), "r0")
    assert (got.rank_low, got.rank_high) == ((1, 2, 2, 4), (1, 3, 3, 4))
    same = standings(sandwich(data, fit(data, "r0")), "r0")
    assert (same.rank_low, same.rank_high) == (got.rank_low, got.rank_high)
    assert np.mean(got.ratings) == pytest.approx(1000)
    for rating, interval in zip(got.ratings, got.intervals, strict=True):
        assert interval.low < rating < interval.high


def test_a_difference_is_narrower_than_two_correlated_intervals_suggest(simulate: object) -> None:
    data: Comparisons = simulate([[0.3, 0.0, -0.3]])  # type: ignore[operator]
    for source in (bootstrap(data, Draws(replicates=300)), sandwich(data, fit(data, "r0"))):
        one = difference(source, "r0", "m0", "m1")
        other = difference(source, "r0", "m1", "m0")
        assert one.low == pytest.approx(-other.high)
        zero = difference(source, "r0", "m0", "m0")
        assert (zero.low, zero.high) == (0.0, 0.0)
        with pytest.raises(UnknownNameError):
            difference(source, "r0", "m0", "m9")
        with pytest.raises(UnknownNameError):
            difference(source, "r9", "m0", "m1")


def test_massey_stays_in_score_points(simulate: object) -> None:
    data: Comparisons = simulate([[0.3, 0.0, -0.3]])  # type: ignore[operator]
    got = standings(bootstrap(data, Draws(replicates=50), engine=Engine.massey), "r0")
    assert max(got.ratings) < 3
    assert got.intervals[0].high < 3


def test_one_rater_has_ratings_but_no_interval(simulate: object) -> None:
    data: Comparisons = simulate([[0.3, 0.0, -0.3]], n_raters=1)  # type: ignore[operator]
    for source in (bootstrap(data, Draws(replicates=20)), sandwich(data, fit(data, "r0"))):
        got = standings(source, "r0")
        assert len(got.ratings) == 3
        assert got.intervals[0].low is None
        assert "there is one rater" in got.intervals[0].reason
        assert got.rank_low == (None, None, None)
    alone = standings(sandwich(data, fit(data, "r0"), clusters=Clusters.none), "r0")
    assert alone.intervals[0].low is not None
    assert alone.coverage[0].n_raters == 1
