"""Quantiles with intervals between order statistics."""

from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.stats.quantiles import sample_quantile


def alone(n: int) -> list[str]:
    return [str(i) for i in range(n)]


def test_the_median_of_twenty_lies_between_the_6th_and_the_15th() -> None:
    """The table of every textbook: ranks 6 and 15 hold the median with 95.9 %."""
    found = sample_quantile([float(i) for i in range(1, 21)], 0.5, alone(20))
    assert (found.value, found.low, found.high, found.n) == (10.5, 6.0, 15.0, 20)


@pytest.mark.parametrize(("share", "needed", "interval"), [(0.5, 2, 6), (0.9, 10, 36), (0.99, 100, 368)])
def test_what_a_sample_is_too_small_for(share: float, needed: int, interval: int) -> None:
    def found(n: int):  # type: ignore[no-untyped-def]
        return sample_quantile(list(np.arange(n, dtype=float)), share, alone(n))

    few = found(needed - 1)
    assert (few.value, few.low) == (None, None)
    assert few.reason == f"needs {needed} answers, has {needed - 1}"
    assert found(needed).value is not None
    short = found(interval - 1)
    assert (short.low, short.high) == (None, None)
    assert short.reason.startswith(f"an interval needs {interval} answers")
    assert found(interval).high is not None


def test_documents_count_not_their_copies() -> None:
    """Ten answers of one time for each of 40 documents are worth 40 answers."""
    rng = np.random.default_rng(0)
    times = rng.exponential(size=40)
    copies = sample_quantile(list(np.repeat(times, 10)), 0.5, [str(i) for i in range(40) for _ in range(10)])
    forty, apart = (
        sample_quantile(list(times), 0.5, alone(40)),
        sample_quantile(list(np.repeat(times, 10)), 0.5, alone(400)),
    )
    assert None not in (copies.low, copies.high, forty.low, forty.high, apart.low, apart.high)
    assert (copies.low, copies.high) == pytest.approx((forty.low, forty.high), rel=0.2)
    assert (apart.high - apart.low) * 2 < copies.high - copies.low  # type: ignore[operator]


@pytest.mark.parametrize(("share", "n"), [(0.5, 20), (0.9, 100)])
def test_intervals_hold_the_truth(share: float, n: int) -> None:
    """Order statistics hold at least 95 %, and not far more; half of the samples are of documents of four."""
    rng, held = np.random.default_rng(3), []
    truth = float(np.quantile(np.exp(rng.normal(size=400_000)), share))
    for _ in range(400):
        found = sample_quantile(list(np.exp(rng.normal(size=n))), share, alone(n))
        held.append(found.low is not None and found.high is not None and found.low <= truth <= found.high)
    assert 0.935 <= np.mean(held) <= 0.99
