"""The board of a simulated study against the tables that ``vaeval tables`` writes."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from vaeval_tasks.analysis.study_analysis import StudyAnalysis, StudyTables, study_tables
from vaeval_tasks.cli import main
from vaeval_tasks.report.render import anchor
from vaeval_tasks.rubrics import BY_KEY, KEYS
from vaeval_tasks.simulate import Shape, simulate, write_study
from vaeval_tasks.store.run import RunDir

SIZES = ["--resamples", "20", "--splits", "20", "--seed", "3"]


def written(folder: Path, html: Path) -> dict[str, Any]:
    tables = {}
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            tables[path.stem] = list(csv.DictReader(file))
    markdown = {path.stem: path.read_text("utf-8") for path in folder.glob("*.md")}
    return {"html": html.read_text("utf-8"), "tables": tables, "markdown": markdown}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A study of the published shape: its page, and its tables written as they were made for it.

    That the verb ``tables`` makes the same ones is tested below, on a smaller study.
    """
    root = tmp_path_factory.mktemp("full")
    write_study(simulate(Shape(mos_per_sample=0.4), seed=2), root / "run")

    def keep(study: StudyAnalysis) -> StudyTables:
        made = study_tables(study)
        for table in made.tables:
            table.write(root / "tables")
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vaeval_tasks.report.study_board.study_tables", keep)
        main(["report", str(root / "run"), "--out", str(root / "board.html"), *SIZES])
    return written(root / "tables", root / "board.html")


@pytest.fixture(scope="module")
def small(small_run: RunDir, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A small study, its tables and its page each made by its verb."""
    root = tmp_path_factory.mktemp("verbs")
    main(["tables", str(small_run.root), "--out", str(root / "tables"), *SIZES])
    main(["report", str(small_run.root), "--out", str(root / "board.html"), *SIZES])
    return written(root / "tables", root / "board.html")


def test_the_verbs_tables_and_report_give_the_same_numbers(small: dict[str, Any], reader: Any) -> None:
    links = dict(re.findall(r'download="([^"]+)\.csv" href="data:text/csv;charset=utf-8,([^"]*)"', small["html"]))
    for name, table in small["tables"].items():
        assert list(csv.DictReader(unquote(links[name]).splitlines())) == table, name
    page = reader(small["html"])
    for key in ("overall", "naturalness", "reasoning"):
        intervals = [row[3] for row in page.tables[anchor(key)][0][1:]]
        expected = rows_of(small["tables"]["board"], rubric=key)
        assert intervals == [f"[{whole(r['low'])}, {whole(r['high'])}]" for r in expected]


def rows_of(table: list[dict[str, str]], **wanted: str) -> list[dict[str, str]]:
    return [row for row in table if all(row[k] == v for k, v in wanted.items())]


def whole(text: str) -> str:
    return f"{float(text):.0f}"


def spaced(text: str) -> str:
    return f"{float(text):,.0f}".replace(",", " ")  # the reader takes any space for one


def test_every_rubric_shows_the_board_of_tables(full: dict[str, Any], reader: Any) -> None:
    page = reader(full["html"])
    for key in KEYS:
        shown = page.tables[anchor(key)][0][1:]
        expected = rows_of(full["tables"]["board"], rubric=key)
        assert len(shown) == len(expected) == 7
        for cells, row in zip(shown, expected, strict=True):
            assert cells[0] == (row["rank"].replace("-", "–") or "–")
            assert cells[1].startswith(row["entity"])
            interval = f"[{whole(row['low'])}, {whole(row['high'])}]"
            assert cells[2] == f"{whole(row['elo'])} {interval}"
            assert cells[3] == interval
            assert cells[5:] == [spaced(row["n_ratings"]), spaced(row["n_raters"]), spaced(row["n_prompts"])]


def test_every_rubric_shows_the_mos_of_tables(full: dict[str, Any], reader: Any) -> None:
    page = reader(full["html"])
    for key in KEYS:
        shown = page.tables[anchor(key)][1][1:]
        found = {row["model"]: row for row in rows_of(full["tables"]["A10"], rubric=key)}
        assert len(shown) == 7
        for name, mean, interval, _, n in shown:
            row = found[name]
            assert mean == f"{float(row['mos']):.2f}"
            assert interval == f"[{float(row['mos_low']):.2f}, {float(row['mos_high']):.2f}]"
            assert n == spaced(row["mos_n_ratings"])


def test_the_matrix_and_the_slices_are_those_of_tables(full: dict[str, Any], reader: Any) -> None:
    page = reader(full["html"])
    matrix = page.tables["matrix"][0]
    models = matrix[0][1:]
    by_label = {row[0]: row[1:] for row in matrix[1:] if len(row) > 1}
    assert list(by_label) == [BY_KEY[key].label for key in KEYS]
    for key in KEYS:
        found = {row["entity"]: row for row in rows_of(full["tables"]["board"], rubric=key)}
        for model, cell in zip(models, by_label[BY_KEY[key].label], strict=True):
            row = found[model]
            expected = f"{whole(row['elo'])} [{whole(row['low'])}, {whole(row['high'])}] n {spaced(row['n_ratings'])}"
            assert cell == expected
        shown = {row[0]: row[1:] for row in page.tables[anchor(key)][2][1:] if len(row) > 1}
        slices = rows_of(full["tables"]["board_slices"], rubric=key)
        slices = [row | {"slice": row["slice"].replace("far_field", "far field")} for row in slices]
        assert set(shown) == {row["slice"] for row in slices}
        for value, cells in shown.items():
            inside = [row for row in slices if row["slice"] == value]
            assert cells[0] == spaced(inside[0]["slice_ratings"])
            for row in inside:
                if row["entity"]:
                    assert cells[1 + models.index(row["entity"])].startswith(f"{whole(row['elo'])} ")


def test_voices_and_thinking_are_those_of_tables(full: dict[str, Any], reader: Any) -> None:
    page = reader(full["html"])
    for section, table in (("voices", "voice_margin"), ("thinking", "thinking")):
        shown = [row for rows in page.tables[section] for row in rows[1:]]
        expected = full["tables"][table]
        assert len(shown) == len(expected) > 0
        left = {
            (row["rubric"], f"{float(row['margin']):+.2f}", f"{float(row['n_ratings']):.0f}", row["mark"])
            for row in expected
        }
        by_label = {r.label: r.key for r in BY_KEY.values()}
        seen = {(by_label[c[0]], c[2], c[1].replace(" ", ""), "n.s." if c[3].endswith("n.s.") else "") for c in shown}
        assert seen == left


def test_plain_tables_print_what_tables_prints(full: dict[str, Any], reader: Any) -> None:
    page = reader(full["html"])
    label = {r.key: r.label for r in BY_KEY.values()}
    for name, section, index, columns in (
        ("A2", "agreement", 0, ("rubric", "alpha", "icc", "ac2", "n_units", "n_single")),
        ("prompts", "panel", 1, ("difficulty", "prompts")),
        ("A7", "mos", 0, ("rubric", "mos_delta")),
    ):
        lines = [line for line in full["markdown"][name].splitlines() if line.startswith("| ")]
        header, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        at = [header.index(c) for c in columns]
        expected = [[label.get(row[i], row[i]) for i in at] for row in body if not row[0].startswith("---")]
        assert [row[: len(columns)] for row in page.tables[section][index][1:]] == expected


def test_the_page_is_small_and_says_that_raters_are_simulated(full: dict[str, Any]) -> None:
    assert len(full["html"].encode()) < 1_500_000
    assert "Simulated raters." in full["html"]
    assert not re.search(r"\b(nan|NaN|None|inf)\b", re.sub(r"<script.*?</script>", "", full["html"], flags=re.S))


def test_the_embedded_copy_is_json_and_equals_the_board(full: dict[str, Any]) -> None:
    found = re.search(r'<script type="application/json" id="snapshot">(.*?)</script>', full["html"], flags=re.S)
    assert found
    snapshot = json.loads(found[1])
    first = snapshot["rubrics"]["overall"]["standings"][0]
    row = rows_of(full["tables"]["board"], rubric="overall")[0]
    assert (first["entity"], first["elo"]) == (row["entity"], pytest.approx(float(row["elo"])))
    assert snapshot["schema_version"] == 1


def test_every_table_can_be_taken_away(full: dict[str, Any]) -> None:
    links = dict(re.findall(r'download="([^"]+)\.csv" href="data:text/csv;charset=utf-8,([^"]*)"', full["html"]))
    assert set(full["tables"]) <= set(links)
    for name, table in full["tables"].items():
        assert list(csv.DictReader(unquote(links[name]).splitlines())) == table


def test_no_folder_of_this_machine_is_on_the_page(full: dict[str, Any], tmp_path: Path) -> None:
    assert str(tmp_path.parent.parent) not in full["html"]


def test_scores_stand_beside_the_ranking(small: dict[str, Any], small_run: RunDir, tmp_path: Path, reader: Any) -> None:
    html = small["html"]
    page = reader(html)
    scores = {row[0]: row for row in page.tables["scores"][0]}
    assert {"Predicted MOS", "Modified WER"} <= set(scores)
    assert scores["Predicted MOS"][1] == "higher"
    assert scores["Modified WER"][1] == "lower"
    assert scores["Modified WER"][-1] != "–"
    people = scores["People: overall preference, Elo"]
    assert people[2].replace("\u2060", "").endswith(f"(rank {page.tables['overall'][0][1][0]})")
    assert len(page.tables["predictors"]) == 2
    assert "19 systems of 7 models were compared" in html
    main(["predictors", str(small_run.root), "--out", str(tmp_path / "p.csv"), *SIZES])
    with (tmp_path / "p.csv").open(encoding="utf-8") as file:
        expected = [row for row in csv.DictReader(file) if row["metric"] == "mos"]
    shown = [row for row in page.tables["predictors"][1] if row[1] == "Predicted MOS"]
    numbers = ("spearman", "spearman_low", "spearman_high")
    assert [row[3] for row in shown] == [
        "{:.2f} [{:.2f}, {:.2f}]".format(*(float(row[name]) for name in numbers)) for row in expected
    ]


def test_preference_stands_beside_latency(small: dict[str, Any], reader: Any) -> None:
    rows = small["tables"]["latency"]
    shown = {row[0].split(". ")[1]: row for row in reader(small["html"]).tables["latency"][0][1:]}
    assert len(rows) == len(shown) == 19
    lacking = [row for row in rows if not row["first_audio_p50"]]
    assert [row["speech_sent"] for row in lacking] == ["spoken, whole"]
    assert "speech was sent in two ways" in lacking[0]["reason"]
    assert shown[lacking[0]["config"]][2] == "–"
    for row in rows:
        if row not in lacking:
            numbers = (float(row[f"first_audio_p50{end}"]) for end in ("", "_low", "_high"))
            assert shown[row["config"]][2] == "{:.2f} [{:.2f}, {:.2f}]".format(*numbers)
            assert float(row["first_audio_p50"]) < float(row["first_audio_p90"]) < float(row["end_p90"])
    drawn = re.search(r'<svg class="marks">(.*?)</svg>', small["html"][small["html"].index('class="scatter"') :], re.S)
    assert drawn is not None
    assert drawn[1].count("<circle") == 18, "no mark without a time"
    assert drawn[1].count('class="whisker"') == 36


def test_the_default_place_is_in_the_run(small_run: RunDir) -> None:
    main(["report", str(small_run.root), "--title", "My study", "--resamples", "20", "--splits", "0"])
    html = (small_run.root / "site" / "index.html").read_text("utf-8")
    assert "<title>My study</title>" in html
    assert "<dt>Split-half reliability</dt><dd>--splits is 0.</dd>" in html
