"""Only main pairs enter an analysis: a run's traps play one clip twice and are no comparison."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vaeval_tasks.run import RunDir
from vaeval_tasks.schema import PairKind, Rating


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
