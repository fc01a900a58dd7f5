"""Wide files, a column a question, and exports that are nested otherwise than their tool nests them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

WIDE = "who,item,clear_x,clear_y,loud_x\n" + "".join(
    f"r{r},p{p},{4 + r % 2},2,{p + 1}\n" for r in range(4) for p in (0, 1)
)


def test_a_wide_file_becomes_rows(tmp_path: Path, invoke: Any) -> None:
    (tmp_path / "w.csv").write_text(WIDE + "r9,p0,,3,\n")
    how = ("--wide", "(?P<rubric>clear|loud)_(?P<config>.+)", "--columns", "rater=who,prompt=item", "--any-rubric")
    found = invoke("mos", tmp_path / "w.csv", *how, "--resamples", 20, "--json").json
    assert {(row["rubric"], row["entity"]): (row["mos"], row["n_ratings"]) for row in found["rows"]} == {
        ("clear", "x"): (4.5, 8), ("clear", "y"): (pytest.approx(2.1), 9),
        ("loud", "x"): (1.5, 8), ("loud", "y"): (None, 0),
    }  # fmt: skip
    assert found["notes"] == ["3 columns are ratings, a row each: 25 in all"]


def test_a_wide_file_of_comparisons(tmp_path: Path, invoke: Any) -> None:
    lines = [f"r{r},{(r % 3) - 1},{(r + 1) % 3 - 1}" for r in range(6)]
    (tmp_path / "w.csv").write_text("rater,p1: x/y,p2: y/x\n" + "\n".join(lines) + "\n")
    how = ("--wide", r"(?P<prompt>\w+): (?P<a>\w)/(?P<b>\w)")
    rows = invoke("rank", tmp_path / "w.csv", *how, "--ci", "iid", "--json").json["rows"]
    assert {(row["entity"], row["n_ratings"], row["n_prompts"]) for row in rows} == {("x", 12, 2), ("y", 12, 2)}


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "--wide is no regular expression"),
        ("nothing", "no column is called so; there are who, item, clear_x"),
        ("(?P<system>clear)_.", "there is no part 'system'; a group is called prompt, a, b, config, rubric"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_told(pattern: str, said: str, tmp_path: Path, invoke: Any) -> None:
    (tmp_path / "w.csv").write_text(WIDE)
    told = invoke("mos", tmp_path / "w.csv", "--wide", pattern)
    assert (told.code, told.out) == (1, "")
    assert said in told.err


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": 1, "data": "x", "annotations": [{"result": [{"value": {"rating": 3}}], "completed_by": 1}]}],
        [{"id": 1, "data": {}, "annotations": ["x"]}],
        [{"id": 1, "data": {}, "annotations": 3}],
        [{"id": 1, "fields": {}, "responses": {"q": ["x"]}}],
        [{"id": 1, "fields": "x", "responses": {"q": [{"value": 1}]}}],
        [{"instance_id": "x", "user_id": "y", "labels": {"q": {"scale_value": [1]}}}],
        [{"trial_type": "html-slider-response", "trial_index": 1, "response": {"Q0": 1}, "stimulus": "x|y"}],
    ],
)
def test_an_export_that_is_nested_otherwise_is_one_line(
    rows: list[dict[str, Any]], tmp_path: Path, invoke: Any
) -> None:
    (tmp_path / "e.json").write_text(json.dumps(rows))
    for verb in ("rank", "mos"):
        done = invoke(verb, tmp_path / "e.json")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert done.err.startswith(f"Error: {tmp_path / 'e.json'}")
