"""Laws that every engine obeys, on drawn data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from vaeval_tasks.stats import (
    Comparisons,
    Draws,
    Engine,
    Fit,
    bootstrap,
    comparisons,
    fit,
    icc1,
    krippendorff_alpha,
    sandwich,
)
from vaeval_tasks.stats.levels import categories
from vaeval_tasks.stats.refits import LANES

LAWS = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def ratings(draw: st.DrawFn, entities: int = 4) -> Comparisons:
    """Connected comparisons with both signs of every neighbouring pair, so that a finite fit exists."""
    cycle = [(i, (i + 1) % entities, sign * draw(st.integers(1, 2))) for i in range(entities) for sign in (1, -1)]
    row = st.tuples(st.integers(0, entities - 1), st.integers(0, entities - 1), st.integers(-3, 3))
    rows = cycle + draw(st.lists(row, min_size=5, max_size=40))
    a, b, _ = zip(*rows, strict=True)
    n = len(rows)
    return comparisons(
        entities=[f"m{i}" for i in range(entities)],
        a=a,
        b=b,
        score=[0 if i == j else y for i, j, y in rows],
        rater=draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)),
        prompt=draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)),
        weight=draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)),
    )


engines = st.sampled_from(list(Engine))


@LAWS
@given(data=ratings(), engine=engines)
def test_swapping_a_and_b_with_the_sign_changes_nothing(data: Comparisons, engine: Engine) -> None:
    swapped = replace(data, a=data.b, b=data.a, score=-data.score)
    np.testing.assert_allclose(
        fit(swapped, "overall", engine=engine).strengths, fit(data, "overall", engine=engine).strengths, atol=1e-9
    )


@LAWS
@given(data=ratings(), engine=engines)
def test_swapping_a_and_b_alone_negates(data: Comparisons, engine: Engine) -> None:
    swapped = replace(data, a=data.b, b=data.a)
    np.testing.assert_allclose(
        fit(swapped, "overall", engine=engine).strengths, -fit(data, "overall", engine=engine).strengths, atol=1e-8
    )


@LAWS
@given(data=ratings(), engine=engines, order=st.permutations(range(4)))
def test_permuting_labels_permutes_strengths(data: Comparisons, engine: Engine, order: list[int]) -> None:
    place = np.array(order)
    moved = replace(data, a=place[data.a], b=place[data.b], entities=tuple(f"m{i}" for i in np.argsort(place)))
    got, expected = fit(moved, "overall", engine=engine), fit(data, "overall", engine=engine)
    np.testing.assert_allclose(got.strengths[place], expected.strengths, atol=1e-8)
    np.testing.assert_allclose(got.strengths.sum(), 0, atol=1e-10)


@LAWS
@given(data=ratings(), engine=engines, factor=st.floats(0.01, 100))
def test_scaling_all_weights_leaves_strengths(data: Comparisons, engine: Engine, factor: float) -> None:
    scaled = replace(data, weight=data.weight * factor)
    if engine is Engine.massey and scaled.weight.sum() <= 3:
        return  # fewer ratings than entities: no variance
    np.testing.assert_allclose(
        fit(scaled, "overall", engine=engine).strengths, fit(data, "overall", engine=engine).strengths, atol=1e-7
    )


@LAWS
@given(data=ratings(), engine=engines)
def test_weights_are_repeated_rows(data: Comparisons, engine: Engine) -> None:
    repeated = data.subset(np.repeat(np.arange(len(data)), data.weight.astype(int)))
    repeated = replace(repeated, weight=np.ones(len(repeated)))
    np.testing.assert_allclose(
        fit(repeated, "overall", engine=engine).strengths, fit(data, "overall", engine=engine).strengths, atol=1e-9
    )


# An entity is unrelated when its ratings carry no news of the others. What holds exactly, and is tested below:
# - one that nobody rated, which only a ridge admits, as strengths without ratings are 0 and pull on nothing;
# - a part of the graph that meets the others nowhere, for the engines without shared parameters (Massey, partial wins,
#   two categories): the objective is a sum over the parts;
# - one compared with a single other one, for the same engines and whatever its scores are: its own strength is free to
#   take them up, so that their derivative in the other's strength is 0.
# The ordinal model with more than two categories shares its thresholds among all pairs. Any rating informs these, and
# through them moves contrasts a little, as it should; contrasts stay exactly where they are when the new ratings ask
# for no other thresholds, which is when they are distributed as the fitted thresholds say.


def _assert_no_contrast_moves(before: Fit, after: Fit) -> None:
    known = len(before.strengths)
    np.testing.assert_allclose(
        after.strengths[:known] - after.strengths[0], before.strengths - before.strengths[0], atol=1e-6
    )


def _two_categories(data: Comparisons) -> Comparisons:
    """Keep who won alone, without the ties."""
    return replace(data, score=np.sign(data.score), scale=1).subset(data.score != 0)


@LAWS
@given(data=ratings(), engine=engines, ridge=st.sampled_from([0.01, 1.0]))
def test_an_entity_that_nobody_rated_moves_no_contrast(data: Comparisons, engine: Engine, ridge: float) -> None:
    more = replace(data, entities=(*data.entities, "new", "newer"))
    before, after = (fit(d, "overall", engine=engine, ridge=ridge) for d in (data, more))
    _assert_no_contrast_moves(before, after)
    np.testing.assert_allclose(after.strengths[4:], 0, atol=1e-9)


@LAWS
@given(data=ratings(), engine=engines, scores=st.lists(st.integers(-3, 3), min_size=1, max_size=6))
def test_a_part_that_meets_the_others_nowhere_moves_no_contrast(
    data: Comparisons, engine: Engine, scores: list[int]
) -> None:
    more = _with_rows(data, [(4, 5, y) for y in scores], ("new", "newer"))
    if engine is Engine.ordinal:
        data, more = _two_categories(data), _two_categories(more)
    _assert_no_contrast_moves(*(fit(d, "overall", engine=engine, ridge=0.1) for d in (data, more)))


@LAWS
@given(data=ratings(), engine=engines, scores=st.lists(st.integers(-3, 3), max_size=6), other=st.integers(0, 3))
def test_an_entity_compared_with_one_other_alone_moves_no_contrast(
    data: Comparisons, engine: Engine, scores: list[int], other: int
) -> None:
    more = _with_rows(data, [(other, 4, y) for y in [1, -1, *scores]], ("new",))
    if engine is Engine.ordinal:
        data, more = _two_categories(data), _two_categories(more)
    _assert_no_contrast_moves(*(fit(d, "overall", engine=engine) for d in (data, more)))


@LAWS
@given(data=ratings(), delta=st.floats(-2, 2), n=st.floats(0.5, 50), other=st.integers(0, 3))
def test_ratings_distributed_as_the_thresholds_say_move_no_contrast(
    data: Comparisons, delta: float, n: float, other: int
) -> None:
    """The new entity lies ``delta`` below another, and its ratings are n times the probabilities of the model."""
    before = fit(data, "overall")
    used = categories(np.bincount(data.score + 3, weights=data.weight, minlength=7))
    below = np.concatenate([[0.0], 1 / (1 + np.exp(delta - used.design @ before.thresholds)), [1.0]])
    more = _with_rows(data, [(other, 4, int(column) - 3) for column in used.columns], ("new",))
    after = fit(replace(more, weight=np.append(data.weight, n * np.diff(below))), "overall")
    _assert_no_contrast_moves(before, after)
    np.testing.assert_allclose(after.thresholds, before.thresholds, atol=1e-6)
    assert after.strengths[other] - after.strengths[4] == pytest.approx(delta, abs=1e-6)


def _with_rows(data: Comparisons, rows: list[tuple[int, int, int]], names: tuple[str, ...]) -> Comparisons:
    a, b, score = zip(*rows, strict=True)
    n = len(rows)
    return replace(
        data,
        entities=data.entities + names,
        a=np.append(data.a, a),
        b=np.append(data.b, b),
        score=np.append(data.score, score),
        rubric=np.append(data.rubric, [0] * n),
        rater=np.append(data.rater, [0] * n),
        prompt=np.append(data.prompt, [0] * n),
        side=np.append(data.side, [0] * n),
        weight=np.append(data.weight, [1.0] * n),
    )


@LAWS
@given(data=ratings(), engine=engines)
def test_merging_duplicate_entities_equals_relabelling_rows(data: Comparisons, engine: Engine) -> None:
    merged = data.relabel(["m0", "m1", "m2", "m2"])
    names = np.array([0, 1, 2, 2])
    by_hand = replace(data, entities=("m0", "m1", "m2"), a=names[data.a], b=names[data.b])
    np.testing.assert_array_equal(
        fit(merged, "overall", engine=engine).strengths, fit(by_hand, "overall", engine=engine).strengths
    )


@settings(max_examples=3, deadline=None, phases=[Phase.generate])
@given(data=ratings(), seed=st.integers(0, 2**32), engine=engines)
def test_one_and_two_threads_give_the_same_bytes(data: Comparisons, seed: int, engine: Engine) -> None:
    plan = Draws(replicates=LANES + 8, seed=seed)  # two blocks
    one, two = (bootstrap(data, plan, engine=engine, threads=threads) for threads in (1, 2))
    assert one.strengths.tobytes() == two.strengths.tobytes()
    assert one.ridged.tobytes() == two.ridged.tobytes()


@LAWS
@given(data=ratings(), engine=engines)
def test_a_sandwich_is_a_covariance_that_sums_to_zero(data: Comparisons, engine: Engine) -> None:
    matrix = sandwich(data, fit(data, "overall", engine=engine)).matrix
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(matrix.sum(axis=0), 0, atol=1e-8)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9


@LAWS
@given(
    table=st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=2, max_size=12),
)
def test_alpha_and_icc_identity(table: list[list[int]]) -> None:
    """For k raters on each of N units alpha = (MSB - MSW) / (MSB + N / (N - 1) (k - 1) MSW)."""
    counts = np.array([np.bincount(row, minlength=7) for row in table])
    alpha, icc = krippendorff_alpha(counts, range(-3, 4)), icc1(counts, range(-3, 4))
    if alpha.value is None:
        assert alpha.reason == "all ratings are equal"
        return
    n, k = len(table), 3
    between, within = icc.observed, icc.expected
    assert alpha.value == pytest.approx((between - within) / (between + n / (n - 1) * (k - 1) * within), abs=1e-12)
    assert icc.value == pytest.approx((between - within) / (between + (k - 1) * within), abs=1e-12)
