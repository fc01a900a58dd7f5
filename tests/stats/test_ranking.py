"""The choice of clusters, and what :func:`ranking` makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vaeval_tasks.stats import (
    Ci,
    Clusters,
    Comparisons,
    Draws,
    Engine,
    RankSettings,
    Scheme,
    Unclustered,
    bootstrap,
    choose_clusters,
    comparisons,
    fit,
    ranking,
    sandwich,
    standings,
)
from vaeval_tasks.stats.clusters import lacking

U = Unclustered


@pytest.mark.parametrize(
    ("raters", "prompts", "clusters", "reason"),
    [
        (9, 8, Clusters.two_way, None),
        (9, None, Clusters.rater, U.prompts_unnamed),
        (9, 1, Clusters.rater, U.one_prompt),
        (None, 9, Clusters.prompt, U.raters_unnamed),
        (1, 9, Clusters.prompt, U.one_rater),
        (None, None, None, U.unnamed),
        (1, None, None, U.one_rater),
        (None, 1, None, U.one_prompt),
        (1, 1, None, U.one_of_each),
    ],
)
def test_the_clusters_that_data_have(
    raters: int | None, prompts: int | None, clusters: Clusters | None, reason: Unclustered | None
) -> None:
    found = choose_clusters(raters, prompts)
    assert (found.clusters, found.reason) == (clusters, reason)
    for way in Clusters:
        asked = choose_clusters(raters, prompts, wanted=way)
        assert asked.clusters in (way, None)
        assert (asked.clusters is None) == (lacking(way, raters, prompts) is not None) == (asked.reason is not None)
    assert choose_clusters(raters, prompts, wanted=Clusters.none).clusters is Clusters.none
    assert choose_clusters(raters, prompts, 1.5, wanted=Clusters.none).reason is U.one_rating


def unnamed(data: Comparisons, *, raters: bool = False, prompts: bool = False) -> Comparisons:
    """The same ratings, by nobody and on nothing unless said."""
    zero = np.zeros(len(data), dtype=np.int64)
    if not raters:
        data = replace(data, rater=zero, n_raters=1, raters_named=False)
    return data if prompts else replace(data, prompt=zero, n_prompts=1, prompts_named=False)


@pytest.mark.parametrize("engine", list(Engine))
def test_one_way_clusters_are_those_of_sandwich_and_bootstrap(simulate: object, engine: Engine) -> None:
    data: Comparisons = simulate([0.5, 0.0, -0.5])  # type: ignore[operator]
    for kept, way, scheme in (("raters", Clusters.rater, Scheme.rater), ("prompts", Clusters.prompt, Scheme.prompt)):
        part = unnamed(data, **{kept: True})
        settings = RankSettings(engine=engine, ci=Ci.sandwich)
        expected = standings(sandwich(data, fit(data, "r0", engine=engine), clusters=way), "r0")
        assert ranking(part, settings).rubrics[0].standings.intervals == expected.intervals
        drawn = bootstrap(data, Draws(replicates=40, seed=3, scheme=scheme), engine=engine)
        found = ranking(part, replace(settings, ci=Ci.bootstrap, resamples=40, seed=3)).rubrics[0]
        assert found.standings.intervals == standings(drawn, "r0").intervals
        assert found.choice.clusters is way
        assert ranking(data, replace(settings, clusters=way)).rubrics[0].standings.intervals == expected.intervals


def test_rubrics_choose_for_themselves(simulate: object) -> None:
    """One rubric was heard on one prompt only; the other keeps both ways and the draws that it would have alone."""
    data: Comparisons = simulate([[0.5, 0.0, -0.5], [0.4, 0.1, -0.5]], n=2000)  # type: ignore[operator]
    mixed = data.subset((data.rubric == 0) | (data.prompt == 3))
    for ci in (Ci.bootstrap, Ci.sandwich):
        seen: list[int] = []
        found = ranking(mixed, RankSettings(ci=ci, resamples=30), progress=seen.append)
        assert [one.choice.clusters for one in found.rubrics] == [Clusters.two_way, Clusters.rater]
        assert found.notes[0] == f"r1: intervals are clustered by rater alone: {U.one_prompt.text}"
        assert " or " in found.method
        assert sum(seen) == (30 if ci is Ci.bootstrap else 0)
        assert all(i.low is not None for one in found.rubrics for i in one.standings.intervals)


@pytest.mark.parametrize("ci", [Ci.iid, Ci.bootstrap])
@pytest.mark.parametrize("engine", list(Engine))
def test_a_count_is_so_many_ratings(simulate: object, engine: Engine, ci: Ci) -> None:
    """Written out or counted, unnamed ratings are independent: close to what the model itself says."""
    data = unnamed(simulate([0.5, 0.0, -0.5], n=900))  # type: ignore[operator]
    cells, weight = np.unique(np.stack([data.a, data.b, data.score]), axis=1, return_counts=True)
    counted = comparisons(
        entities=data.entities, rubrics=("r0",), a=cells[0], b=cells[1], score=cells[2], rater=None, prompt=None,
        weight=weight,
    )  # fmt: skip
    settings = RankSettings(engine=engine, ci=ci, clusters=Clusters.none, resamples=400)
    widths = [
        [i.high - i.low for i in ranking(d, settings).rubrics[0].standings.intervals]  # type: ignore[operator]
        for d in (data, counted)
    ]
    assert widths[0] == pytest.approx(widths[1], rel=1e-9 if ci is Ci.iid else 0.12)
    if engine is Engine.ordinal:
        model = fit(data, "r0")
        assert widths[1] == pytest.approx(2 * 1.96 * model.standard_errors * model.unit_size, rel=0.15)


def test_unnamed_ratings_have_no_session() -> None:
    """A pair's ratings by nobody were once one session, whose gradient is zero at the fit: intervals without width."""
    data = comparisons(
        entities=("x", "y"), a=[0] * 60, b=[1] * 60, score=[2, -1, 0, 1, -2, 1] * 10, rater=None, prompt=None
    )
    for clusters in (None, Clusters.none):
        found = ranking(data, RankSettings(ci=Ci.iid, clusters=clusters)).rubrics[0].standings.intervals[0]
        assert found.low is not None
        assert found.high is not None
        assert 30 < found.high - found.low < 150
    named = replace(data, raters_named=True, prompts_named=True)  # truly one rater on one pair: one session
    alone = ranking(named, RankSettings(ci=Ci.iid)).rubrics[0].standings.intervals[0]
    assert alone.low is None
    assert alone.reason


def covered(seed: int, studies: int) -> float:
    """The share of nominal 95 % intervals of three systems that hold the truth, over independent ratings by nobody."""
    rng = np.random.default_rng(seed)
    truth, tau = np.array([0.4, 0.0, -0.4]), np.array([-2.3, -1.3, -0.5, 0.5, 1.3, 2.3])
    hits = []
    for _ in range(studies):
        a = rng.integers(3, size=100)
        b = (a + rng.integers(1, 3, size=100)) % 3
        score = np.searchsorted(tau, truth[a] - truth[b] + rng.logistic(size=100)) - 3
        data = comparisons(entities=("x", "y", "z"), a=a, b=b, score=score, rater=None, prompt=None)
        found = ranking(data, RankSettings(ci=Ci.iid)).rubrics[0].standings
        elo = 1000 + 400 / np.log(10) * truth
        hits += [i.low <= t <= i.high for i, t in zip(found.intervals, elo, strict=True)]  # type: ignore[operator]
    return float(np.mean(hits))


def test_independent_intervals_cover_what_they_say() -> None:
    """250 studies of three intervals: the share's own error is about 1 %; 84 % were covered before."""
    assert 0.93 <= covered(seed=1, studies=250) <= 0.97
