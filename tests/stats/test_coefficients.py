from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.stats import Metric, Weights, gwet_ac, icc1, krippendorff_alpha, unit_counts

GAP = -1
CANONICAL = np.array(  # Krippendorff 2011, "Computing Krippendorff's alpha-reliability": 4 observers, 12 units
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, GAP, GAP, GAP],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, GAP, 3],
        [GAP, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, GAP],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, GAP],
    ]
)
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])


def table(ratings: np.ndarray, n: int) -> np.ndarray:
    unit, observer = np.nonzero(ratings != GAP)
    return unit_counts(unit, ratings[unit, observer] - 1, n)


@pytest.fixture
def canonical() -> np.ndarray:
    return table(CANONICAL.T, 5)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (Metric.nominal, 0.743421),
        (Metric.ordinal, 0.815388),
        (Metric.interval, 0.849107),
        (Metric.ratio, 0.797403),
    ],
)
def test_krippendorff_canonical(canonical: np.ndarray, metric: Metric, value: float) -> None:
    assert krippendorff_alpha(canonical, range(1, 6), metric=metric).value == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize(
    ("weights", "value", "digits"),
    [(Weights.identity, 0.77544, 5e-6), (Weights.linear, 0.85874, 5e-6), (Weights.quadratic, 0.91400, 5e-6),
     (Weights.ordinal, 0.89894, 5e-6)],
)  # fmt: skip
def test_gwet_raw4raters(canonical: np.ndarray, weights: Weights, value: float, digits: float) -> None:
    """R irrCAC, cac.raw4raters, which is the same table."""
    assert gwet_ac(canonical, weights=weights).value == pytest.approx(value, abs=digits)


def test_gwet_parts_and_standard_errors(canonical: np.ndarray) -> None:
    ac1, ac2 = gwet_ac(canonical, weights=Weights.identity), gwet_ac(canonical)
    assert (ac1.observed, ac1.expected, ac1.se) == pytest.approx((0.81818, 0.19032, 0.14295), abs=5e-6)
    assert ac2.se == pytest.approx(0.10396, abs=5e-6)


def test_declared_categories_count_although_unused() -> None:
    """Units (0, 0), (1, 1), (0, 1): of 2 categories pa = 2/3, pe = 1/2, AC2 = 1/3; of 7 declared AC2 = .983."""
    counts = unit_counts([0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 3, 4], 7)
    assert gwet_ac(counts[:, 3:5]).value == pytest.approx(1 / 3)
    assert gwet_ac(counts).value == pytest.approx(0.983, abs=5e-4)


def test_gwet_raw5observers() -> None:
    """R irrCAC, cac.raw5obser (Gwet 2014): quadratic AC2 .83043 over the used 0..3, .90975 where 0..4 are declared."""
    observers = [
        [1, 1, 2, GAP, 0, 0, 1, 1, 2, 2, GAP, 0, 1, 3, 1],
        [1, 1, 3, 0, 0, 0, 0, GAP, 2, 1, 1, 0, 2, 3, 1],
        [2, 0, 3, 0, 0, 0, 2, 2, 2, 1, 0, 0, 2, 2, 1],
        [GAP, 1, 3, GAP, GAP, GAP, GAP, 0, GAP, 1, 0, 0, 2, 2, GAP],
        [2, GAP, GAP, 0, 0, 0, 1, GAP, 2, GAP, GAP, GAP, GAP, 3, 1],
    ]
    ratings = np.array(observers).T
    unit, observer = np.nonzero(ratings != GAP)
    for declared, value in ((4, 0.83043), (5, 0.90975)):
        counts = unit_counts(unit, ratings[unit, observer], declared)
        assert gwet_ac(counts).value == pytest.approx(value, abs=5e-6)


def test_shrout_and_fleiss() -> None:
    counts = table(SHROUT_FLEISS, 10)
    assert icc1(counts, range(1, 11)).value == pytest.approx(0.165742, abs=5e-7)
    assert krippendorff_alpha(counts, range(1, 11)).value == pytest.approx(0.147308, abs=5e-7)


def test_unbalanced_icc_by_hand() -> None:
    """Units (1, 3), (4), (5, 6, 7): N = 6, n = 3, means 2, 4, 6, grand 26/6; MSW = (2 + 0 + 2) / 3 = 4/3.

    MSB = (2 (2 - 13/3)^2 + (4 - 13/3)^2 + 3 (6 - 13/3)^2) / 2 = (98 + 1 + 75) / 18 = 29/3; k0 = (6 - 14/6) / 2 = 11/6.
    """
    counts = unit_counts([0, 0, 1, 2, 2, 2], [0, 2, 3, 4, 5, 6], 7)
    expected = (29 / 3 - 4 / 3) / (29 / 3 + (11 / 6 - 1) * 4 / 3)
    assert icc1(counts, range(1, 8)).value == pytest.approx(expected)


@pytest.mark.parametrize(("mean", "spread"), [("uniform", 7), ("coin", 2)])
def test_independent_ratings_agree_by_chance(mean: str, spread: int) -> None:
    ratings = np.random.default_rng(1).integers(spread, size=(6000, 3))
    counts = unit_counts(np.repeat(np.arange(6000), 3), ratings.ravel(), spread)
    assert krippendorff_alpha(counts, range(spread)).value == pytest.approx(0, abs=0.03)
    assert icc1(counts, range(spread)).value == pytest.approx(0, abs=0.03)
    for weights in Weights:
        assert gwet_ac(counts, weights=weights).value == pytest.approx(0, abs=0.03)


def test_ratio_allows_two_zeros() -> None:
    counts = unit_counts([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 1], 3)
    assert krippendorff_alpha(counts, [0, 1, 2], metric=Metric.ratio).value is not None


def test_what_is_undefined_says_why() -> None:
    constant = unit_counts([0, 0, 1, 1], [2, 2, 2, 2], 5)
    single = unit_counts([0, 1, 2], [0, 1, 2], 5)
    for metric in Metric:
        assert krippendorff_alpha(constant, range(5), metric=metric).reason == "all ratings are equal"
    assert icc1(constant, range(5)).reason == "all ratings are equal"
    assert krippendorff_alpha(single, range(5)).reason == "no unit has two ratings"
    assert gwet_ac(single).reason == "no unit has two ratings"
    assert gwet_ac(unit_counts([0, 0], [0, 0], 1)).reason == "one category is declared"
    assert "two units" in icc1(single, range(5)).reason
    assert krippendorff_alpha(np.zeros((0, 5)), range(5)).value is None


def test_perfect_agreement_is_one() -> None:
    counts = unit_counts([0, 0, 1, 1], [0, 0, 4, 4], 5)
    assert krippendorff_alpha(counts, range(5)).value == 1
    assert icc1(counts, range(5)).value == 1
    assert gwet_ac(counts).value == 1
