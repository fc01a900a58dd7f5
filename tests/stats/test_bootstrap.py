from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vaeval_tasks.stats import Comparisons, Draws, Engine, Scheme, bootstrap, comparisons, fit, fit_all
from vaeval_tasks.stats.cells import orient
from vaeval_tasks.stats.draws import halves, lanes
from vaeval_tasks.stats.refits import LANES, block_size, plan
from vaeval_tasks.stats.tally import tally, weighted_counts

LEVELS = [[0.6, 0.2, -0.1, -0.7], [0.1, 0.5, -0.5, -0.1]]


@pytest.mark.parametrize("engine", list(Engine))
@pytest.mark.parametrize("scheme", [Scheme.product, Scheme.subset, Scheme.rater, Scheme.prompt])
def test_a_replicate_is_a_weighted_fit(simulate: object, engine: Engine, scheme: Scheme) -> None:
    data: Comparisons = simulate(LEVELS)  # type: ignore[operator]
    plan = Draws(replicates=LANES + 9, seed=5, scheme=scheme)
    got = bootstrap(data, plan, engine=engine)
    for replicate in (0, LANES, LANES + 8):  # in the first block, in the second, and the last
        drawn = lanes(plan, replicate, replicate + 1, data.n_raters, data.n_prompts)
        weight = drawn.rater[data.rater, 0] * drawn.prompt[data.prompt, 0]
        for rubric in data.rubrics:
            expected = fit(replace(data, weight=data.weight * weight), rubric, engine=engine)
            np.testing.assert_allclose(got.of(rubric)[replicate], expected.strengths, atol=1e-7)


def test_draws_are_multiplicities_and_do_not_depend_on_the_block() -> None:
    plan = Draws(replicates=50, seed=9)
    whole = lanes(plan, 0, 50, 12, 7)
    np.testing.assert_array_equal(whole.rater[:, 20:30], lanes(plan, 20, 30, 12, 7).rater)
    np.testing.assert_array_equal(whole.rater.sum(axis=0), 12)
    np.testing.assert_array_equal(whole.prompt.sum(axis=0), 7)
    assert (lanes(replace(plan, seed=10), 0, 50, 12, 7).rater != whole.rater).any()
    subset = lanes(replace(plan, scheme=Scheme.subset), 0, 50, 12, 7)
    np.testing.assert_array_equal(subset.rater, np.minimum(whole.rater, 1))
    chosen = halves(3, 0, 9, 11)
    np.testing.assert_array_equal(chosen.sum(axis=0), 5)


def test_rubrics_and_engines_share_draws(simulate: object) -> None:
    """A rubric that repeats another has the same replicates: differences between rubrics pair up."""
    data: Comparisons = simulate([LEVELS[0], LEVELS[0]])  # type: ignore[operator]
    twin = np.where(data.rubric == 1, np.roll(data.score, len(data) // 2), data.score)
    twin[len(data) // 2 :] = data.score[: len(data) // 2]
    got = bootstrap(replace(data, score=twin), Draws(replicates=33))
    np.testing.assert_allclose(got.of("r0"), got.of("r1"), atol=1e-9)


def test_more_replicates_extend_fewer(simulate: object) -> None:
    data: Comparisons = simulate(LEVELS)  # type: ignore[operator]
    few, many = bootstrap(data, Draws(replicates=10)), bootstrap(data, Draws(replicates=45))
    np.testing.assert_array_equal(few.strengths, many.strengths[:10])


def test_points_do_not_depend_on_the_draws(simulate: object) -> None:
    data: Comparisons = simulate(LEVELS)  # type: ignore[operator]
    for seed in (0, 1):
        got = bootstrap(data, Draws(replicates=2, seed=seed))
        np.testing.assert_array_equal(got.fits[0].strengths, fit(data, "r0").strengths)


def test_an_entity_that_a_replicate_lacks_is_counted_not_invented(simulate: object) -> None:
    """m3 has one rater of many: about exp(-1) = 37 % of the replicates do not draw that rater."""
    data: Comparisons = simulate(LEVELS[:1], n=800)  # type: ignore[operator]
    rare = data.subset(((data.a != 3) & (data.b != 3)) | (data.rater == 0))
    got = bootstrap(rare, Draws(replicates=200, scheme=Scheme.rater))
    assert 50 < got.absent.sum() < 100
    np.testing.assert_array_equal(np.isnan(got.strengths).all(axis=2), got.absent)
    assert np.isfinite(got.strengths[~got.absent]).all()


def test_a_replicate_without_a_finite_estimate_is_ridged_and_counted() -> None:
    """w loses to x in one rating; replicates without it have an undefeated w."""
    rows = [(0, 1, 1)] * 6 + [(0, 1, -1)] + [(1, 2, 1), (1, 2, -1)] * 3 + [(0, 2, 1)] * 3
    a, b, score = zip(*rows, strict=True)
    data = comparisons(entities=["w", "x", "y"], a=a, b=b, score=score, rater=range(16), prompt=[0] * 16, scale=1)
    got = bootstrap(data, Draws(replicates=120, scheme=Scheme.rater))
    assert 20 < got.ridged.sum() < 80
    assert np.isfinite(got.strengths[got.ridged]).all()
    assert np.abs(got.strengths[got.ridged]).max() < 15


def test_a_replicate_whose_entities_fall_apart_is_ridged() -> None:
    """Rounding leaves its information a little above singular, which once passed for a fit and then had no inverse."""
    rows = [
        *(
            (0, 1, 2, 2, 1, 3.0),
            (0, 1, 4, 3, -2, 3.0),
            (1, 2, 0, 4, 2, 2.0),
            (1, 2, 3, 0, -1, 2.0),
            (2, 3, 0, 2, 1, 1.0),
        ),
        *(
            (2, 3, 2, 3, -2, 1.0),
            (3, 0, 1, 4, 1, 3.0),
            (3, 0, 3, 3, -1, 1.0),
            (2, 0, 2, 0, -3, 1.0),
            (2, 3, 3, 4, -2, 3.0),
        ),
        *(
            (2, 3, 3, 1, -2, 3.0),
            (0, 3, 1, 1, -1, 1.0),
            (1, 0, 4, 4, -1, 3.0),
            (0, 0, 2, 5, 0, 2.0),
            (1, 1, 0, 3, 0, 3.0),
        ),
    ]
    a, b, rater, prompt, score, weight = zip(*rows, strict=True)
    data = comparisons(entities=["w", "x", "y", "z"], a=a, b=b, score=score, rater=rater, prompt=prompt, scale=3)
    data = replace(data, weight=np.array(weight))
    got = bootstrap(data, Draws(replicates=2000, seed=265), engine=Engine.fractional)
    seen = ~got.absent
    assert got.ridged.any()
    assert np.isfinite(got.strengths[seen]).all()
    assert np.abs(got.strengths[seen]).max() < 15


def test_a_replicate_that_misses_a_level_still_fits(simulate: object) -> None:
    """One rating of the highest level: replicates without it merge the level."""
    data: Comparisons = simulate(LEVELS[:1], thresholds=(0.5, 1.3, 50.0))  # type: ignore[operator]
    score = data.score.copy()
    score[0] = 3
    rare = replace(data, score=score)
    got = bootstrap(rare, Draws(replicates=60, seed=2))
    assert not got.ridged.any()
    drawn = lanes(got.draws, 0, 60, rare.n_raters, rare.n_prompts)
    weight = drawn.rater[rare.rater] * drawn.prompt[rare.prompt]
    without = int(np.argmin(weight[0]))
    assert weight[0, without] == 0
    expected = fit(replace(rare, weight=weight[:, without]).subset(weight[:, without] > 0), "r0")
    assert expected.levels == (0, 1, 2)
    np.testing.assert_allclose(got.of("r0")[without], expected.strengths, atol=1e-7)


def test_ties_can_vanish_from_a_replicate(simulate: object) -> None:
    data: Comparisons = simulate(LEVELS[:1])  # type: ignore[operator]
    score = np.where(data.score == 0, 1, data.score)
    score[0] = 0
    rare = replace(data, score=score)
    got = bootstrap(rare, Draws(replicates=40))
    assert np.isfinite(got.strengths).all()
    assert not got.ridged.any()


def test_iid_draws_sessions(simulate: object) -> None:
    data: Comparisons = simulate(LEVELS, n=1500)  # type: ignore[operator]
    got = bootstrap(data, Draws(replicates=300, scheme=Scheme.iid))
    model = fit(data, "r0").standard_errors
    np.testing.assert_allclose(got.of("r0").std(axis=0), model, rtol=0.25)  # independent ratings: the model is right


def test_progress_counts_every_replicate(simulate: object) -> None:
    data: Comparisons = simulate(LEVELS)  # type: ignore[operator]
    seen: list[int] = []
    bootstrap(data, Draws(replicates=2 * LANES + 7), threads=2, progress=seen.append)
    assert seen == [LANES, LANES, 7]


def test_no_replicates_are_refused() -> None:
    with pytest.raises(ValueError, match="one replicate or more, got 0"):
        Draws(replicates=0)


def test_a_tally_holds_every_rating_once(simulate: object) -> None:
    data: Comparisons = simulate(LEVELS)  # type: ignore[operator]
    got = tally(data)
    assert got.session_start[-1] == len(data)
    assert got.pair_start[-1] == len(got.rater)
    sessions = {(*sorted((a, b)), r, p) for a, b, r, p in zip(data.a, data.b, data.rater, data.prompt, strict=True)}
    assert len(got.rater) == len(sessions)


@pytest.mark.parametrize(
    "weight", [1.0, 3.0, 0.3, 1e7 + 1], ids=["one", "whole", "fraction", "beyond single precision"]
)
def test_weighted_counts_are_sums_of_products(simulate: object, weight: float) -> None:
    data: Comparisons = simulate(LEVELS)  # type: ignore[operator]
    data = replace(data, weight=np.where(np.arange(len(data)) % 3, weight, 2 * weight))
    drawn = lanes(Draws(replicates=3), 0, 3, data.n_raters, data.n_prompts)
    turned = orient(data)
    expected = np.zeros((2 * 7, len(turned.first), 3))
    products = data.weight[:, None] * drawn.rater[data.rater] * drawn.prompt[data.prompt]
    np.add.at(expected, (data.rubric * 7 + turned.score + 3, turned.pair), products)
    got = weighted_counts(tally(data), drawn.rater, drawn.prompt)
    np.testing.assert_allclose(got, expected, rtol=1e-14 if weight == 0.3 else 0)


def test_blocks_shrink_where_there_are_very_many_pairs(simulate: object) -> None:
    small: Comparisons = simulate(LEVELS)  # type: ignore[operator]
    task = plan(tally(small), fit_all(small))
    assert block_size(task) == LANES
    many = replace(task, strengths=np.zeros((1, 5000)), tally=replace(task.tally, first=np.zeros(10_000)))
    assert block_size(many) == 2**25 // (5 * 7 * 10_000 + 5000**2)
    assert block_size(replace(task, strengths=np.zeros((1, 10_000)))) == 1
