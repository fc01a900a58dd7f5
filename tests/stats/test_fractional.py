from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.stats import Comparisons, Engine, comparisons, fit
from vaeval_tasks.stats.fractional import partial_wins


def test_baseball(baseball: Comparisons) -> None:
    """R BradleyTerry2: BTm without order effect, against Baltimore."""
    got = fit(baseball, "overall", engine=Engine.fractional)
    against = dict(zip(got.entities, got.strengths - got.strengths[got.entities.index("Baltimore")], strict=True))
    expected = {
        "Boston": 1.107698,
        "Cleveland": 0.683853,
        "Detroit": 1.436408,
        "Milwaukee": 1.581356,
        "New York": 1.247618,
        "Toronto": 1.294485,
    }
    assert {name: against[name] for name in expected} == pytest.approx(expected, abs=6e-7)


def test_stigler_citations() -> None:
    """R BradleyTerry2: citations, against Biometrika; counts of Stigler 1994."""
    journals = ["Biometrika", "Comm Statist", "JASA", "JRSS-B"]
    wins = {(0, 1): (730, 33), (0, 2): (498, 320), (0, 3): (221, 284), (1, 2): (68, 813), (1, 3): (17, 276)}
    wins[2, 3] = (142, 325)
    rows = [(i, j, sign, n) for (i, j), both in wins.items() for sign, n in zip((1, -1), both, strict=True)]
    a, b, score, weight = zip(*rows, strict=True)
    data = comparisons(
        entities=journals, a=a, b=b, score=score, weight=weight, rater=[0] * 12, prompt=[0] * 12, scale=1
    )
    got = fit(data, "overall", engine=Engine.fractional)
    np.testing.assert_allclose(got.strengths[1:] - got.strengths[0], [-2.949072, -0.479570, 0.268954], atol=1e-6)
    v = got.covariance
    se = [np.sqrt(v[0, 0] + v[i, i] - 2 * v[0, i]) for i in (1, 2, 3)]
    np.testing.assert_allclose(se, [0.102545, 0.060589, 0.070830], atol=6e-7)


def test_evalica_gives_the_same_scores(llmfao: Comparisons) -> None:
    """evalica.bradley_terry with tie_weight 0.5 is the partial-margin model of a three-level scale."""
    import evalica

    names = np.array(llmfao.entities)
    winners = [{1: evalica.Winner.X, -1: evalica.Winner.Y, 0: evalica.Winner.Draw}[int(y)] for y in llmfao.score]
    found = evalica.bradley_terry(
        names[llmfao.a], names[llmfao.b], winners, tie_weight=0.5, tolerance=1e-14, limit=9999
    )
    theirs = np.log(found.scores[list(llmfao.entities)].to_numpy())
    ours = fit(llmfao, "overall", engine=Engine.fractional)
    np.testing.assert_allclose(theirs - theirs.mean(), ours.strengths, atol=1e-9)


def test_a_score_is_a_share_of_a_win() -> None:
    """(y / 3 + 1) / 2: -3 loses, 0 is half, +1 is two thirds."""
    counts = np.eye(7)
    np.testing.assert_allclose(partial_wins(counts, 3)[:, 1], [0, 1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1])
    np.testing.assert_allclose(partial_wins(counts, 3).sum(axis=1), 1)


def test_two_entities_by_hand() -> None:
    """Scores +3, +3, 0 are 2.5 wins of 3: s_a - s_b = log(2.5 / 0.5) = log 5."""
    data = comparisons(entities=["x", "y"], a=[0] * 3, b=[1] * 3, score=[3, 3, 0], rater=[0, 1, 2], prompt=[0] * 3)
    got = fit(data, "overall", engine=Engine.fractional)
    assert got.strengths[0] - got.strengths[1] == pytest.approx(np.log(5), abs=1e-10)
    assert got.ratings.mean() == pytest.approx(1000)
