from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.stats import Comparisons, Draws, Scheme, comparisons, margins

PLAN = Draws(replicates=400)


def test_margin_and_win_rate_by_hand() -> None:
    """Turned to x: 3, -1, 0, 2; mean 1, two wins, one loss, one tie."""
    data = comparisons(
        entities=["x", "y", "z"], a=[0, 1, 0, 1, 0], b=[1, 0, 1, 0, 2], score=[3, 1, 0, -2, 3], rater=[0, 1, 2, 3, 4],
        prompt=[0, 1, 2, 3, 4],
    )  # fmt: skip
    (got,) = margins(data, "x", "y", PLAN)
    assert (got.margin, got.wins, got.losses, got.ties, got.win_rate) == (1.0, 2, 1, 1, pytest.approx(2 / 3))
    assert (got.n_ratings, got.n_raters, got.n_prompts) == (4, 4, 4)
    (other,) = margins(data, "y", "x", PLAN)
    assert other.margin == -1
    assert other.interval.low == pytest.approx(-got.interval.high)


def test_a_clear_margin_is_significant_and_a_null_one_is_not(simulate: object) -> None:
    data: Comparisons = simulate([[0.8, -0.8], [0.0, 0.0]], n=500)  # type: ignore[operator]
    clear, null = margins(data, "m0", "m1", PLAN)
    assert clear.significant
    assert clear.interval.low > 0
    assert null.significant is False
    assert null.interval.low < null.margin < null.interval.high


@pytest.mark.parametrize("scheme", list(Scheme))
def test_every_scheme_gives_an_interval(simulate: object, scheme: Scheme) -> None:
    data: Comparisons = simulate([[0.4, -0.4]], n=400)  # type: ignore[operator]
    (got,) = margins(data, "m0", "m1", Draws(replicates=200, scheme=scheme))
    assert got.interval.low < got.margin < got.interval.high


def test_what_is_missing_is_none_with_its_reason() -> None:
    data = comparisons(
        entities=["x", "y", "z"], a=[0, 0], b=[1, 1], score=[0, 0], rater=[0, 0], prompt=[0, 1], rubrics=["p", "q"],
        rubric=[0, 0],
    )  # fmt: skip
    first, second = margins(data, "x", "y", PLAN)
    assert (first.margin, first.win_rate, first.significant) == (0.0, None, None)
    assert "no rating is off the estimate" in first.interval.reason
    assert (second.margin, second.reason) == (None, "no rating compares 'x' with 'y' directly")
    assert second.interval.low is None
    with pytest.raises(UnknownNameError):
        margins(data, "x", "w", PLAN)


def test_one_rater_leaves_the_prompts(simulate: object) -> None:
    data: Comparisons = simulate([[0.4, -0.4]], n=300, n_raters=1)  # type: ignore[operator]
    (got,) = margins(data, "m0", "m1", PLAN)
    (expected,) = margins(data, "m0", "m1", replace(PLAN, scheme=Scheme.prompt))
    assert got.interval == expected.interval
    assert got.interval.low is not None
    alone = data.subset(data.prompt == 0)
    assert "one rater and one prompt" in margins(alone, "m0", "m1", PLAN)[0].interval.reason


def test_the_interval_is_that_of_the_weighted_mean(simulate: object) -> None:
    from vaeval_tasks.stats.draws import lanes

    data: Comparisons = simulate([[0.4, -0.4]], n=300)  # type: ignore[operator]
    drawn = lanes(PLAN, 0, 400, data.n_raters, data.n_prompts)
    weight = drawn.rater[data.rater] * drawn.prompt[data.prompt]
    y = np.where(data.a == 0, data.score, -data.score)
    replicates = (weight * y[:, None]).sum(axis=0) / weight.sum(axis=0)
    (got,) = margins(data, "m0", "m1", PLAN)
    assert (got.interval.low, got.interval.high) == pytest.approx(tuple(np.quantile(replicates, [0.025, 0.975])))
