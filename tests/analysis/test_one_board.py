"""One function ranks: whatever asks, equal ratings and settings give equal numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.analysis.agree.agreement import agreements
from vaeval_tasks.analysis.agree.judged import judge_views
from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, load_ratings
from vaeval_tasks.analysis.load.source import Duplicates, Source
from vaeval_tasks.analysis.mos.opinions import load_mos, mos_rows, mos_summaries
from vaeval_tasks.analysis.rank.board import rank, rank_able
from vaeval_tasks.analysis.rank.power import Plan, PowerSettings, expected_width
from vaeval_tasks.analysis.rank.slices import slice_boards
from vaeval_tasks.analysis.study_analysis import AnalysisSettings, StudyAnalysis, study_tables
from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.evaluate import preference as hub
from vaeval_tasks.simulate import Shape, simulate
from vaeval_tasks.simulate.published_study import MODELS
from vaeval_tasks.simulate.study_comparisons import study_comparisons
from vaeval_tasks.stats import Ci, Clusters, Draws, RankSettings, Unclustered, ranking

COUNTS = {
    ("x", "y"): (3, 9, 30, 42, 57, 38, 21),
    ("x", "z"): (6, 11, 34, 59, 52, 23, 15),
    ("y", "z"): (19, 35, 40, 45, 35, 23, 3),
}
"""600 independent ratings of three systems, from -3 to +3: 0.1.0 gave them intervals of 4 Elo points in the module."""
RATED = [(a, b, score) for (a, b), counts in COUNTS.items() for score, n in zip(range(-3, 4), counts, strict=True)
         for _ in range(n)]  # fmt: skip
NAMED = [(), ("rater",), ("prompt",), ("rater", "prompt")]
Written = Callable[..., Path]


def columns(named: tuple[str, ...], seed: int = 3) -> dict[str, list[Any]]:
    """The ratings in some order; 40 raters and 25 prompts, of which no two make one session twice."""
    rng = np.random.default_rng(seed)
    turned = [
        (b, a, -y) if flip else (a, b, y) for (a, b, y), flip in zip(RATED, rng.random(len(RATED)) < 0.5, strict=True)
    ]
    a, b, score = zip(*(turned[i] for i in rng.permutation(len(RATED))), strict=True)
    visit = np.arange(len(RATED))
    who = {"rater": [f"r{i}" for i in visit % 40], "prompt": [f"p{i}" for i in (visit // 40 + visit) % 25]}
    blank = [""] * len(RATED)
    return {"a": list(a), "b": list(b), "score": list(score)} | {n: who[n] if n in named else blank for n in who}


def board_of(
    rows: dict[str, list[Any]], named: tuple[str, ...], invoke: Any, ratings_csv: Written, *args: object
) -> Any:
    """What ``vaeval rank`` prints of the same ratings."""
    header = ("a", "b", "score", *named) + (() if len(named) == 2 else ("count",))
    listed = [
        [rows["a"][i], rows["b"][i], rows["score"][i], *(rows[n][i] for n in named), *([1] if len(named) < 2 else [])]
        for i in range(len(rows["a"]))
    ]
    return invoke("rank", ratings_csv(listed, header), "--json", "--duplicates", "keep", *args).json


def of_module(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = ("systems", "cmos_elo", "low", "high", "rank_low", "rank_high", "n_ratings")
    return list(zip(*(result[name] for name in names), strict=True))


def close(first: list[tuple[Any, ...]], second: list[tuple[Any, ...]]) -> bool:
    """The same systems, with numbers equal but for rounding."""
    same = [row[0] for row in first] == [row[0] for row in second]
    return same and np.allclose([row[1:] for row in first], [row[1:] for row in second], rtol=1e-9)


def of_board(result: Any) -> list[tuple[Any, ...]]:
    names = ("entity", "elo", "low", "high", "rank_low", "rank_high", "n_ratings")
    return [tuple(row[name] for name in names) for row in result["rows"]]


@pytest.mark.parametrize("named", NAMED, ids=lambda named: "+".join(named) or "nothing")
@pytest.mark.parametrize("ci", list(Ci))
@pytest.mark.parametrize("engine", ["ordinal", "massey", "fractional"])
def test_the_module_and_rank_give_the_same_numbers(
    ci: Ci, engine: str, named: tuple[str, ...], invoke: Any, ratings_csv: Written
) -> None:
    rows = columns(named)
    module = hub.cmos_elo_result(rows, ci=ci.value, engine=engine, resamples=100, seed=4)
    args = ("--ci", ci.value, "--engine", engine, "--resamples", 100, "--seed", 4)
    board = board_of(rows, named, invoke, ratings_csv, *args)
    assert of_module(module) == of_board(board)
    assert module["method"] == board["fit"]["method"]
    assert module["reason"] == "; ".join(board["notes"])
    assert (module["low"][0] is None) == (not named and ci is not Ci.iid)


def test_independent_ratings_have_one_interval_whoever_is_named(invoke: Any, ratings_csv: Written) -> None:
    first, *others = (hub.cmos_elo_result(columns(named), ci="iid") for named in NAMED)
    for other in others:
        assert close(of_module(other), of_module(first))
    # half-widths of 600 ratings by the model's own covariance, in Elo: 19 to 22
    assert [(h - low) / 2 for low, h in zip(first["low"], first["high"], strict=True)] == pytest.approx(
        [19.6, 20.6, 21.6], abs=0.1
    )
    counted = [
        [a, b, score, n] for (a, b), counts in COUNTS.items() for score, n in zip(range(-3, 4), counts, strict=True)
    ]
    table = invoke("rank", ratings_csv(counted, ("a", "b", "score", "count")), "--ci", "iid", "--json").json
    assert close(of_board(table), of_module(first))


@pytest.mark.parametrize("engine", ["ordinal", "massey", "fractional"])
def test_no_interval_is_without_width(engine: str) -> None:
    """Ratings that all agree: Massey and partial margins fit them to the last, and nothing is left to vary."""
    rows = {"a": ["x"] * 5, "b": ["y"] * 5, "score": [1.0] * 5, "rater": [""] * 5, "prompt": [""] * 5}
    ridge = 0.1 if engine == "ordinal" else 0.0
    found = hub.cmos_elo_result(rows, ci="iid", engine=engine, ridge=ridge)
    for low, high in zip(found["low"], found["high"], strict=True):
        assert low is high is None or low < high
    if engine != "ordinal":
        assert found["low"] == [None, None]
        assert "no rating is off" in found["reason"]


@pytest.mark.parametrize(
    ("named", "clusters", "words"),
    [
        (("rater", "prompt"), "two_way", "two-way clustered"),
        (("rater",), "rater", "clustered by rater"),
        (("prompt",), "prompt", "clustered by prompt"),
        ((), None, "no intervals"),
    ],
)
def test_clusters_are_those_that_the_data_have(
    named: tuple[str, ...], clusters: str | None, words: str, invoke: Any, ratings_csv: Written
) -> None:
    board = board_of(columns(named), named, invoke, ratings_csv, "--ci", "sandwich")
    assert board["fit"]["clusters"] == clusters
    assert words in board["fit"]["method"]
    assert bool(board["notes"]) == (clusters != "two_way")


def test_a_single_prompt_leaves_the_raters(invoke: Any, ratings_csv: Written) -> None:
    """Pairs of football teams by 1,929 raters have no prompts: only independence was offered."""
    by_rater = columns(("rater",))
    one = by_rater | {"prompt": ["p"] * len(RATED)}
    alone = board_of(by_rater, ("rater",), invoke, ratings_csv, "--ci", "sandwich")
    beside = board_of(one, ("rater", "prompt"), invoke, ratings_csv, "--ci", "sandwich")
    assert of_board(alone) == of_board(beside)
    assert beside["notes"] == [
        "480 of 600 ratings repeat the rater, pair and rubric of another: all are kept",
        "intervals are clustered by rater alone: there is one prompt, so nothing tells how prompts differ",
    ]
    both = one | {"rater": ["r"] * len(RATED)}
    none = board_of(both, ("rater", "prompt"), invoke, ratings_csv)
    assert {row["low"] for row in none["rows"]} == {None}
    assert "one rater and one prompt" in none["notes"][1]


def test_ratings_added_with_and_without_a_rater_do_not_mix() -> None:
    rows = columns(("rater",))
    rows["rater"][6] = ""
    with pytest.raises(InputError, match="row 7, field 'rater': names no rater, and other rows do"):
        hub.cmos_elo_result(rows)


@pytest.fixture(scope="module")
def study(small_run: Path) -> Ratings:
    return load_ratings(Source(path=small_run))


def test_power_is_a_ranking_of_a_simulated_study() -> None:
    plan = Plan(prompts=40, raters=20, ratings_per_pair=1)
    shape = Shape(prompts=40, raters=20, raters_per_pair=1, completion=0.96, mos_per_sample=0)
    data = study_comparisons(simulate(shape, seed=2 * 100_003), ("overall",), by_model=True)
    for ci in Ci:
        settings = PowerSettings(ci=ci, studies=1, resamples=30, seed=2)
        found = ranking(data, RankSettings(ci=ci, resamples=30, seed=2 * 100_003)).rubrics[0].standings
        halves = {
            e: (i.high - i.low) / 2  # type: ignore[operator]
            for e, i in zip(found.fit.entities, found.intervals, strict=True)
        }
        assert expected_width(plan, settings).by_model == tuple(halves[model] for model in MODELS)


def test_people_beside_a_judge_stand_as_on_the_board(study: Ratings) -> None:
    one = study.subset(study.data.rater == 0)  # stands for a judge: one rater on many prompts
    settings = RankSettings(resamples=30, ridge=0.0)
    (view,) = judge_views(study, one, ["overall"], Level.model, Draws(replicates=30))
    board = rank(study, level=Level.model, rubrics=["overall"], settings=settings)
    assert view.people is not None
    intervals = dict(zip(view.people.fit.entities, view.people.intervals, strict=True))
    assert {row.entity: (row.low, row.high) for row in board.rows} == {e: (i.low, i.high) for e, i in intervals.items()}
    judge = ranking(one.at(Level.model).only("overall").used(), settings) if view.board else None
    if judge is not None and view.board is not None:
        assert judge.rubrics[0].choice.clusters is Clusters.prompt
        assert judge.rubrics[0].standings.intervals == view.board.intervals


def test_tables_and_slices_are_ranks(small_run: Path, study: Ratings) -> None:
    settings = AnalysisSettings(resamples=20, splits=0, seed=1)
    analysed = StudyAnalysis(source=Source(path=small_run), settings=settings)
    made = {t.name: t for t in study_tables(analysed).tables}
    for name, level in (("board", Level.model), ("board_config", Level.config)):
        board = rank_able(study, level=level, rubrics=study.data.rubrics, settings=RankSettings(resamples=20, seed=1))
        shown = [(row["rubric"], row["entity"], row["elo"], row["low"], row["high"]) for row in made[name].rows]
        assert shown == [(row.rubric, row.entity, row.elo, row.low, row.high) for row in board.rows]
    prompts = np.array([study.prompt_info[p].category == "advice" for p in study.prompts])
    part = study.subset(prompts[study.data.prompt])
    board = rank(part, level=Level.model, rubrics=["overall"], settings=RankSettings(ci=Ci.sandwich))
    slices = slice_boards(study, ["overall"], Level.model, RankSettings())
    (advice,) = [one for one in slices if (one.field, one.value) == ("category", "advice")]
    assert advice.rows == board.rows


def test_a_rubric_without_a_ranking_is_a_record_not_a_sentence(good_rows: list[Any], ratings_csv: Written) -> None:
    won = [["p1", "x", "y", f"r{i}", "naturalness", 3] for i in range(4)]
    ratings = load_ratings(Source(path=ratings_csv([*good_rows, *won])))
    settings = RankSettings(resamples=10, ridge=0.0)
    board = rank_able(ratings, level=Level.config, rubrics=ratings.data.rubrics, settings=settings)
    assert {row.rubric for row in board.rows} == {"overall"}
    (left,) = board.unranked
    assert left.rubric == "naturalness"
    assert left.note == f"rubric 'naturalness': {left.reason}"
    assert left.note in board.notes
    assert board.clusters[0].clusters is Clusters.two_way


def test_why_there_are_no_intervals_is_a_value(ratings_csv: Written) -> None:
    rows = [
        [a, b, score, n] for (a, b), counts in COUNTS.items() for score, n in zip(range(-3, 4), counts, strict=True)
    ]
    ratings = load_ratings(Source(path=ratings_csv(rows, ("a", "b", "score", "count"))))
    board = rank(ratings, level=Level.config, rubrics=["overall"], settings=RankSettings())
    assert (board.clusters[0].clusters, board.clusters[0].reason) == (None, Unclustered.unnamed)


def test_the_mos_module_is_vaeval_mos(tmp_path: Path, ratings_csv: Written) -> None:
    rng = np.random.default_rng(8)
    n = 240
    rows = {
        "system": [f"s{i}" for i in rng.integers(3, size=n)],
        "prompt": [f"p{i}" for i in rng.integers(12, size=n)],
        "rater": [f"r{i}" for i in rng.integers(15, size=n)],
        "score": [float(s) for s in rng.integers(1, 6, size=n)],
    }
    listed = [[rows["prompt"][i], rows["system"][i], rows["rater"][i], int(rows["score"][i])] for i in range(n)]
    path = ratings_csv(listed, ("prompt", "config", "rater", "score"))
    table = load_mos(Source(path=path, duplicates=Duplicates.keep))
    for pooled in (False, True):
        found = mos_rows(mos_summaries(table.data, ["overall"], Draws(replicates=80, seed=2), pooled=pooled))
        module = hub.mos_result(rows, pooled=pooled, resamples=80, seed=2)
        shown = zip(*(module[k] for k in ("systems", "scores", "low", "high", "n_ratings", "n_samples")), strict=True)
        assert list(shown) == [
            tuple(row[k] for k in ("entity", "mos", "low", "high", "n_ratings", "n_samples")) for row in found
        ]


def test_the_agreement_module_is_vaeval_agree(ratings_csv: Written) -> None:
    rng = np.random.default_rng(9)
    rows = [
        [f"p{p}", "x", "y", f"r{r}", "overall", int(rng.integers(-3, 4))]
        for p in range(30)
        for r in range(rng.integers(1, 4))
    ]
    path = ratings_csv(rows)
    found = agreements(load_ratings(Source(path=path)), ["overall"])[0].found
    given = {"unit": [r[0] for r in rows], "rater": [r[3] for r in rows], "score": [float(r[5]) for r in rows]}
    module = hub.agreement_result(given, mirrored=True)
    theirs = (found.alpha.value, found.icc.value, found.ac.value, found.n_units)
    ours = [module[name] for name in ("rater_agreement", "icc1", "ac2", "n_units")]
    assert ours == [pytest.approx(value) for value in theirs]
    assert module["n_skipped"] == found.n_single
