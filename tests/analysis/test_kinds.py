"""Unusual runs: traps that are no comparisons, and configurations of one model only."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import PairKind, Rater, Rating


def _rating(rater: str, a: str, b: str, score: int, kind: PairKind = PairKind.main) -> Rating:
    return Rating(prompt_id="p1", a=a, b=b, rater_id=rater, rubric="overall", score=score, kind=kind)


def test_traps_repeats_and_gold_are_left_out(tmp_path: Path, invoke: Callable[..., Any]) -> None:
    main = [_rating("r1", "a", "b", 2), _rating("r2", "a", "b", -1), _rating("r3", "a", "b", 1)]
    others = [
        _rating("r1", "a", "a", 0, PairKind.trap),
        _rating("r1", "a", "b", -3, PairKind.repeat),
        _rating("r2", "a", "b", -3, PairKind.gold),
        _rating("r2", "a", "b", -3, PairKind.train),
    ]
    boards = []
    for name, rows in (("plain", main), ("all", main + others)):
        RunDir(tmp_path / name).write("ratings", rows, made_by="test")
        done = invoke("rank", tmp_path / name, "--by", "config", "--ci", "iid", "--json")
        assert done.code == 0, done.err
        boards.append(done.out)
    assert boards[0] == boards[1]
    assert '"n_ratings": 3' in boards[0]


def test_configurations_of_one_model_are_ranked_as_configurations(tmp_path: Path, invoke: Callable[..., Any]) -> None:
    names = [f"nova/default/{voice}" for voice in ("ann", "bob", "cyd")]
    rng = np.random.default_rng(0)
    rows = [
        Rating(prompt_id=f"p{p}", a=a, b=b, rater_id=f"r{r}", rubric="overall", score=int(rng.integers(-3, 4)))
        for p in range(6)
        for r in range(6)
        for a, b in itertools.combinations(names, 2)
    ]
    RunDir(tmp_path / "run").write("ratings", rows, made_by="test")
    done = invoke("rank", tmp_path / "run", "--ci", "sandwich", "--json")
    assert done.code == 0, done.err
    assert {row["entity"] for row in json.loads(done.out)["rows"]} == set(names)
    done = invoke("tables", tmp_path / "run", "--out", tmp_path / "tables", "--splits", "20", "--resamples", "20")
    assert done.code == 0, done.err
    made = {path.stem for path in (tmp_path / "tables").glob("*.csv")}
    assert {"board", "voice_margin"} <= made
    assert not made & {"A7", "head_to_head"}
    done = invoke("rank", tmp_path / "run", "--by", "model")
    assert done.code == 1
    assert "there is one model only ('nova')" in done.err


def test_a_run_of_practice_pairs_only_has_nothing_to_rank(tmp_path: Path, invoke: Callable[..., Any]) -> None:
    run = RunDir(tmp_path / "run")
    run.write("ratings", [_rating("r1", "a", "b", 2, PairKind.train)], made_by="test")
    run.write("raters", [Rater(rater_id="r1")], made_by="test")
    done = invoke("rank", run.root)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "no rating is left" in done.err
