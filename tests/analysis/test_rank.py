"""``vaeval rank``: the board's form, its numbers, what cannot be computed, and where it reads from."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.simulate import SimulatedStudy
from vaeval_tasks.simulate.published_study import CONFIGS, MODELS
from vaeval_tasks.simulate.truth import true_model_elo

Rows = list[list[object]]
ROW_KEYS = {
    "rubric", "entity", "elo", "low", "high", "rank_low", "rank_high", "n_ratings", "n_raters", "n_prompts"
}  # fmt: skip
FAST = ("--resamples", 40)


def test_the_json_object_has_the_published_form(small_run: Path, invoke: Any) -> None:
    result = invoke("rank", small_run, "--json", *FAST).json
    assert {"rows", "fit"} <= set(result)
    assert all(set(row) == ROW_KEYS for row in result["rows"])
    assert list(dict.fromkeys(row["rubric"] for row in result["rows"])) == list(KEYS)
    fit = result["fit"]
    assert set(fit["log_likelihood"]) == set(KEYS)
    assert "ordinal Bradley-Terry" in fit["method"]
    for key in KEYS:
        rows = [row for row in result["rows"] if row["rubric"] == key]
        assert {row["entity"] for row in rows} == set(MODELS)
        assert sum(row["elo"] for row in rows) / 7 == pytest.approx(1000)
        assert [row["elo"] for row in rows] == sorted((row["elo"] for row in rows), reverse=True)
        for place, row in enumerate(rows, 1):
            assert row["low"] < row["elo"] < row["high"]
            assert row["rank_low"] <= place <= row["rank_high"]
            assert row["n_ratings"] > 0
            assert 0 < row["n_raters"] <= 50
            assert 0 < row["n_prompts"] <= 171


def test_one_rubric_has_plain_numbers_in_fit(small_run: Path, invoke: Any) -> None:
    fit = invoke("rank", small_run, "--rubric", "overall", "--json", *FAST).json["fit"]
    assert fit["log_likelihood"] < 0
    assert fit["thresholds"] == sorted(fit["thresholds"])
    assert len(fit["thresholds"]) == 3


def test_a_seed_gives_the_same_bytes_and_another_seed_other_intervals(small_run: Path, invoke: Any) -> None:
    command = ("rank", small_run, "--rubric", "overall", "--json", *FAST)
    first, again = invoke(*command, "--seed", 5), invoke(*command, "--seed", 5)
    assert first.out == again.out
    other = invoke(*command, "--seed", 6).json["rows"]
    assert [r["elo"] for r in other] == [r["elo"] for r in first.json["rows"]]
    assert [r["low"] for r in other] != [r["low"] for r in first.json["rows"]]


@pytest.mark.parametrize(("by", "count"), [("model", 7), ("config", 19), ("voice", 13), ("thinking", 10)])
def test_every_level(by: str, count: int, small_run: Path, invoke: Any) -> None:
    rows = invoke("rank", small_run, "--by", by, "--rubric", "overall", "--ci", "sandwich", "--json").json["rows"]
    assert len(rows) == count
    if by == "voice":
        assert {"Grok voice-think-fast 2.0/Ara", "Cascade/Rachel"} <= {r["entity"] for r in rows}


@pytest.mark.parametrize("engine", ["ordinal", "massey", "fractional"])
@pytest.mark.parametrize("ci", ["bootstrap", "sandwich", "iid"])
def test_engines_and_intervals(engine: str, ci: str, small_run: Path, invoke: Any) -> None:
    command = ("rank", small_run, "--rubric", "overall", "--engine", engine, "--ci", ci, "--json", *FAST)
    result = invoke(*command).json
    order = [r["entity"] for r in result["rows"]]
    assert order[0] in MODELS[:2]
    assert order[-1] == MODELS[-1]
    assert all(r["low"] < r["elo"] < r["high"] for r in result["rows"])
    assert result["fit"]["unit"] == ("CMOS points" if engine == "massey" else "Elo")
    assert (result["fit"]["log_likelihood"] is None) == (engine == "massey")


def test_planted_models_are_within_their_intervals(small_study: SimulatedStudy, small_run: Path, invoke: Any) -> None:
    truth = true_model_elo(small_study.truth)
    rows = invoke("rank", small_run, "--json", "--resamples", 200).json["rows"]
    inside = [row["low"] <= truth[row["rubric"]][row["entity"]] <= row["high"] for row in rows]
    # 84 intervals at a nominal 95 % (the product bootstrap covers more); rubrics share raters, so allow for 7 misses
    assert sum(inside) >= 77
    overall = [row for row in rows if row["rubric"] == "overall"]
    for i, better in enumerate(overall):
        for worse in overall[i + 1 :]:
            if better["rank_high"] < worse["rank_low"]:
                assert truth["overall"][better["entity"]] > truth["overall"][worse["entity"]]


def test_difference_intervals(small_run: Path, invoke: Any) -> None:
    pair = ("Nova 2 Sonic", "Cascade")
    command = ("rank", small_run, "--rubric", "overall", "--json", *FAST, "--difference", *pair)
    result = invoke(*command).json
    elo = {r["entity"]: r["elo"] for r in result["rows"]}
    (found,) = result["differences"]
    assert found["value"] == pytest.approx(elo[pair[0]] - elo[pair[1]])
    assert found["low"] < found["value"] < found["high"]
    assert found["separated"] == (found["low"] > 0 or found["high"] < 0)
    assert "Differences" in invoke(*[c for c in command if c != "--json"]).out


def test_where_filters_prompts(small_study: SimulatedStudy, small_run: Path, invoke: Any) -> None:
    command = ("rank", small_run, "--rubric", "overall", "--ci", "sandwich", "--json")
    rows = invoke(*command, "--where", "category=planning", "--where", "category=advice").json["rows"]
    inside = sum(p.category in ("planning", "advice") for p in small_study.prompts)
    assert max(r["n_prompts"] for r in rows) == inside
    degraded = invoke(*command, "--where", "level=Degraded", "--ridge", 0.01).json["rows"]
    assert max(r["n_prompts"] for r in degraded) == sum(not p.difficulty for p in small_study.prompts)
    both = ("--where", "level=L1", "--where", "category=advice", "--ridge", "0.01")
    few = invoke(*command, *both).json["rows"]
    wanted = sum(p.category == "advice" and p.difficulty == "L1" for p in small_study.prompts)
    assert max(r["n_prompts"] for r in few) == wanted


def as_dicts(rows: Rows) -> list[dict[str, object]]:
    return [dict(zip(("prompt", "a", "b", "rater", "rubric", "score"), row, strict=True)) for row in rows]


def test_csv_jsonl_and_parquet_give_the_same_board(
    ratings_csv: Callable[..., Path], good_rows: Rows, tmp_path: Path, invoke: Any
) -> None:
    paths = [ratings_csv(good_rows), tmp_path / "r.jsonl", tmp_path / "r.parquet", tmp_path / "r.tsv"]
    paths[1].write_text("".join(json.dumps(row) + "\n" for row in as_dicts(good_rows)))
    pq.write_table(pa.Table.from_pylist(as_dicts(good_rows)), paths[2])
    with paths[3].open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([["prompt", "a", "b", "rater", "rubric", "score"], *good_rows])
    outs = {invoke("rank", path, "--json", *FAST).out for path in paths}
    assert len(outs) == 1


def test_swapping_a_and_b_changes_nothing_but_the_side(
    ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any
) -> None:
    swapped: Rows = [[p, b, a, r, q, -int(str(y))] for p, a, b, r, q, y in good_rows]
    first = invoke("rank", ratings_csv(good_rows), "--json", "--ci", "sandwich").json["rows"]
    second = invoke("rank", ratings_csv(swapped, name="s.csv"), "--json", "--ci", "sandwich").json["rows"]
    assert [r["entity"] for r in first] == [r["entity"] for r in second]
    assert [r["elo"] for r in first] == pytest.approx([r["elo"] for r in second], abs=1e-6)


def test_a_table_of_counts_is_the_ratings_it_counts(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    counted = [["x", "y", 1, 3], ["y", "x", 2, 1], ["y", "z", 1, 2], ["z", "x", 0, 2], ["y", "z", -1, 1]]
    plain = [[f"p{i}", a, b, f"r{i}", y] for i, (a, b, y, n) in enumerate(counted) for _ in range(int(n))]
    plain = [[f"{p}.{j}", *rest] for j, (p, *rest) in enumerate(plain)]
    table = invoke("rank", ratings_csv(counted, ("a", "b", "score", "count")), "--json").json
    listed = ratings_csv(plain, ("prompt", "a", "b", "rater", "score"), name="p.csv")
    rows = invoke("rank", listed, "--json", *FAST).json["rows"]
    assert [r["elo"] for r in table["rows"]] == pytest.approx([r["elo"] for r in rows])
    assert all(r["low"] is r["n_raters"] is r["n_prompts"] is r["rank_low"] is None for r in table["rows"])
    assert "names no raters" in table["notes"][0]
    assert all(
        r["low"] < r["elo"] < r["high"]
        for r in invoke("rank", ratings_csv(counted, ("a", "b", "score", "count")), "--json", "--ci", "iid").json[
            "rows"
        ]
    )


@pytest.mark.parametrize("ci", ["bootstrap", "sandwich"])
def test_one_rater_has_intervals_over_prompts_and_says_so(
    ci: str, ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any
) -> None:
    alone = [row for row in good_rows if row[3] == "r2"]
    result = invoke("rank", ratings_csv(alone), "--json", "--ci", ci, "--ridge", 0.1).json
    assert result["notes"][0].startswith("intervals are clustered by prompt alone: there is one rater")
    assert result["fit"]["clusters"] == "prompt"
    assert all(r["n_raters"] == 1 for r in result["rows"])
    one = [[*row[:3], "r2", *row[4:]] for row in alone if row[0] == "p1"]
    result = invoke("rank", ratings_csv(one), "--json", "--ci", ci, "--ridge", 0.1).json
    assert all(r["low"] is r["high"] is r["rank_low"] is r["rank_high"] is None for r in result["rows"])
    assert result["notes"] == ["no intervals: there is one rater and one prompt, so nothing tells how either differs"]


def test_ribbons_through_a_documented_renaming(human_ratings: Path, invoke: Any) -> None:
    # Agresti (1992), confirmed with R ordinal::clm: logLik -521.1076425, Elo 1020.3 965.9 1154.1 818.0 1041.6
    path = human_ratings / "agresti_ribbon_pairs.csv"
    result = invoke("rank", path, "--columns", "score=rating", "--json").json
    assert result["fit"]["log_likelihood"] == pytest.approx(-521.1076425, abs=1e-6)
    elo = {r["entity"]: round(r["elo"], 1) for r in result["rows"]}
    assert elo == {"brand1": 1020.3, "brand2": 965.9, "brand3": 1154.1, "brand4": 818.0, "brand5": 1041.6}
    assert sum(r["n_ratings"] for r in result["rows"]) == 600  # 300 comparisons, two brands each


def test_llmfao_and_its_left_side_bias(human_ratings: Path, invoke: Any) -> None:
    # R ordinal::clm: logLik -8977.5204; free centre LR 25.22, left favoured by .102 logit
    command = ("rank", human_ratings / "llmfao_pairs.csv.gz", "--columns", "score=rating", "--ci", "sandwich", "--side")
    result = invoke(*command, "--json").json
    assert result["fit"]["log_likelihood"] == pytest.approx(-8977.5204, abs=1e-3)
    assert result["rows"][0]["entity"] == "GPT 4"
    assert result["rows"][0]["elo"] == pytest.approx(1220.3, abs=0.1)
    assert result["side"][0]["beta"] == pytest.approx(0.102, abs=2e-3)
    assert result["side"][0]["likelihood_ratio"] == pytest.approx(25.22, abs=0.02)
    assert "side shown first" in invoke(*command).out


def test_pwcmp_keeps_repeated_sessions(human_ratings: Path, invoke: Any) -> None:
    path = human_ratings / "pwcmp_lf_pairs.csv.gz"
    command = ("rank", path, "--columns", "score=rating", "--duplicates", "keep", "--ci", "sandwich", "--json")
    result = invoke(*command).json
    assert result["fit"]["log_likelihood"] == pytest.approx(-15193.3148, abs=1e-3)
    assert result["fit"]["n_ratings"]["overall"] == 26_580


def test_words_for_scores(human_ratings: Path, invoke: Any) -> None:
    names = "prompt=query,a=doc_a,b=doc_b,rater=worker,score=answer"
    path = human_ratings / "sigir2010_judgments.csv"
    words = "a=1,b=-1,s=0,=drop"
    command = ("agree", path, "--columns", names, "--scores", words, "--splits", 0, "--json", "--encoding", "latin-1")
    done = invoke(*command)
    assert done.code == 0, done.err
    assert done.json["rows"][0]["n_ratings"] > 0


def test_without_a_side_the_diagnostic_says_why(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    sorted_rows: Rows = [[p, min(a, b), max(a, b), *rest] for p, a, b, *rest in good_rows]  # type: ignore[type-var]
    side = invoke("rank", ratings_csv(sorted_rows), "--side", "--json", "--ridge", 0.1, *FAST).json["side"][0]
    assert side["beta"] is None
    assert "does not keep the order shown" in side["reason"]


def test_out_writes_what_the_ending_says(small_run: Path, tmp_path: Path, invoke: Any) -> None:
    command = ("rank", small_run, "--rubric", "overall", "--ci", "sandwich")
    for ending in ("json", "csv", "md"):
        assert invoke(*command, "--out", tmp_path / f"board.{ending}").code == 0
    rows = json.loads((tmp_path / "board.json").read_text())["rows"]
    with (tmp_path / "board.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [float(w["elo"]) for w in written] == [r["elo"] for r in rows]
    assert f"| {rows[-1]['entity']} | {rows[-1]['elo']:.1f} |" in (tmp_path / "board.md").read_text()


def test_153_thousand_rows_load_in_no_time(small_run: Path, tmp_path: Path) -> None:
    import time

    from vaeval_tasks.analysis.load.ratings import load_ratings
    from vaeval_tasks.analysis.load.source import Source

    table = pq.read_table(small_run / "ratings.parquet")
    copies = [
        table.set_column(
            table.column_names.index("prompt_id"),
            "prompt_id",
            pa.array([f"{i}.{p}" for p in table["prompt_id"].to_pylist()]),
        )
        for i in range(5)
    ]
    pq.write_table(pa.concat_tables(copies), tmp_path / "big.parquet")
    began = time.process_time()
    ratings = load_ratings(Source(path=tmp_path / "big.parquet"))
    assert time.process_time() - began < 2
    assert len(ratings.data) == 5 * table.num_rows


def test_a_progress_bar_on_a_terminal_and_none_in_a_pipe(small_run: Path, invoke: Any) -> None:
    args = ["rank", str(small_run), "--rubric", "overall", "--resamples", "100", "--json"]
    piped = invoke(*args)
    assert piped.code == 0
    assert piped.err == ""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "vaeval_tasks.cli", *args]
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, text=True)
    os.close(follower)
    out, _ = shown.communicate(timeout=200)
    said = b""
    try:
        while chunk := os.read(leader, 65536):
            said += chunk
    except OSError:  # Linux: the other end is closed
        pass
    os.close(leader)
    assert shown.returncode == 0
    assert b"resamples" in said
    assert b"100/100" in said
    assert out == piped.out


def test_rows_of_judges_and_training_never_enter(small_run: Path, tmp_path: Path, invoke: Any) -> None:
    table = pq.read_table(small_run / "ratings.parquet").to_pylist()
    table[0]["use"] = False
    table[1]["kind"] = "repeat"
    for name in ("configs.yaml", "prompts.parquet", "raters.parquet"):
        (tmp_path / name).write_bytes((small_run / name).read_bytes())
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "ratings.parquet")
    fit = invoke("rank", tmp_path, "--ci", "sandwich", "--json").json["fit"]
    assert sum(fit["n_ratings"].values()) == len(table) - 2


def test_voices_in_a_plain_file_are_read_from_the_names(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    rng = np.random.default_rng(0)
    ids = [c.config_id for c in CONFIGS[:4]]
    rows = [
        [f"p{i}", *rng.choice(ids, 2, replace=False), f"r{i % 7}", "overall", int(rng.integers(-3, 4))]
        for i in range(200)
    ]
    path = ratings_csv(rows)
    assert len(invoke("rank", path, "--by", "voice", "--ci", "sandwich", "--json").json["rows"]) == 2
