"""Scores are appended: nothing is scored twice or lost, whenever the process dies, and cost grows with what is new."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.scoring.score_log import ScoreLog
from vaeval_tasks.scoring.scores import BATCH, score_responses, scoring_jobs
from vaeval_tasks.store.check import check
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus, Score

TASK = "speaking_safety"
KILLED = Path(__file__).parent / "killed_pass.py"


class Judge:
    signature = "judge"

    def judge(self, items: Any) -> list[Scored]:
        return [Scored(value=1.0, detail="[Good]") for _ in items]


SCORERS = Scorers(judge=Judge(), speech=None, recogniser=None, speaker=None, emotion=None)


def answers(run: RunDir, n: int) -> RunDir:
    """Put n answers of text alone into a run."""
    run.write("items", [Item(item_id=f"i{i}", task=TASK, question=f"q{i}") for i in range(n)], made_by="test")
    rows = [
        Response(
            response_id=f"r{i}", prompt_id=f"i{i}", config_id="m/d/d", task=TASK, status=ResponseStatus.ok, text="No."
        )
        for i in range(n)
    ]
    run.write("responses", rows, made_by="test")
    return run


def go(run: RunDir) -> ScoreLog:
    return score_responses(run, scoring_jobs(run.responses(), run.items()), SCORERS)


def score(name: str, value: float | None, *, metric: str = "content", signature: str = "judge") -> Score:
    return Score(response_id=name, metric=metric, value=value, signature=signature)


def written() -> int:
    """Bytes that this process has written."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["wchar"])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts bytes as Linux does")
def test_eight_times_the_responses_cost_at_most_eight_times_the_bytes(tmp_path: Path) -> None:
    """Written whole for every batch, the table cost 13 times as much here, 47 times from 2,000 to 15,561 responses."""
    cost = {}
    for n in (128, 1024):
        run = answers(RunDir(tmp_path / str(n)), n)
        before = written()
        go(run)
        cost[n] = written() - before
    assert cost[1024] <= 8 * cost[128]


@pytest.mark.parametrize("dies_at", [1, 2, 3])
def test_a_killed_pass_goes_on_where_it_was(tmp_path: Path, dies_at: int) -> None:
    n = 2 * BATCH + 10
    run = answers(RunDir(tmp_path), n)
    died = subprocess.run([sys.executable, KILLED, str(run.root), str(dies_at)], check=False)
    assert died.returncode == -signal.SIGKILL
    kept = {s.response_id for s in run.scores() if s.metric == "content"}
    assert len(kept) == BATCH * (dies_at - 1)
    subprocess.run([sys.executable, KILLED, str(run.root), "0"], check=True)
    asked = Counter((run.root / "asked.txt").read_text().split())
    assert asked == Counter(f"q{i}" for i in range(n)), "each once, before or after"
    assert {(s.response_id, s.metric) for s in run.read("scores")} == {
        (f"r{i}", metric) for i in range(n) for metric in ("audible", "content")
    }
    assert check(run) == []


def test_an_unfinished_last_line_is_scored_again_and_the_others_are_not(tmp_path: Path) -> None:
    run = answers(RunDir(tmp_path), 3)
    go(run)
    run.path("scores").unlink()
    log = run.root / "scores.jsonl"
    whole = log.read_text().splitlines(keepends=True)
    log.write_text("".join(whole[:-1]) + whole[-1][:20])
    assert len(run.scores()) == 5
    assert len(go(run).run.read("scores")) == 6
    assert len(log.read_text().splitlines()) in (6, 7), "the torn line stays or is moved aside; one is added"


def test_a_finished_pass_writes_nothing(tmp_path: Path) -> None:
    run = answers(RunDir(tmp_path), 3)
    go(run)
    files = {path: path.read_bytes() for path in run.root.iterdir() if path.is_file()}
    go(run)
    assert {path: path.read_bytes() for path in run.root.iterdir() if path.is_file()} == files


def test_a_run_of_0_1_0_has_only_the_table(tmp_path: Path) -> None:
    run = answers(RunDir(tmp_path), 2)
    old = [score("r0", 0.0), score("r0", 0.0, metric="audible", signature="audible peak>=0.001")]
    run.write("scores", old, made_by="vaeval score")
    found = {(s.response_id, s.metric): s.value for s in go(run).run.read("scores")}
    assert found == {("r0", "content"): 0, ("r0", "audible"): 0, ("r1", "content"): 1, ("r1", "audible"): 0}
    assert "r0" not in (run.root / "scores.jsonl").read_text()


def test_readers_see_the_log_before_it_is_compacted(tmp_path: Path) -> None:
    run = answers(RunDir(tmp_path), 1)
    run.write("scores", [score("r0", None)], made_by="test")
    run.append("scores", score("r0", 1.0))
    assert run.scores() == [score("r0", 1.0)]
    run.append("scores", score("gone", 1.0))
    assert any("gone" in line for line in check(run)), "check reads the log too"


def test_what_one_metric_found_is_kept_where_the_next_fails(tmp_path: Path) -> None:
    run = answers(RunDir(tmp_path), 2)

    class Broken(Judge):
        def judge(self, items: Any) -> list[Scored]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_responses(run, scoring_jobs(run.responses(), run.items()), replace(SCORERS, judge=Broken()))
    assert {s.metric for s in run.read("scores")} == {"audible"}
