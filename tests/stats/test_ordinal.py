from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit

from vaeval_tasks.errors import EstimationError, UnknownNameError
from vaeval_tasks.stats import Comparisons, Engine, Link, Thresholds, comparisons, fit, fit_all, fit_ordinal
from vaeval_tasks.stats.cells import count_cells
from vaeval_tasks.stats.cumulative import Problem, solve
from vaeval_tasks.stats.levels import categories


def test_agresti_ribbons_symmetric_logit(ribbons: Comparisons) -> None:
    """R ordinal::clm, threshold = "symmetric2"."""
    got = fit(ribbons, "overall")
    np.testing.assert_allclose(got.strengths, [0.1168931, -0.1960125, 0.8873028, -1.0476382, 0.2394548], atol=6e-8)
    np.testing.assert_allclose(got.thresholds, [0.3711045, 0.8295977, 2.3998828], atol=6e-8)
    np.testing.assert_allclose(got.standard_errors[:4], [0.1283396, 0.1334382, 0.1380562, 0.1382765], atol=3e-7)
    np.testing.assert_allclose(got.threshold_se, [0.0533009, 0.0761320, 0.1398644], atol=6e-8)
    assert got.log_likelihood == pytest.approx(-521.1076425, abs=6e-8)
    np.testing.assert_allclose(got.ratings, [1020.3, 965.9, 1154.1, 818.0, 1041.6], atol=0.05)
    assert (got.n_ratings, got.levels, got.unit) == (300, (0, 1, 2, 3), "Elo")


def test_agresti_ribbons_free_thresholds(ribbons: Comparisons) -> None:
    got = fit_ordinal(ribbons, "overall", thresholds=Thresholds.free)
    assert got.log_likelihood == pytest.approx(-520.0534527, abs=6e-8)
    assert len(got.thresholds) == 6


def test_free_thresholds_keep_which_is_a_and_which_is_b(baseball: Comparisons) -> None:
    """R BradleyTerry2 with at.home: .3022607, Boston 1.143803 over Baltimore; the home team is a, so home is -tau."""
    got = fit_ordinal(baseball, "overall", thresholds=Thresholds.free)
    strength = dict(zip(got.entities, got.strengths, strict=True))
    assert strength["Boston"] - strength["Baltimore"] == pytest.approx(1.143803, abs=2e-6)
    assert got.thresholds == pytest.approx([-0.3022607], abs=2e-6)


def test_turning_every_row_mirrors_free_thresholds(ribbons: Comparisons) -> None:
    got = fit_ordinal(ribbons, "overall", thresholds=Thresholds.free)
    turned = replace(ribbons, a=ribbons.b, b=ribbons.a, score=-ribbons.score)
    again = fit_ordinal(turned, "overall", thresholds=Thresholds.free)
    np.testing.assert_allclose(again.strengths, got.strengths, atol=1e-7)
    np.testing.assert_allclose(again.thresholds, -np.array(got.thresholds)[::-1], atol=1e-7)
    held = fit(ribbons, "overall").strengths  # symmetric thresholds: a likelihood ratio of 2.11 on 3 degrees away
    np.testing.assert_allclose(got.strengths, held, atol=0.1)


def test_agresti_ribbons_probit(ribbons: Comparisons) -> None:
    got = fit_ordinal(ribbons, "overall", link=Link.probit)
    np.testing.assert_allclose(got.strengths, [0.0577904, -0.0880729, 0.4939637, -0.6071101, 0.1434289], atol=6e-8)
    np.testing.assert_allclose(got.thresholds, [0.2189480, 0.4895080, 1.3789625], atol=1e-7)
    assert got.log_likelihood == pytest.approx(-523.6154432, abs=6e-8)


def test_llmfao(llmfao: Comparisons) -> None:
    """R clm symmetric2: threshold .942, GPT 4 1220.3, Dolly v2 (3B) 816.3."""
    got = fit(llmfao, "overall")
    assert got.log_likelihood == pytest.approx(-8977.5204, abs=6e-5)
    assert got.thresholds == pytest.approx([0.942], abs=5e-4)
    by_name = dict(zip(got.entities, got.ratings, strict=True))
    assert max(by_name, key=by_name.__getitem__) == "GPT 4"
    assert min(by_name, key=by_name.__getitem__) == "Dolly v2 (3B)"
    assert by_name["GPT 4"] == pytest.approx(1220.3, abs=0.05)
    assert by_name["Dolly v2 (3B)"] == pytest.approx(816.3, abs=0.05)


def test_light_fields_near_separation(light_fields: Comparisons) -> None:
    got = fit(light_fields, "overall")
    assert got.log_likelihood == pytest.approx(-15193.3148, abs=6e-5)
    assert got.levels == (1,)
    assert got.thresholds == ()


def test_wine_is_a_cumulative_logit_of_two_factors() -> None:
    """R ordinal: clm(rating ~ temp + contact, data = wine); the table is Randall 1989, 72 bottles x judges."""
    counts = np.array([[4, 9, 5, 0, 0], [1, 7, 8, 2, 0], [0, 5, 8, 3, 2], [0, 1, 5, 7, 5]], dtype=float)
    factors = csr_matrix(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float))
    got = solve(Problem(counts=counts, incidence=factors, n_centred=0, design=np.eye(4)))
    np.testing.assert_allclose(got.coefficients, [2.503102, 1.527798], atol=6e-7)
    np.testing.assert_allclose(got.thresholds, [-1.344383, 1.250809, 3.466887, 5.006404], atol=6e-7)
    assert got.log_likelihood == pytest.approx(-86.49192, abs=6e-6)


def test_statsmodels_on_mirrored_data_agrees(simulate: object) -> None:
    """Mirrored rows make free thresholds symmetric at the maximum, so another package's model is an oracle."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    data: Comparisons = simulate([0.6, 0.1, -0.7], n=400, seed=3)  # type: ignore[operator]
    x = np.zeros((len(data), 3))
    x[np.arange(len(data)), data.a] += 1
    x[np.arange(len(data)), data.b] -= 1
    x = x[:, :2] - x[:, 2:]  # s_2 = -s_0 - s_1
    oracle = OrderedModel(np.concatenate([data.score, -data.score]), np.vstack([x, -x]), distr="logit")
    found = oracle.fit(method="bfgs", disp=False, gtol=1e-7, maxiter=500)
    got = fit(data, "r0")
    np.testing.assert_allclose(found.params[:2], got.strengths[:2], atol=1e-6)
    np.testing.assert_allclose(oracle.transform_threshold_params(found.params)[4:7], got.thresholds, atol=1e-6)
    assert found.llf / 2 == pytest.approx(got.log_likelihood, abs=1e-6)


def test_three_categories_are_rao_and_kupper(simulate: object) -> None:
    """Rao & Kupper 1967: P(a wins) = p_a / (p_a + theta p_b), theta = exp(t)."""
    data: Comparisons = simulate([0.4, 0.0, -0.4])  # type: ignore[operator]
    signs = comparisons(
        entities=data.entities, a=data.a, b=data.b, score=np.sign(data.score), rater=data.rater, prompt=data.prompt,
        scale=1,
    )  # fmt: skip
    got = fit(signs, "overall")
    p, theta = np.exp(got.strengths), np.exp(got.thresholds[0])
    cells = count_cells(signs)[0]
    win = p[cells.first] / (p[cells.first] + theta * p[cells.second])
    loss = p[cells.second] / (p[cells.second] + theta * p[cells.first])
    value = (cells.counts * np.log(np.column_stack([loss, 1 - win - loss, win]))).sum()
    assert got.log_likelihood == pytest.approx(value, abs=1e-9)


def test_two_categories_are_plain_bradley_terry(baseball: Comparisons) -> None:
    ordinal, plain = fit(baseball, "overall"), fit(baseball, "overall", engine=Engine.fractional)
    np.testing.assert_allclose(ordinal.strengths, plain.strengths, atol=1e-12)
    wins = (baseball.score > 0) * baseball.weight
    delta = ordinal.strengths[baseball.a] - ordinal.strengths[baseball.b]
    likelihood = (wins * np.log(expit(delta)) + (baseball.weight - wins) * np.log(expit(-delta))).sum()
    assert ordinal.log_likelihood == pytest.approx(likelihood, abs=1e-9)


@pytest.mark.parametrize(
    ("totals", "columns", "levels", "design"),
    [
        ([1, 1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6], (0, 1, 2, 3), 3),
        ([1, 1, 1, 0, 1, 1, 1], [0, 1, 2, 4, 5, 6], (1, 2, 3), 2),
        ([0, 0, 1, 1, 0, 0, 0], [2, 3, 4], (0, 1), 1),
        ([1, 0, 0, 5, 0, 0, 0], [0, 3, 6], (0, 3), 1),
        ([0, 1, 0, 0, 0, 0, 0], [1, 5], (2,), 0),
        ([0, 0, 0, 4, 0, 0, 0], [3], (0,), 0),
    ],
)
def test_unused_levels_are_merged(totals: list[int], columns: list[int], levels: tuple[int, ...], design: int) -> None:
    got = categories(np.array(totals, dtype=float))
    assert got.columns.tolist() == columns
    assert got.levels == levels
    assert got.design.shape == (len(columns) - 1, design)
    np.testing.assert_array_equal(got.design, -got.design[::-1])  # antisymmetric


def test_merging_levels_equals_fitting_the_coarser_scale(simulate: object) -> None:
    data: Comparisons = simulate([0.4, 0.0, -0.4])  # type: ignore[operator]
    coarse = np.sign(data.score)
    make = {"entities": data.entities, "a": data.a, "b": data.b, "rater": data.rater, "prompt": data.prompt}
    stretched = fit(comparisons(**make, score=3 * coarse), "overall")
    plain = fit(comparisons(**make, score=coarse, scale=1), "overall")
    np.testing.assert_allclose(stretched.strengths, plain.strengths, atol=1e-12)
    assert (stretched.levels, plain.levels) == ((0, 3), (0, 1))


def test_nothing_to_order_is_said() -> None:
    tied = comparisons(entities=["x", "y"], a=[0, 1], b=[1, 0], score=[0, 0], rater=[0, 1], prompt=[0, 0])
    with pytest.raises(EstimationError, match="rubric 'overall': every rating is 0, which orders nothing"):
        fit(tied, "overall")
    with pytest.raises(EstimationError, match="there are no ratings to fit"):
        fit(tied.subset([False, False]), "overall")
    with pytest.raises(UnknownNameError):
        fit(tied, "overal")


def test_fit_all_equals_one_by_one(simulate: object) -> None:
    data: Comparisons = simulate([[0.5, 0.0, -0.5], [0.0, 0.2, -0.2]])  # type: ignore[operator]
    for engine in Engine:
        for one in fit_all(data, engine=engine):
            np.testing.assert_array_equal(one.strengths, fit(data, one.rubric, engine=engine).strengths)


def test_a_ridge_shrinks(ribbons: Comparisons) -> None:
    free, held = fit(ribbons, "overall"), fit(ribbons, "overall", ridge=10.0)
    assert np.abs(held.strengths).max() < np.abs(free.strengths).max()
    assert held.ridge == 10.0
    assert abs(held.strengths.sum()) < 1e-12
