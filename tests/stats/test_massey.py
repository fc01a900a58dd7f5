from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import Comparisons, Engine, comparisons, fit
from vaeval_tasks.stats.massey import massey_ratings


def test_acc_2005() -> None:
    """Langville & Meyer, "Who's #1?": Duke -24.8, Miami 18.2, UNC -8.0, UVA -3.4, VT 18.0."""
    games = [
        (0, 1, 7, 52), (0, 2, 21, 24), (0, 3, 7, 38), (0, 4, 0, 45), (1, 2, 34, 16), (1, 3, 25, 17), (1, 4, 27, 7),
        (2, 3, 7, 5), (2, 4, 3, 30), (3, 4, 14, 52),
    ]  # fmt: skip
    first, second, left, right = (np.array(column) for column in zip(*games, strict=True))
    got = massey_ratings(first, second, (left - right).astype(float), 5)
    np.testing.assert_allclose(got, [-24.8, 18.2, -8.0, -3.4, 18.0], atol=1e-9)


def test_weighted_least_squares_by_numpy(simulate: object) -> None:
    data: Comparisons = simulate([0.8, 0.1, -0.3, -0.6], n=300)  # type: ignore[operator]
    rows = np.zeros((len(data), 4))
    rows[np.arange(len(data)), data.a] += 1
    rows[np.arange(len(data)), data.b] -= 1
    expected = np.linalg.lstsq(rows, data.score.astype(float), rcond=None)[0]
    got = fit(data, "r0", engine=Engine.massey)
    np.testing.assert_allclose(got.strengths, expected - expected.mean(), atol=1e-10)
    assert (got.unit, got.log_likelihood) == ("CMOS points", None)
    np.testing.assert_array_equal(got.ratings, got.strengths)


def test_too_few_ratings_for_a_variance() -> None:
    data = comparisons(entities=["x", "y"], a=[0], b=[1], score=[2], rater=[0], prompt=[0])
    with pytest.raises(EstimationError, match="1 ratings are too few to rank 2 entities"):
        fit(data, "overall", engine=Engine.massey)
