from __future__ import annotations

import pytest

from vaeval_tasks.stats import Comparisons, comparisons, side_effect


def test_llmfao_favours_the_left(llmfao: Comparisons) -> None:
    """R clm symmetric with a free centre: .102 logit, likelihood ratio 25.22 on one degree of freedom."""
    got = side_effect(llmfao, "overall")
    assert got.beta == pytest.approx(0.102, abs=5e-4)
    assert got.likelihood_ratio == pytest.approx(25.22, abs=5e-3)
    assert got.p_value < 1e-6


def test_baseball_home_field(baseball: Comparisons) -> None:
    """R BradleyTerry2: at.home .3022607."""
    assert side_effect(baseball, "overall").beta == pytest.approx(0.3022607, abs=6e-8)


def test_the_side_is_recovered_whichever_entity_is_called_a(simulate: object) -> None:
    data: Comparisons = simulate([0.5, 0.0, -0.5], n=4000, side=0.4)  # type: ignore[operator]
    got = side_effect(data, "r0")
    assert abs(got.beta - 0.4) < 4 * got.se
    turned = comparisons(
        entities=data.entities, a=data.b, b=data.a, score=-data.score, side=-data.side, rater=data.rater,
        prompt=data.prompt, rubrics=["r0"],
    )  # fmt: skip
    assert side_effect(turned, "r0").beta == pytest.approx(got.beta, abs=1e-10)


def test_why_there_is_none(ribbons: Comparisons) -> None:
    got = side_effect(ribbons, "overall")
    assert (got.beta, got.se, got.n_ratings) == (None, None, 0)
    assert got.reason == "no rating says which side was shown first"
    apart = comparisons(
        entities=["w", "x", "y", "z"], a=[0, 2], b=[1, 3], score=[1, 2], side=[1, 1], rater=[0, 1], prompt=[0, 0]
    )
    assert "2 parts" in side_effect(apart, "overall").reason
    won = comparisons(entities=["w", "x"], a=[0, 0], b=[1, 1], score=[3, 3], side=[1, -1], rater=[0, 1], prompt=[0, 0])
    assert "no finite estimate" in side_effect(won, "overall").reason
