"""Intervals of shares, means, products and means of these, against other implementations and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.stats.bounded_means import BoundedLimits, mean_limits, mean_part, product_limits, share_part, wilson

ALL = np.ones(20, dtype=bool)
ALONE = np.arange(20)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 5), (3, 20), (20, 20), (250, 500)])
def test_wilson_is_scipys(k: int, n: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k / n, n) == pytest.approx((expected.low, expected.high))


def test_a_share_of_items_alone_is_wilsons() -> None:
    flags = np.arange(20) < 7
    found = share_part(flags, ALONE, ALL)
    assert (found.limits.low, found.limits.high) == pytest.approx(wilson(0.35, 20))


def test_a_mean_far_from_the_ends_is_students() -> None:
    """With a small variance the interval is mean +- t s / sqrt(n) to first order."""
    x = 0.5 + np.linspace(-0.01, 0.01, 20)
    found = mean_part(x, ALONE, ALL)
    half = 2.093 * x.std(ddof=1) / np.sqrt(20)
    assert (found.limits.low, found.limits.high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-3)


def test_one_document_is_one_item() -> None:
    x = np.linspace(0.2, 0.8, 20)
    assert (
        mean_part(x, np.zeros(20, dtype=np.int64), ALL).limits == mean_part(np.full(1, 0.5), ALONE[:1], ALL[:1]).limits
    )
    flags = np.ones(20, dtype=bool)
    assert share_part(flags, ALONE // 4, ALL).limits.low == pytest.approx(wilson(1, 5)[0])


def test_a_product_of_one_part_is_that_part() -> None:
    part = share_part(np.arange(20) < 7, ALONE, ALL)
    found = product_limits([part], [1])
    assert (found.low, found.high) == pytest.approx((part.limits.low, part.limits.high))


def test_a_product_adds_relative_errors_as_squares() -> None:
    """Of large samples log(low) and log(high) are sqrt(sum of squares) away."""
    rng = np.random.default_rng(0)
    n = 20_000
    parts = [mean_part(rng.random(n), np.arange(n), np.ones(n, dtype=bool)) for _ in range(3)]
    value = np.prod([p.value for p in parts])
    found = product_limits(parts, [1, 1, 1])
    relative = np.sqrt(sum((p.limits.se / p.value) ** 2 for p in parts))
    assert found.se == pytest.approx(value * relative, rel=0.02)
    assert found.high - value == pytest.approx(1.96 * value * relative, rel=0.02)


def test_parts_that_move_together_widen_the_product() -> None:
    rng = np.random.default_rng(0)
    x, n = rng.random(200), np.ones(200, dtype=bool)
    part, other, against = (mean_part(y, np.arange(200), n) for y in (x, rng.permutation(x), 1 - x))
    widths = [(f := product_limits([part, p], [1, 1])).high - f.low for p in (part, other, against)]
    assert widths[0] > 1.3 * widths[1] > 1.3 * 2 * widths[2]


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=12))
def test_limits_hold_the_value(rows: list[tuple[bool, float, int]]) -> None:
    flags, x, documents = (np.array(column) for column in zip(*rows, strict=True))
    within = np.ones(len(rows), dtype=bool)
    parts = [share_part(flags, documents, within), mean_part(x, documents, within)]
    for part in parts:
        assert 0 <= part.limits.low <= part.value <= part.limits.high <= 1
        assert part.limits.low < part.limits.high
    found = product_limits(parts, [2, 1])
    assert -1e-12 <= found.low <= parts[0].value ** 2 * parts[1].value <= found.high <= 1 + 1e-9


def test_the_mean_of_independent_values_by_hand() -> None:
    limits = [BoundedLimits(low=0.1, high=0.5, se=0.1), BoundedLimits(low=0.4, high=0.9, se=0.2)]
    found = mean_limits([0.4, 0.8], limits)
    assert found.low == pytest.approx(0.6 - 0.25)  # sqrt(.3^2 + .4^2) / 2
    assert found.high == pytest.approx(0.6 + np.sqrt(0.02) / 2)
    assert found.se == pytest.approx(np.sqrt(0.05) / 2)
