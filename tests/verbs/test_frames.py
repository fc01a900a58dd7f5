"""Frames meet the checks of files: what works, and the one line where something does not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from verbs.conftest import COLUMNS, RATINGS, WORDS

import vaeval_tasks as vaeval
from vaeval_tasks.errors import InputError, UnknownNameError, VaevalError

GOOD: dict[str, list[Any]] = {
    "prompt": ["p1", "p1", "p2", "p2"],
    "a": ["x", "x", "x", "y"],
    "b": ["y", "y", "y", "x"],
    "rater": [7, 8, 7, 8],
    "score": [1, -1, 2, 0],
}
DAY = "2026-01-02"


def changed(**columns: Any) -> dict[str, Any]:
    return {**GOOD, **columns}


BAD: dict[str, tuple[Any, str]] = {
    "None in pandas": (pd.DataFrame(changed(score=[1, None, 2, 0])), "data frame, row 2, field 'score': is blank"),
    "NaN in pandas": (pd.DataFrame(changed(prompt=["p", "p", np.nan, "q"])), "row 3, field 'prompt': is blank"),
    "NaN beside whole floats": (pd.DataFrame(changed(rater=[7.0, np.nan, 7, 8])), "row 2, field 'rater': is blank"),
    "NA": (pd.DataFrame(changed(rater=pd.array([7, pd.NA, 7, 8], dtype="Int64"))), "row 2, field 'rater': is blank"),
    "a category without value": (
        pd.DataFrame(changed(a=pd.Categorical(["x", "x", None, "y"]))),
        "row 3, field 'a': is blank",
    ),
    "null in polars": (pl.DataFrame(changed(score=[1, 2, None, 0])), "row 3, field 'score': is blank"),
    "NaN in polars": (pl.DataFrame(changed(score=[1.0, float("nan"), 2, 0])), "row 2, field 'score'"),
    "a fraction": (pl.DataFrame(changed(score=[1.5, 1, 2, 0])), "row 1, field 'score': 1.5 is fractional"),
    "out of range": (pa.table(changed(score=[1, 4, 2, 0])), "row 2, field 'score': 4 is out of range"),
    "truth values": (changed(score=[True, False, True, True]), "columns, row 1, field 'score': 'True' is not a number"),
    "text": ({**changed(score=["1", "good", "0", "1"])}, "columns, row 2, field 'score': 'good' is not a number"),
    "times": (pd.DataFrame(changed(prompt=pd.date_range(DAY, periods=4))), "row 1, field 'prompt'"),
    "periods": (
        pd.DataFrame(changed(prompt=pd.period_range(DAY, periods=4))),
        "field 'prompt': must be text or numbers",
    ),
    "lists": (pl.DataFrame(changed(prompt=[[1], [2], [3], [4]])), "field 'prompt': must be text or numbers"),
    "mixed": (pd.DataFrame(changed(rater=[7, "r8", 7, 8])), "row 2, field 'rater': 'r8' is str, row 1 has int"),
    "sets": (pd.DataFrame(changed(rater=[7, {1}, 7, 8])), "row 2, field 'rater': must be text or a number, not a list"),
    "a matrix": (changed(rater=np.ones((4, 2))), "field 'rater': must be text or a number, not a list"),
    "a column twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "field 'a': there are two columns of that name"),
    "no column": (pd.DataFrame({"a": ["x"]}), "the column is missing; there are a"),
    "no row": (pl.DataFrame({name: [] for name in GOOD}), "data frame: there are no rows"),
    "no rows": ([], "rows: there are no rows"),
    "nothing": ({}, "columns: there are no rows"),
    "lengths": (changed(score=[1]), "columns have different lengths: prompt 4, a 4, b 4, rater 4, score 1"),
    "a cell for a column": (changed(score=1), "columns, field 'score': must be a list of cells, not 1"),
    "a text for a column": (changed(score="1111"), "columns, field 'score': must be a list of cells, not '1111'"),
    "a number for a name": ({**GOOD, 3: [1, 2, 3, 4]}, "a column is named 3; names are text"),
    "a row that is none": ([{"a": 1}, "b"], "rows, row 2: must be a mapping of names to cells, not 'b'"),
    "a series": (pd.Series([1, 2]), "a Series cannot be read as a table"),
    "a lazy frame": (pl.DataFrame(GOOD).lazy(), "got LazyFrame; call its collect() first"),
    "a number": (5, "expected a data frame, an Arrow table, columns, rows, or the path of a file or a run folder"),
    "None": (None, "got NoneType"),
    "no file": (Path("nowhere.csv"), "nowhere.csv: no such file"),
    "a second rating": (
        pl.DataFrame({k: [*v, v[0]] for k, v in GOOD.items()}),
        "row 5: the same rater, pair and",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_one_line(name: str) -> None:
    data, said = BAD[name]
    with pytest.raises(VaevalError) as caught:
        vaeval.rank(data, ci="iid")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


USABLE: dict[str, Any] = {
    "as is": GOOD,
    "whole floats": pd.DataFrame(changed(score=[1.0, -1.0, 2.0, 0.0], rater=[7.0, 8.0, 7.0, 8.0])),
    "whole floats beside objects": pd.DataFrame(changed(rater=[7.0, 8.0, 7.0, 8.0], note=[1, "x", None, {2}])),
    "decimals": pl.DataFrame(changed(score=[Decimal("1.00"), Decimal(-1), Decimal(2), Decimal(0)])),
    "small integers": pl.DataFrame(GOOD).with_columns(pl.col("score").cast(pl.Int8), pl.col("rater").cast(pl.UInt16)),
    "half floats": changed(score=np.array([1, -1, 2, 0], dtype=np.float16)),
    "scores as text": pl.DataFrame(changed(score=["1", "-1", "2", "0"])),
    "an enumeration": pl.DataFrame(GOOD).with_columns(pl.col("a", "b").cast(pl.Enum(["y", "x", "unused"]))),
    "an index of prompts": pd.DataFrame(GOOD).set_index("prompt"),
    "an index that was filtered": pd.DataFrame(GOOD).set_axis([9, 9, 4, 2]),
    "other columns of any kind": pd.DataFrame(
        changed(when=pd.date_range(DAY, periods=4), sound=[b"1"] * 4, words=[["a"]] * 4, none=[None] * 4)
    ),
    "an arrow reader": pa.table(GOOD).to_reader(),
    "chunks": pa.concat_tables([pa.table(GOOD).slice(0, 1), pa.table(GOOD).slice(1)]),
    "a tuple of rows": tuple({k: v[i] for k, v in GOOD.items()} for i in range(4)),
}


@pytest.mark.parametrize("name", USABLE)
def test_what_says_the_same_ranks_the_same(name: str) -> None:
    assert vaeval.rank(USABLE[name], ci="iid").rows == vaeval.rank(GOOD, ci="iid").rows


def test_words_may_be_blank_or_numbers() -> None:
    frame = pd.DataFrame(changed(score=[5, 4, np.nan, 5]))
    board = vaeval.rank(frame, scores={5: 1, 4: "-1", None: "drop"}, ci="iid")
    assert board.rows[0].n_ratings == 3
    assert vaeval.load(frame, scores={5: 1, 4: "-1", None: "drop"}).notes[-1].startswith("1 of 4 rows are left out")


WRONG_OPTIONS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "ci": ({"ci": "sandwhich"}, UnknownNameError, "ci: unknown value 'sandwhich'. Did you mean 'sandwich'?"),
    "engine": ({"engine": None}, UnknownNameError, "engine: unknown value 'None'"),
    "by": ({"by": "modle"}, UnknownNameError, "Did you mean 'model'?"),
    "rubric": ({"rubric": "overal"}, UnknownNameError, "Did you mean 'overall'?"),
    "duplicates": ({"duplicates": "lst"}, UnknownNameError, "Did you mean 'last'?"),
    "raters": ({"raters": "humans"}, UnknownNameError, "Did you mean 'human'?"),
    "our column": ({"columns": {"scor": "verdict"}}, UnknownNameError, "Did you mean 'score'?"),
    "their column": ({"columns": {"score": "rating"}}, InputError, "'rating': the column is missing"),
    "columns": ({"columns": "score=rating"}, InputError, "columns: expected something such as {'name': 'value'}"),
    "where": ({"where": {"panell": "En"}}, UnknownNameError, "Did you mean 'panel'?"),
    "where value": ({"where": {"panel": ["En", "Fr"]}}, UnknownNameError, "unknown panel 'Fr'"),
    "seed": ({"seed": -1}, InputError, "seed: expected a whole number from 0, got -1"),
    "seed, half": ({"seed": 0.5}, InputError, "seed: expected a whole number"),
    "resamples": ({"resamples": 19}, InputError, "resamples: expected a whole number from 20 to 1000000, got 19"),
    "ridge": ({"ridge": float("nan")}, InputError, "ridge: expected a number of 0 or more, got nan"),
    "difference": ({"difference": ["x"]}, InputError, "difference: expected something such as [('a', 'b')]"),
    "difference of nobody": ({"difference": [("x", "q")]}, UnknownNameError, "'q'"),
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_a_wrong_option_is_told_with_what_is_right(name: str) -> None:
    options, kind, said = WRONG_OPTIONS[name]
    with pytest.raises(kind) as caught:
        vaeval.rank(RATINGS, **{"columns": COLUMNS, "scores": WORDS, "ci": "iid", **options})
    assert said in str(caught.value)


def test_load_tells_comparisons_from_opinions_and_what_is_not_there() -> None:
    found = vaeval.load(RATINGS, columns=COLUMNS, scores=WORDS)
    assert (found.kind, found.entities, found.level) == ("ratings", ("x", "y", "z"), "config")
    (overall,) = found.rubrics
    assert (overall.n_ratings, overall.n_raters, overall.n_prompts, overall.n_entities) == (162, 6, 9, 3)
    opinions = vaeval.load(pd.DataFrame({"prompt": ["p"], "config": ["x"], "rater": [1], "score": [4]}))
    assert (opinions.kind, opinions.rubrics[0].mean) == ("mos", 4.0)
    counted = vaeval.load({"a": ["x"], "b": ["y"], "score": [1], "count": [2.5]})
    assert counted.rubrics[0].n_ratings == 2.5
    assert counted.rubrics[0].n_raters is None
    assert "raters and prompts are not named" in counted.notes[0]
    with pytest.raises(InputError, match="'config': the column is missing"):
        vaeval.load(RATINGS, kind="mos")


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    vaeval.rank(RATINGS, columns=COLUMNS, scores=WORDS, resamples=20)
    vaeval.agree(RATINGS, columns=COLUMNS, scores=WORDS, splits=20)
    assert capfd.readouterr() == ("", "")
