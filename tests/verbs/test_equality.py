"""The functions are the verbs: for every one, the same numbers through both doors."""

from __future__ import annotations

import inspect
import json
import shutil
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from verbs.conftest import COLUMNS, OPINIONS, RATINGS, WORDS, Verb

import vaeval_tasks as vaeval
from vaeval_tasks.analysis.table import plain
from vaeval_tasks.cli import cli
from vaeval_tasks.store.run import RunDir

FRAMES = {
    "pandas": pd.DataFrame,
    "pandas, categories": lambda rows: pd.DataFrame(rows).astype("category"),
    "pandas, nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "pandas, objects": lambda rows: pd.DataFrame(rows).astype(object),
    "polars": pl.DataFrame,
    "polars, categories": lambda rows: pl.DataFrame(rows).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "arrow": pa.Table.from_pylist,
    "arrow, batch": pa.RecordBatch.from_pylist,
    "columns": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
    "arrays": lambda rows: {name: np.array([row[name] for row in rows]) for name in rows[0]},
    "series": lambda rows: {name: pd.Series([row[name] for row in rows]) for name in rows[0]},
    "rows": list,
    "rows of numpy": lambda rows: [{k: np.int32(v) if isinstance(v, int) else v for k, v in r.items()} for r in rows],
}


def said(record: Any) -> Any:
    """What a record says, as JSON does."""
    return json.loads(json.dumps(plain(record.to_json())))


@pytest.mark.parametrize("kind", FRAMES)
def test_rank_of_a_frame_is_rank_of_the_file(kind: str, ratings_file: Path, verb_json: Verb) -> None:
    board = vaeval.rank(
        FRAMES[kind](RATINGS),
        columns=COLUMNS,
        scores=WORDS,
        where={"panel": "En"},
        ci="bootstrap",
        resamples=40,
        seed=3,
        difference=[("x", "z")],
        side=True,
        progress=False,
    )
    options = "--columns a=first,b=second,score=verdict --scores left=1,right=-1,same=0 --where panel=En --resamples 40"
    rest = "--seed 3 --difference x z --side"
    assert said(board) == verb_json("rank", ratings_file, *options.split(), *rest.split())
    assert board.rows[0].n_raters == 4


@pytest.mark.parametrize("kind", FRAMES)
def test_mos_of_a_frame_is_mos_of_the_file(kind: str, opinions_file: Path, verb_json: Verb) -> None:
    found = vaeval.mos(FRAMES[kind](OPINIONS), pooled=True, resamples=30, seed=2)
    assert said(found) == verb_json("mos", opinions_file, "--pooled", "--resamples", 30, "--seed", 2)


def test_agree_of_a_frame_is_agree_of_the_file(ratings_file: Path, verb_json: Verb) -> None:
    found = vaeval.agree(
        pd.DataFrame(RATINGS), columns=COLUMNS, scores=WORDS, orientation="by-id", weights="linear", splits=30, seed=5
    )
    options = "--columns a=first,b=second,score=verdict --scores left=1,right=-1,same=0 --orientation by-id"
    rest = "--weights linear --splits 30 --seed 5"
    assert said(found) == verb_json("agree", ratings_file, *options.split(), *rest.split())


def test_a_run_folder_by_path_and_as_such(study_run: Path, verb_json: Verb) -> None:
    options: dict[str, Any] = {"by": "voice", "rubric": ["overall", "warmth"][:1], "ci": "sandwich"}
    asked = ("rank", study_run, "--by", "voice", "--rubric", "overall", "--ci", "sandwich")
    expected = verb_json(*asked)
    for source in (study_run, str(study_run), RunDir(study_run)):
        assert said(vaeval.rank(source, **options)) == expected
    assert said(vaeval.mos(study_run, rubric="overall", resamples=20)) == verb_json(
        "mos", study_run, "--rubric", "overall", "--resamples", 20
    )
    assert said(vaeval.agree(study_run, rubric="overall", splits=20)) == verb_json(
        "agree", study_run, "--rubric", "overall", "--splits", 20
    )


def test_pair(study_run: Path, tmp_path: Path, verb_json: Verb) -> None:
    runs = []
    for name in ("python", "verb"):
        run = RunDir(tmp_path / name)
        run.root.mkdir()
        shutil.copy(study_run / "prompts.parquet", run.root)
        runs.append(run)
    made = vaeval.pair(runs[0], configs=["x", "y", "z"], raters=3, seed=4, training=2)
    names = [part for name in "xyz" for part in ("--config", name)]
    assert said(made) == verb_json("pair", runs[1].root, *names, "--raters", 3, "--seed", 4, "--training", 2)
    assert runs[0].read("pairs") == runs[1].read("pairs") == list(made.pairs)
    assert said(vaeval.pair(runs[1], show=True)) == said(made)
    assert made.to_pandas("pairs").shape[0] == len(made.pairs)
    with pytest.raises(ValueError, match="frozen"):
        vaeval.pair(runs[0], configs=["x", "y", "z"])


def test_board_of_a_run_and_of_figures(study_run: Path, repository: Path, tmp_path: Path) -> None:
    from vaeval_tasks.cli import main

    options = {"resamples": 20, "splits": 20, "samples": 0, "seed": 1}
    page = vaeval.board(study_run, title="T <1>", out=tmp_path / "p.html", progress=False, **options)
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    main(["report", str(study_run), "--title", "T <1>", "--out", str(tmp_path / "v.html"), *flags])
    assert (tmp_path / "p.html").read_bytes() == (tmp_path / "v.html").read_bytes() == page.html.encode()
    figures = repository / "tests" / "data" / "dai_s2s_st_published.csv"
    drawn = vaeval.board(figures)
    main(["report", "--published", str(figures), "--out", str(tmp_path / "f.html")])
    assert drawn.save(tmp_path / "g.html").read_bytes() == (tmp_path / "f.html").read_bytes()
    assert {"rubric", "entity", "elo", "low", "high"} <= set(drawn.to_pandas().columns)


# options that only print, and what a function calls by another name
ONLY_PRINTING = {"as_json", "out", "published", "run", "runs", "source"}
CALLED = {"report": "board"}


@pytest.mark.parametrize("verb", ["rank", "mos", "agree", "score", "generate", "pair", "report", "compare"])
def test_every_option_of_the_verb_is_one_of_the_function(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    parameters = inspect.signature(getattr(vaeval, CALLED.get(verb, verb))).parameters
    ours = {{"own": "scorer"}.get(str(p.name), str(p.name)): p for p in command.params if p.expose_value}
    assert set(ours) - ONLY_PRINTING == set(parameters) - {"source", "run", "runs", "progress", "out"}
    for name in set(ours) & set(parameters) - ONLY_PRINTING:
        default = ours[name].default  # click has a mark of its own where there is none
        plain_default = default if isinstance(default, str | int | float) else None
        assert (plain_default or None) == (parameters[name].default or None), name
