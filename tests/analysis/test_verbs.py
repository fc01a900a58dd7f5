"""``vaeval agree, cluster, mos, themes, power, simulate``: results, options, and what cannot be computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.analysis.rank.power import Plan, closed_formula
from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.simulate.published_study import MODELS

MOS_HEADER = ("prompt", "config", "rater", "rubric", "score")
MOS_ROWS: list[list[object]] = [
    ["p1", "x", "r1", "overall", 5],
    ["p1", "x", "r2", "overall", 4],
    ["p2", "x", "r1", "overall", 3],
    ["p1", "y", "r1", "overall", 2],
    ["p2", "y", "r2", "overall", 2],
]


def test_agreement_with_no_shared_unit_is_null_with_a_reason(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    rows = [[f"p{i}", "x", "y", "r1", "overall", i % 3 - 1] for i in range(6)]
    result = invoke("agree", ratings_csv(rows), "--splits", 10, "--json").json
    (row,) = result["rows"]
    assert row["alpha"] is row["icc"] is row["ac2"] is None
    assert row["reason"]
    assert row["n_single"] == 6
    assert result["split_half"][0]["rho"] is None
    assert result["split_half"][0]["reason"]


def test_constant_ratings_have_no_alpha(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    rows = [[f"p{i}", "x", "y", r, "overall", 0] for i in range(4) for r in ("r1", "r2")]
    (row,) = invoke("agree", ratings_csv(rows), "--splits", 0, "--json").json["rows"]
    assert row["alpha"] is None
    assert "equal" in row["reason"]


def test_agreement_where_one_rubric_cannot_be_ranked(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    raters, prompts = ("r1", "r2", "r3", "r4"), ("p1", "p2", "p3")
    rows: list[list[object]] = [
        [p, "x", "y", r, "overall", (i + j) % 4 - 1] for i, p in enumerate(prompts) for j, r in enumerate(raters)
    ]
    rows += [[p, a, b, r, "naturalness", 1] for p in prompts for r in raters for a, b in (("x", "y"), ("v", "w"))]
    result = invoke("agree", ratings_csv(rows), "--splits", 20, "--json").json
    assert {row["rubric"]: row["n_units"] for row in result["rows"]} == {"overall": 3, "naturalness": 6}
    halves = {row["rubric"]: row for row in result["split_half"]}
    assert halves["overall"]["rho"] is not None
    assert halves["naturalness"]["rho"] is None
    assert "2 parts that are never compared" in halves["naturalness"]["reason"]


def test_halves_that_order_nothing_have_no_correlation(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    """Each rater prefers either as often, so the strengths of every half are equal but for rounding."""
    rows = [[f"p{i}", "x", "y", f"r{j}", "overall", (i + j) % 3 - 1] for i in range(3) for j in range(40)]
    (row,) = invoke("agree", ratings_csv(rows), "--splits", 50, "--json").json["split_half"]
    assert row["rho"] is None
    assert "all its strengths equal" in row["reason"]


def test_music_similarity_of_the_readme(human_ratings: Path, invoke: Any) -> None:
    # eleven queries share no document, so nothing ranks across them; raters still agree or not
    columns = "prompt=query,a=doc_a,b=doc_b,rater=worker,score=answer"
    command = ("agree", human_ratings / "sigir2010_judgments.csv", "--columns", columns, "--encoding", "latin-1")
    result = invoke(*command, "--scores", "a=1,b=-1,s=0,=drop", "--splits", 20, "--json").json
    assert result["rows"][0]["alpha"] is not None
    assert "11 parts that are never compared" in result["split_half"][0]["reason"]


def test_agreement_of_a_table_of_counts_is_refused(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    done = invoke("agree", ratings_csv([["x", "y", 1, 3]], ("a", "b", "score", "count")))
    assert done.code == 1
    assert "who rated what" in done.err


def test_agree_prints_both_tables(small_run: Path, invoke: Any) -> None:
    done = invoke("agree", small_run, "--rubric", "overall", "--splits", 20, "--orientation", "presented")
    assert done.code == 0
    assert "A2: inter-rater agreement" in done.out
    assert "A3: split-half" in done.out


def test_clusters_come_with_their_reliability(small_run: Path, invoke: Any) -> None:
    command = ("cluster", small_run, "--resamples", 60, "--halves", 20, "--json")
    result = invoke(*command).json
    assert {row["rubric"] for row in result["rows"]} == set(KEYS) - {"overall"}
    assert {row["group"] for row in result["rows"]} == {1, 2}
    assert 0 <= result["reproduction"] <= 1
    assert 0 <= result["chance"] <= 1
    assert -1 <= result["adjusted_rand"] <= 1
    assert len(result["similarity"]) == 11
    assert invoke(*command).json == result
    assert invoke(*command, "--no-pool").json["similarity"] != result["similarity"]
    three = invoke(*command, "--groups", 3, "--pool", f"Low=Cascade+{MODELS[-1]}").json
    assert {row["group"] for row in three["rows"]} == {1, 2, 3}
    assert "unknown model 'Qwen'" in invoke(*command, "--pool", "Low=Cascade+Qwen").err


def test_clusters_of_one_rubric_are_refused(small_run: Path, invoke: Any) -> None:
    done = invoke("cluster", small_run, "--rubric", "naturalness", "--resamples", 20, "--halves", 0)
    assert done.code == 1
    assert len(done.err.strip().splitlines()) == 1


def test_mos_is_averaged_by_sample(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    path = ratings_csv(MOS_ROWS, MOS_HEADER)
    rows = invoke("mos", path, "--json", "--resamples", 50).json["rows"]
    # x: (4.5 + 3) / 2 by sample, 4 pooled
    assert [(r["entity"], r["mos"], r["n_samples"]) for r in rows] == [("x", 3.75, 2), ("y", 2.0, 2)]
    pooled = invoke("mos", path, "--pooled", "--json", "--resamples", 50).json["rows"]
    assert pooled[0]["mos"] == 4.0
    assert rows[0]["share_5"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("row", "column", "value", "said"),
    [
        (2, 4, 6, "6 is out of range; scores are whole numbers from 1 to 5"),
        (2, 4, 2.5, "is fractional"),
        (3, 3, "overal", "Did you mean 'overall'"),
        (5, 2, "", "is blank"),
    ],
)
def test_bad_mos_rows(
    row: int, column: int, value: object, said: str, ratings_csv: Callable[..., Path], invoke: Any
) -> None:
    rows = [list(r) for r in MOS_ROWS]
    rows[row - 1][column] = value
    done = invoke("mos", ratings_csv(rows, MOS_HEADER))
    assert (done.code, done.out) == (1, "")
    assert f"row {row}" in done.err
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_second_mos_rating_is_refused(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    done = invoke("mos", ratings_csv([*MOS_ROWS, MOS_ROWS[0]], MOS_HEADER))
    assert "row 6: the same rater, response and rubric as row 1" in done.err


def test_mos_of_one_rater_has_no_interval(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    alone = [row for row in MOS_ROWS if row[2] == "r1"]
    rows = invoke("mos", ratings_csv(alone, MOS_HEADER), "--json", "--resamples", 50).json["rows"]
    assert all(row["low"] is None and row["reason"] for row in rows)
    assert [type(row["n_ratings"]) for row in rows] == [int, int]


def test_the_voice_conversion_challenge(human_ratings: Path, invoke: Any) -> None:
    names = "prompt=sample,config=system,score=rating"
    keep = ("--where", "state=Valid", "--where", "method=Grade5", "--where", "panel=En", "--duplicates", "keep")
    command = ("mos", human_ratings / "vcc2020_mos.csv.gz", "--columns", names, "--any-rubric", *keep)
    rows = invoke(*command, "--json", "--resamples", 20).json["rows"]
    assert len(rows) > 30
    assert all(1 <= row["mos"] <= 5 and row["low"] <= row["mos"] <= row["high"] for row in rows)


def test_themes_of_a_run(small_run: Path, invoke: Any) -> None:
    command = ("themes", small_run, "--resamples", 40, "--clusters", 4)
    result = invoke(*command, "--json").json
    assert len(result["rows"]) == 70
    assert {row["entity"] for row in result["rows"]} == set(MODELS)
    assert all(0 <= row["low"] <= row["rate"] <= row["high"] <= 1 for row in result["rows"])
    assert len(result["clusters"]) == 4
    assert sum(c["size"] for c in result["clusters"]) == result["n_comments"]
    for cluster in result["clusters"]:
        assert sum(r["rate"] * r["n_comments"] for r in cluster["rates"]) == pytest.approx(cluster["size"])
    assert invoke(*command, "--json").json == result
    assert "Clusters of comments" in invoke(*command).out


def test_themes_of_a_file_and_a_lexicon(ratings_csv: Callable[..., Path], tmp_path: Path, invoke: Any) -> None:
    rows = [
        ["p1", "x", "r1", "a nice one"],
        ["p1", "y", "r2", "not nice"],
        ["p2", "x", "r2", ""],
        ["p2", "y", "r1", "x"],
    ]
    path = ratings_csv(rows, ("prompt", "config", "rater", "text"))
    lexicon = tmp_path / "mine.yaml"
    lexicon.write_text("negation: {negators: [not]}\nthemes: {nice: {terms: [nice]}}\n")
    command = ("themes", path, "--lexicon", lexicon, "--clusters", 0, "--json", "--resamples", 20)
    rates = {row["entity"]: (row["rate"], row["n_comments"]) for row in invoke(*command).json["rows"]}
    assert rates == {"x": (1.0, 1), "y": (0.0, 2)}
    assert invoke(*command[:2], "--clusters", 9).err.startswith("Error: 3 distinct comments cannot form 9")
    shown = invoke("themes", "--show-lexicon").out
    assert invoke("themes", path, "--show-lexicon").out == shown
    assert "negators" in shown
    assert "empath*" in shown


def test_comments_on_pairs_only(small_run: Path, tmp_path: Path, invoke: Any) -> None:
    done = invoke("themes", small_run / "ratings.parquet")
    assert done.code == 1
    assert "'config': the column is missing" in done.err


def test_the_closed_formula() -> None:
    # 61,000 / 819 + 17,000 / 283 + 2,060,000 / 15,725 = 74.48 + 60.07 + 131.00 = 265.55; its root is 16.30
    assert closed_formula(Plan(prompts=819, raters=283, ratings_per_pair=2)) == pytest.approx(16.30, abs=0.005)


def test_power_and_its_reverse(invoke: Any) -> None:
    command = ("power", "--prompts", 60, "--raters", 40, "--studies", 3, "--ci", "sandwich", "--json")
    result = invoke(*command, "--target", 30).json
    (row,) = result["rows"]
    assert 20 < row["half_width"] < 90
    assert row["formula"] == pytest.approx(closed_formula(Plan(prompts=60, raters=40, ratings_per_pair=2)))
    assert row["true_spread"] is None
    assert result["answer"]["half_width"] <= 30
    assert result["answer"]["prompts"] > 60
    assert result["answer"]["tasks"] == round(result["answer"]["prompts"] * 10 * 2 * 0.96)
    assert set(result["by_model"]) == set(MODELS)
    # one configuration against four: Cascade's interval is the widest
    assert max(result["by_model"], key=result["by_model"].get) == "Cascade"


def test_power_says_when_raters_are_too_few(invoke: Any) -> None:
    done = invoke("power", "--prompts", 40, "--raters", 4, "--studies", 2, "--ci", "sandwich", "--target", 3)
    assert done.code == 1
    assert "plan more raters" in done.err
    assert "overall" in done.out, "what the plan gives is told all the same"


def test_the_example_of_power_reaches_its_target(invoke: Any) -> None:
    example = invoke("power", "--help").out.split("Example: vaeval ")[1].split("\n\n")[0].split()
    assert invoke(*example, "--ci", "sandwich", "--studies", 3).code == 0


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize(
    "command",
    [
        ("power", "--target"),
        ("rank", "ratings.csv", "--ridge"),
        ("simulate", "new", "--mos-per-sample"),
        ("judge", "study", "--model", "m", "--url", "http://127.0.0.1:1/v1", "--timeout"),
    ],
)
def test_a_number_that_is_none_is_a_usage_error(
    command: tuple[str, ...], value: str, tmp_path: Path, invoke: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(*command, value)
    assert done.code == 2
    assert f"{value} is not a finite number" in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_output_of_another_kind_is_refused_before_anything_is_read(tmp_path: Path, invoke: Any) -> None:
    done = invoke("rank", tmp_path / "none.csv", "--out", tmp_path / "board.txt")
    assert done.code == 1
    assert done.err == f"Error: {tmp_path / 'board.txt'}: cannot be written; name a .json, .csv or .md file\n"


def test_an_output_that_cannot_be_written_is_one_line(
    ratings_csv: Callable[..., Path], good_rows: list[list[object]], tmp_path: Path, invoke: Any
) -> None:
    path = ratings_csv(good_rows)
    done = invoke("rank", path, "--ci", "sandwich", "--out", path / "board.json")  # below a file
    assert done.code == 1
    assert done.err.startswith(f"Error: {path}")
    assert len(done.err.splitlines()) == 1


def test_simulate_says_what_it_wrote(tmp_path: Path, invoke: Any) -> None:
    root = tmp_path / "run"
    done = invoke("simulate", root, "--prompts", 19, "--raters", 30, "--mos-per-sample", 0, "--seed", 4)
    assert done.code == 0
    assert "ratings: " in done.out
    assert json.loads((root / "run.json").read_text())["about"]["simulated"] is True
    assert not (root / "mos.parquet").exists()
    again = invoke("simulate", root)
    assert again.code == 1
    assert "already holds a run" in again.err
    assert invoke("check", root).code == 0
