"""Paired comparisons: oracles of scipy and statsmodels, laws, honest small numbers, and a small paired_calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks import paired_calibration
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from vaeval_tasks.stats.paired import (
    PairedDifference,
    PairedItems,
    PairedVerdict,
    holm,
    paired_differences,
    paired_verdict,
)
from vaeval_tasks.stats.paired_median import median_difference

FACTORS = ("content", "speech", "consistency")


def task(first: Any, second: Any, document: Any = None, verdict: str = "", factors: Any = None) -> PairedItems:
    a, b = (np.asarray(x, dtype=np.float64) for x in (first, second))
    a, b = (x[:, None] if x.ndim == 1 else x for x in (a, b))
    names = tuple(factors or FACTORS[: a.shape[1]])
    codes = np.arange(len(a)) if document is None else np.asarray(document)
    return PairedItems(factors=names, multiplied=names, first=a, second=b, document=codes, verdict=verdict)


def only(items: PairedItems, quantity: str = "score", **how: Any) -> PairedDifference:
    return next(one for one in paired_differences({"t": items}, **how) if one.quantity == quantity)


def random_items(seed: int, n: int, documents: int = 0) -> PairedItems:
    rng = np.random.default_rng(seed)
    verdicts = 100.0 * (rng.random((2, n)) < [[0.7], [0.6]])
    speech = rng.normal(75, 8, (2, n))
    same = rng.normal(90, 5, (2, n))
    codes = rng.integers(0, documents, n) if documents else np.arange(n)
    return task(
        np.column_stack([verdicts[0], speech[0], same[0]]),
        np.column_stack([verdicts[1], speech[1], same[1]]),
        codes,
        "content",
    )


def test_one_factor_without_clusters_is_the_paired_t_interval() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(70, 8, 25)
    b = a + rng.normal(1, 5, 25)
    found = only(task(a, b), "content")
    oracle = scipy_stats.ttest_rel(b, a)
    low, high = oracle.confidence_interval(0.95)
    inner = oracle.confidence_interval(0.90)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.inner_low, found.inner_high) == pytest.approx(tuple(inner))
    assert found.difference == pytest.approx(b.mean() - a.mean())


def test_clusters_give_the_standard_error_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 18, 90)
    a = rng.normal(70, 8, 90) + rng.normal(0, 6, 18)[codes]
    b = a + rng.normal(0, 6, 18)[codes] + rng.normal(1, 3, 90)
    fit = api.OLS(b - a, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": codes})
    assert only(task(a, b, codes), "content").se == pytest.approx(fit.bse[0])


def test_the_product_has_the_standard_error_of_a_jackknife_over_documents() -> None:
    items = random_items(2, 400, 120)
    adjusted = only(items)  # the two documents that widen it weigh next to nothing here
    kept = np.unique(items.document)

    def difference(rows: Any) -> float:
        a, b = items.first[rows].mean(axis=0), items.second[rows].mean(axis=0)
        return float(100 * (np.prod(b / 100) - np.prod(a / 100)))

    left = np.array([difference(items.document != code) for code in kept])
    jackknife = np.sqrt((len(kept) - 1) / len(kept) * ((left - left.mean()) ** 2).sum())
    assert adjusted.se == pytest.approx(jackknife, rel=0.04)
    assert adjusted.difference == pytest.approx(difference(items.document >= 0))


def test_all_exchanges_give_the_p_value_of_scipys_permutation_test() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(70, 8, 9)
    b = a + rng.normal(3, 5, 9)

    def t(x: Any, y: Any) -> float:
        return float(scipy_stats.ttest_rel(y, x).statistic)

    found = only(task(a, b), "content")
    for alternative, p in (("two-sided", found.p), ("less", found.p_drop)):
        oracle = scipy_stats.permutation_test(
            (a, b), t, permutation_type="samples", n_resamples=np.inf, alternative=alternative
        )
        assert p == pytest.approx(oracle.pvalue)
    assert found.exact


def test_flipped_verdicts_give_mcnemars_exact_p_value() -> None:
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    lost, gained, alike = 8, 2, 30
    a = np.array([100.0] * lost + [0.0] * gained + [100.0] * alike)
    b = np.array([0.0] * lost + [100.0] * gained + [100.0] * alike)
    found = only(task(a, b, verdict="content"), "content")
    oracle = contingency.mcnemar([[alike, lost], [gained, 0]], exact=True)
    assert found.exact
    assert found.p == pytest.approx(oracle.pvalue)


def test_many_flipped_verdicts_give_mcnemars_mid_p_value() -> None:
    lost, gained, alike = 18, 7, 30
    a = np.array([100.0] * lost + [0.0] * gained + [100.0] * alike)
    b = np.array([0.0] * lost + [100.0] * gained + [100.0] * alike)
    found = only(task(a, b, verdict="content"), "content")
    binomial = scipy_stats.binom(lost + gained, 0.5)
    assert found.p == pytest.approx(2 * (binomial.cdf(gained) - binomial.pmf(gained) / 2), abs=0.006)
    assert found.p_drop == pytest.approx(found.p / 2, abs=0.005)


def test_drawn_exchanges_come_near_to_all_of_them() -> None:
    rng = np.random.default_rng(4)
    a = rng.normal(70, 8, 20)
    b = a + rng.normal(2, 5, 20)
    found = only(task(a, b), "content", draws=4999, seed=5)
    assert not found.exact
    # for normal differences the studentised test is the t test
    assert found.p == pytest.approx(scipy_stats.ttest_rel(b, a).pvalue, abs=0.02)
    assert only(task(a, b), "content", draws=4999, seed=5) == found


def test_holm_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    values = [0.001, 0.2, 0.04, 0.03, 0.9, 0.011]
    assert holm(values) == pytest.approx(multitest.multipletests(values, method="holm")[1])
    assert holm([None, 0.02, None]) == [None, 0.02, None]
    assert holm([]) == []


def test_the_median_difference_is_that_of_the_sign_test() -> None:
    rng = np.random.default_rng(6)
    a = rng.gamma(4, 0.2, 41)
    b = a + rng.normal(0.05, 0.1, 41)
    found = median_difference(a, b, np.arange(41))
    interval = scipy_stats.quantile_test(b - a, q=0, p=0.5).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(tuple(interval))
    assert found.difference == pytest.approx(np.median(b - a))
    assert found.p == pytest.approx(scipy_stats.binomtest(int((b > a).sum()), 41).pvalue)


def test_medians_of_few_or_equal_times_have_no_interval() -> None:
    few = median_difference([1, 2, 3], [2, 3, 5], [0, 1, 2])
    assert (few.low, few.difference, few.reason) == (None, 1.0, "3 documents are too few for an interval of a median")
    alike = median_difference([1.0] * 30, [1.5] * 30, range(30))
    assert (alike.low, alike.difference) == (None, 0.5)
    assert "differ alike" in alike.reason
    same = median_difference([1.0] * 30, [1.0] * 30, range(30))
    assert (same.difference, same.p) == (0.0, None)
    assert median_difference([np.nan], [1.0], [0]).reason == "no item has a value in both runs"


def test_items_of_one_document_count_once() -> None:
    """Each item twice says no more than each once, if the document is known; without it the interval is too narrow."""
    rng = np.random.default_rng(7)
    a, b = rng.normal(70, 8, 20), rng.normal(72, 8, 20)
    once = only(task(a, b), "content", seed=1)
    known = only(task(np.repeat(a, 2), np.repeat(b, 2), np.repeat(np.arange(20), 2)), "content", seed=1)
    unknown = only(task(np.repeat(a, 2), np.repeat(b, 2)), "content")
    assert (known.low, known.high, known.p) == pytest.approx((once.low, once.high, once.p))
    assert unknown.se == pytest.approx(once.se / np.sqrt(2), rel=0.05)
    assert (known.items, known.documents) == (40, 20)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(0, 12))
def test_exchanging_the_systems_negates(seed: int, n: int, documents: int) -> None:
    items = random_items(seed, n, documents)
    turned = task(items.second, items.first, items.document, "content")
    for quantity in (*FACTORS, "score"):
        one, other = only(items, quantity, draws=99), only(turned, quantity, draws=99)
        assert (one.difference is None) == (other.difference is None)
        if one.difference is not None:
            assert other.difference == pytest.approx(-one.difference)
        if one.low is not None:
            assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
            assert other.detectable == pytest.approx(one.detectable)
        if one.exact and one.p is not None:
            assert other.p == pytest.approx(one.p)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 25), st.integers(0, 8), st.floats(0, 0.9))
def test_an_interval_holds_its_estimate_and_has_width_or_a_reason(
    seed: int, n: int, documents: int, gaps: float
) -> None:
    items = random_items(seed, n, documents)
    rng = np.random.default_rng(seed)
    gone = rng.random(items.first.shape) < gaps
    holes = task(np.where(gone, np.nan, items.first), items.second, items.document, "content")
    for found in paired_differences({"t": holes}, {"g": {"t": 1.0}}, draws=49, margin=1):
        if found.low is None or found.high is None or found.difference is None:
            assert found.reason
            assert found.detectable is None
        else:
            assert -100 <= found.low <= found.difference <= found.high <= 100
            assert found.high - found.low > 1e-6
        assert found.p is None or 0 < found.p <= 1
        assert found.p_drop is None or 0 < found.p_drop <= 1


def test_order_of_items_changes_nothing() -> None:
    items = random_items(8, 30, 12)
    order = np.random.default_rng(0).permutation(30)
    shuffled = task(items.first[order], items.second[order], items.document[order], "content")
    one, other = only(items, seed=3), only(shuffled, seed=3)
    assert (one.low, one.high, one.p) == pytest.approx((other.low, other.high, other.p))


@pytest.mark.parametrize("n", [5, 20, 100])
def test_no_flip_at_all_is_not_taken_for_certain(n: int) -> None:
    """Of n verdicts that agree, up to 3/n may differ elsewhere (the rule of three): the interval does so."""
    same = np.full(n, 100.0)
    found = only(task(same, same, verdict="content"), "content")
    assert (found.difference, found.p) == (0.0, 1.0)
    assert found.low is not None
    assert found.high is not None
    assert -found.low == pytest.approx(found.high)
    assert 0.5 * 300 / n < found.high < 1.5 * 300 / n


def test_values_that_are_alike_everywhere_have_no_interval() -> None:
    same = np.full(12, 80.0)
    found = only(task(same, same), "content")
    assert (found.difference, found.low, found.p) == (0.0, None, 1.0)
    assert found.reason == "content does not differ in any document: nothing tells how far others would differ"
    shifted = only(task(same, same - 5), "content")
    assert (shifted.difference, shifted.low) == (-5.0, None)
    assert "differs alike in every document" in shifted.reason
    assert shifted.p == pytest.approx(2 / 2**12)  # only as it is and the other way round are as extreme


def test_one_item_or_one_document_says_nothing() -> None:
    one = only(task([[100.0, 80, 90]], [[0.0, 80, 90]], verdict="content"))
    assert one.difference == pytest.approx(-72)
    assert (one.low, one.detectable, one.p) == (None, None, 1.0)
    assert one.reason.startswith("there is one document")
    grouped = only(task([90.0, 80, 85], [70.0, 60, 66], [4, 4, 4]), "content")
    assert (grouped.low, grouped.documents, grouped.items) == (None, 1, 3)


def test_a_factor_that_nobody_has_leaves_no_product() -> None:
    items = task([[100.0, np.nan], [0.0, np.nan]], [[0.0, 80.0], [0.0, 70.0]], verdict="content")
    assert only(items).difference is None
    assert only(items).reason == "no item has a value in both runs"
    assert only(items, "content").difference == -50.0


def test_a_margin_makes_a_drop_harder_to_show_and_a_gain_none() -> None:
    rng = np.random.default_rng(9)
    a = rng.normal(80, 5, 60)
    lower = task(a, a - 3.5 + rng.normal(0, 3, 60))
    p = [only(lower, "content", margin=margin).p_drop for margin in (0, 2, 3, 5)]
    assert p == sorted(p)
    assert p[0] == pytest.approx(0.5 / 5000)
    assert p[1] < 0.05 < p[3]
    assert only(task(a, a + 3 + rng.normal(0, 3, 60)), "content").p_drop > 0.99


def test_verdicts() -> None:
    def found(difference: float, inner: float) -> PairedDifference:
        return PairedDifference(
            name="t",
            quantity="score",
            difference=difference,
            inner_low=difference - inner,
            inner_high=difference + inner,
        )

    assert paired_verdict(found(2, 1), 0.01) is PairedVerdict.better
    assert paired_verdict(found(-2, 1), 0.01) is PairedVerdict.worse
    assert paired_verdict(found(-2, 3), 0.2) is PairedVerdict.unclear
    assert paired_verdict(found(0.1, 0.5), 0.8, margin=1) is PairedVerdict.equivalent
    assert paired_verdict(found(0.4, 0.3), 0.01, margin=1) is PairedVerdict.equivalent
    assert paired_verdict(found(0.4, 3), 0.8, margin=1) is PairedVerdict.unclear
    assert paired_verdict(found(2, 0.5), 0.01, margin=1) is PairedVerdict.better
    nothing = PairedDifference(name="t", quantity="score")
    assert paired_verdict(nothing, None, margin=1) is PairedVerdict.unclear


def test_two_one_sided_tests_are_those_of_statsmodels() -> None:
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    rng = np.random.default_rng(10)
    a = rng.normal(80, 5, 40)
    b = a + rng.normal(0.2, 2, 40)
    found = only(task(a, b), "content")
    for margin in (0.3, 0.8, 1.5):
        p = weightstats.ttost_paired(b, a, -margin, margin)[0]
        assert (paired_verdict(found, 1.0, margin=margin) is PairedVerdict.equivalent) == (p < 0.05)


def test_the_detectable_difference_is_found_four_times_of_five() -> None:
    power = pytest.importorskip("statsmodels.stats.power")
    rng = np.random.default_rng(11)
    a = rng.normal(80, 5, 50)
    b = a + rng.normal(0, 4, 50)
    found = only(task(a, b), "content")
    effect = found.detectable / np.std(b - a, ddof=1)
    assert power.TTestPower().power(effect, nobs=50, alpha=0.05) == pytest.approx(0.8, abs=0.005)


def test_a_group_is_the_mean_of_its_tasks_and_shared_documents_are_one() -> None:
    one, other = random_items(12, 40), random_items(13, 40)
    apart = PairedItems(
        factors=FACTORS, multiplied=FACTORS, first=other.first, second=other.second, document=other.document + 100,
        verdict="content",
    )  # fmt: skip
    rows = paired_differences({"a": one, "b": apart}, {"g": {"a": 0.5, "b": 0.5}})
    a, b, g = (next(r for r in rows if r.name == name and r.quantity == "score") for name in "abg")
    assert g.difference == pytest.approx((a.difference + b.difference) / 2)
    assert g.se == pytest.approx(np.hypot(a.se, b.se) / 2)
    assert (g.items, g.documents) == (80, 80)
    twice = paired_differences({"a": one, "b": one}, {"g": {"a": 0.5, "b": 0.5}})
    same = next(r for r in twice if r.name == "g" and r.quantity == "speech")
    alone = next(r for r in twice if r.name == "a" and r.quantity == "speech")
    assert same.se == pytest.approx(alone.se)
    assert same.documents == 40


def test_a_group_of_one_task_is_that_task() -> None:
    for n in (3, 30):
        rows = paired_differences({"a": random_items(14, n)}, {"g": {"a": 1.0}}, draws=99)
        for quantity in ("content", "speech", "score"):
            a, g = (next(r for r in rows if (r.name, r.quantity) == (name, quantity)) for name in "ag")
            assert (g.low, g.high, g.p, g.p_drop) == pytest.approx((a.low, a.high, a.p, a.p_drop))


def test_a_group_lacks_what_a_member_lacks() -> None:
    flat = np.full(10, 80.0)
    rows = paired_differences({"a": task(flat, flat), "b": task(flat[:1], flat[:1], [99])}, {"g": {"a": 0.5, "b": 0.5}})
    g = next(r for r in rows if r.name == "g")
    assert (g.difference, g.low) == (0.0, None)
    assert g.reason.startswith("a: content does not differ")


@pytest.mark.parametrize("apart", [False, True])
def test_calibration_in_small(apart: bool) -> None:
    """300 studies tell 95 % from 91 or 99; the benchmark has thousands of each of 14 designs."""
    found = paired_calibration.measured(40, 2, apart, 300, draws=199)
    for rejected, dropped, covered, none in found.values():
        assert 0.915 <= covered <= 0.985
        assert none == 0
        if not apart:
            assert rejected <= 0.085
            assert dropped <= 0.085
    if apart:
        assert found["content"][1] > 0.3


def test_a_gate_of_four_tasks_is_seldom_wrong_and_finds_what_fell() -> None:
    assert paired_calibration.flagged(100, 0, tasks=4, documents=30, draws=199) <= 0.05
    assert paired_calibration.flagged(15, 4, tasks=4, documents=120, draws=199) > 0.5
