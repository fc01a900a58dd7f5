"""``vaeval tables``: every published table, complete and the same as the single verbs say."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.simulate import SimulatedStudy
from vaeval_tasks.simulate.comments import THEME_RATES
from vaeval_tasks.simulate.published_study import MODELS
from vaeval_tasks.simulate.rater_answers import NOT_ASKED
from vaeval_tasks.store.run import RunDir

PUBLISHED = [*(f"A{i}" for i in range(1, 11)), "board", "voice_margin", "thinking"]
RESAMPLES = 60


@pytest.fixture(scope="module")
def made(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from vaeval_tasks.cli import main

    folder = tmp_path_factory.mktemp("tables")
    args = ["tables", str(small_run), "--out", str(folder), "--resamples", str(RESAMPLES), "--splits", "60"]
    assert main(args) == 0
    return folder


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_published_table_is_there_twice(made: Path) -> None:
    for name in PUBLISHED:
        assert rows(made, name)
        text = (made / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith("**")
        assert text.count("\n| ") == len(rows(made, name)) + 2
    assert not list(made.glob(".*"))


def test_about_says_what_the_tables_were_made_from(made: Path, small_run: Path) -> None:
    about = json.loads((made / "about.json").read_text(encoding="utf-8"))
    recorded = json.loads((small_run / "run.json").read_text(encoding="utf-8"))["tables"]
    assert about["inputs"] == {name: recorded[name]["sha256"] for name in about["inputs"]}
    assert set(about["inputs"]) == {"ratings", "mos", "comments", "raters", "prompts"}
    assert (about["seed"], about["resamples"]) == (0, RESAMPLES)
    assert about["missing"] == {"latency": "the run has no responses"}


def test_a1_counts_the_raters_of_the_ratings(made: Path, small_study: SimulatedStudy) -> None:
    total = {row["pool"]: int(row["total"]) for row in rows(made, "A1") if row["gender"] == "Total"}
    assert total == {"CMOS": 50, "MOS": 40}
    for row in rows(made, "A1"):
        bands = ("18-25", "26-35", "36-45", "46-55", "56-65", "65+", "age unknown")
        assert sum(int(row[band]) for band in bands) == int(row["total"])


def test_board_is_what_rank_says(made: Path, small_run: Path, invoke: Any) -> None:
    ranked = invoke("rank", small_run, "--json", "--resamples", RESAMPLES).json["rows"]
    board = rows(made, "board")
    assert len(board) == len(ranked) == 84
    for written, row in zip(board, ranked, strict=True):
        assert (written["rubric"], written["entity"]) == (row["rubric"], row["entity"])
        assert [float(written[k]) for k in ("elo", "low", "high")] == [row["elo"], row["low"], row["high"]]
        assert int(written["n_ratings"]) == row["n_ratings"]
    a10 = rows(made, "A10")
    assert [row["elo"] for row in a10] == [row["elo"] for row in board]
    assert rows(made, "A4") == [
        {k: v for k, v in row.items() if k not in ("family", "rubric")} for row in a10 if row["rubric"] == "overall"
    ]


def test_mos_is_what_mos_says(made: Path, small_run: Path, invoke: Any) -> None:
    found = invoke("mos", small_run, "--json", "--resamples", RESAMPLES).json["rows"]
    scores = {(row["rubric"], row["entity"]): row for row in found}
    for row in rows(made, "A10"):
        same = scores[(row["rubric"], row["model"])]
        assert float(row["mos"]) == pytest.approx(same["mos"])
        assert float(row["mos_low"]) == pytest.approx(same["low"])
    for row in rows(made, "A5"):
        assert sum(float(row[level]) for level in "12345") == pytest.approx(1)


def test_a6_counts_add_up(made: Path, small_study: SimulatedStudy) -> None:
    table = rows(made, "A6")
    assert [row["difficulty"] for row in table] == ["L1", "L2", "L3", "L4", "L5", "Degraded"]
    overall = (small_study.mos_scores[KEYS.index("overall")] != NOT_ASKED).sum()
    assert sum(int(float(row[f"n {m}"])) for row in table for m in MODELS) == overall


def test_a7_is_head_to_head(made: Path, small_study: SimulatedStudy) -> None:
    assert [row["rubric"] for row in rows(made, "A7")] == list(KEYS)


def test_agreement_and_split_half(made: Path, small_run: Path, invoke: Any) -> None:
    said = invoke("agree", small_run, "--splits", 60, "--json").json
    table = rows(made, "A2")
    assert [row["rubric"] for row in table] == [row["rubric"] for row in said["rows"]]
    assert {"Humanness", "Technical Quality", *KEYS} == {row["rubric"] for row in table}
    by_name = {row["rubric"]: row for row in table}
    humanness = sum(int(by_name[k]["n_units"]) for k in KEYS[1:6])
    assert int(by_name["Humanness"]["n_units"]) == humanness
    for row in table:
        assert float(row["alpha"]) == pytest.approx(float(row["icc"]), abs=0.01)
    halves = rows(made, "A3")
    assert len(halves) == 24
    assert [float(row["rho"]) for row in halves] == [row["rho"] for row in said["split_half"]]
    assert float(halves[0]["rho"]) > 0.8


def test_thinking_makes_no_difference_and_ara_beats_rex(made: Path) -> None:
    thinking = rows(made, "thinking")
    assert {(row["a"], row["b"]) for row in thinking} == {("xhigh", "minimal"), ("high", "minimal"), ("high", "none")}
    # 36 rows at 95 %: planted at zero, a few may stand out
    assert sum(row["mark"] == "n.s." for row in thinking) >= 30
    ara = {row["rubric"]: row for row in rows(made, "voice_margin") if row["a"] == "Ara"}
    assert float(ara["overall"]["margin"]) > 0.4
    assert ara["pleasantness"]["mark"] == ""
    assert 0.5 < float(ara["overall"]["win_rate"]) <= 1
    for row in rows(made, "voice_margin"):
        assert float(row["wins"]) + float(row["losses"]) + float(row["ties"]) == float(row["n_ratings"])


def test_a8_blocks_recombine(made: Path) -> None:
    blocks = {row["group"]: (float(row["rho"]), int(row["n_pairs"])) for row in rows(made, "A8")}
    whole = blocks["Technical Quality"]
    parts = [blocks[f"Technical Quality - {part}"] for part in ("lexical", "audio")]
    parts.append(blocks["Technical Quality - lexical x Technical Quality - audio"])
    assert sum(n for _, n in parts) == whole[1] == 15
    assert sum(rho * n for rho, n in parts) / 15 == pytest.approx(whole[0])


def test_a9_finds_the_planted_themes(made: Path, small_study: SimulatedStudy) -> None:
    table = rows(made, "A9")
    assert len(table) == 10
    inside = []
    for row, rates in zip(table, THEME_RATES.values(), strict=True):
        for model, rate in zip(MODELS, rates, strict=True):
            inside.append(float(row[f"{model} low"]) - 1.5 <= rate <= float(row[f"{model} high"]) + 1.5)
    assert sum(inside) >= 63  # 90 % of 70, with few comments and 60 resamples


def test_slices_and_engines(made: Path) -> None:
    slices = rows(made, "board_slices")
    assert {row["slice"] for row in slices if row["field"] == "level"} <= {"L1", "L2", "L3", "L4", "L5", "Degraded"}
    assert len({row["slice"] for row in slices}) > 8
    for row in rows(made, "engines"):
        assert float(row["ordinal ~ massey"]) > 0.85


def test_a_run_without_mos_names_what_is_missing(small_run: Path, tmp_path: Path, invoke: Any) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("ratings.parquet", "configs.yaml"):
        (run / name).write_bytes((small_run / name).read_bytes())
    done = invoke("tables", run, "--resamples", 20, "--splits", 0)
    assert done.code == 0
    for name in ("A1", "A3", "A4", "A5", "A6", "A7", "A9"):
        assert f"{name}: not written, " in done.out
        assert not (run / "analysis" / f"{name}.csv").exists()
    assert (run / "analysis" / "A10.csv").exists()
    assert rows(run / "analysis", "A10")[0]["mos"] == ""


def test_a_run_of_one_rater_and_one_rubric(small_run: Path, tmp_path: Path, invoke: Any) -> None:
    import pyarrow.parquet as pq

    run = tmp_path / "run"
    run.mkdir()
    (run / "configs.yaml").write_bytes((small_run / "configs.yaml").read_bytes())
    table = pq.read_table(small_run / "ratings.parquet").to_pylist()
    alone = [
        {**row, "rater_id": "only"} for row in table if row["rubric"] == "overall" and row["assignment_id"][-1] == "0"
    ]
    pq.write_table(pq.read_table(small_run / "ratings.parquet").slice(0, 0).from_pylist(alone), run / "ratings.parquet")
    done = invoke("tables", run, "--resamples", 20, "--splits", 20)
    assert done.code == 0, done.err
    assert "rubric_clusters: not written, " in done.out
    board = rows(run / "analysis", "board")
    assert len(board) == 7
    assert all(float(row["low"]) < float(row["high"]) and row["n_raters"] == "1" for row in board)  # over prompts
    assert rows(run / "analysis", "A2")[0]["alpha"] == ""
    assert rows(run / "analysis", "voice_margin")[0]["low"] != ""


def test_head_to_head_is_antisymmetric_in_wins(made: Path, small_run: Path) -> None:
    table = rows(made, "head_to_head")
    assert len(table) == 21 * 12
    first = next(row for row in table if row["rubric"] == "overall")
    assert float(first["wins"]) + float(first["losses"]) + float(first["ties"]) == float(first["n_ratings"])
    best, worst = rows(made, "board")[0]["entity"], rows(made, "board")[6]["entity"]
    gap = next(row for row in table if (row["a"], row["b"], row["rubric"]) == (best, worst, "overall"))
    assert float(gap["margin"]) > 1
    assert float(gap["win_rate"]) > 0.75


def test_tables_of_no_run(tmp_path: Path, invoke: Any) -> None:
    done = invoke("tables", tmp_path / "no")
    assert (done.code, done.out) == (1, "")
    assert "no such run folder" in done.err


@pytest.fixture
def undefeated(small_run: Path, tmp_path: Path) -> Callable[..., RunDir]:
    """Make a run in which one model wins all its comparisons on some rubrics by the largest score."""

    def make(*rubrics: str) -> RunDir:
        run = RunDir(tmp_path / "run")
        run.root.mkdir()
        for name in ("ratings.parquet", "raters.parquet", "configs.yaml"):
            (run.root / name).write_bytes((small_run / name).read_bytes())
        ratings = []
        for rating in run.read("ratings"):
            ours = [config.startswith("nova") for config in (rating.a, rating.b)]
            won = rating.rubric in rubrics and ours[0] != ours[1]
            ratings.append(replace(rating, score=3 if ours[0] else -3) if won else rating)
        run.write("ratings", ratings, made_by="test")
        return run

    return make


def test_a_rubric_without_a_finite_ranking_is_left_out_with_a_note(
    undefeated: Any, small_run: Path, invoke: Any
) -> None:
    run = undefeated("naturalness", "overall")
    (run.root / "mos.parquet").write_bytes((small_run / "mos.parquet").read_bytes())
    done = invoke("tables", run.root, "--resamples", 20, "--splits", 10)
    assert done.code == 0, done.err
    assert "A4: not written, the overall rubric cannot be ranked" in done.out
    board = rows(run.root / "analysis", "board")
    assert {row["rubric"] for row in board} == set(KEYS) - {"naturalness", "overall"}
    notes = (run.root / "analysis" / "board.md").read_text().splitlines()
    for rubric in ("naturalness", "overall"):
        assert any(note.startswith(f"rubric {rubric!r}: 'Nova 2 Sonic' won every comparison") for note in notes)
    done = invoke("report", run.root, "--resamples", 20, "--splits", 10)
    assert done.code == 0, done.err
    page = (run.root / "site" / "index.html").read_text()
    assert "Not ranked: &#39;Nova 2 Sonic&#39; won every comparison" in page
    assert "Nobody was asked this question" not in page


def test_what_needs_no_ranking_is_made_without_one(undefeated: Any, invoke: Any) -> None:
    run = undefeated(*KEYS)
    done = invoke("tables", run.root, "--resamples", 20, "--splits", 10)
    assert done.code == 0, done.err
    for name in ("A10", "board", "board_config"):
        assert f"{name}: not written, rubric " in done.out
    assert len(rows(run.root / "analysis", "A1")) > 0
    assert len(rows(run.root / "analysis", "head_to_head")) > 0
    done = invoke("report", run.root, "--resamples", 20, "--splits", 10)
    assert done.code == 1
    assert "no finite strength exists. Collect more ratings" in done.err
