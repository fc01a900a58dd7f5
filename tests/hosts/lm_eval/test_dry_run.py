"""``vaeval lm-eval --dry-run``: what is still to ask, and nobody is asked."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from vaeval_tasks.metrics.content_judge import pick_content_judge
from vaeval_tasks.scoring.suite import TASKS

Run = Callable[..., str]


def _rows(out: str) -> dict[str, list[float]]:
    """The numbers of each line of the table."""
    lines = [line.split() for line in out.splitlines()]
    return {cells[0]: [float(c) for c in cells[1:]] for cells in lines if cells and cells[0] in {*TASKS, "all"}}


@pytest.fixture
def run(lm_eval_: Run, hub_folder: Path) -> Run:
    def run(*arguments: str, metadata: tuple[str, ...] = (), **more: int) -> str:
        return lm_eval_(
            *("--model", "vaeval-tone", *arguments), *("--metadata", f"dataset_path={hub_folder}", *metadata), **more
        )

    return run


def test_all_tasks(run: Run, tmp_path: Path) -> None:
    rows = _rows(run("--tasks", "voiceassistant_eval", "--dry-run"))
    assert list(rows) == [*TASKS, "all"]
    assert rows["speaking_safety"][:4] == [2, 0, 0, 2]
    assert rows["speaking_multi_round"][:4] == [2, 0, 0, 10], "a request for each turn, 3 and 7"
    assert rows["all"][:4] == [26, 0, 0, 34]
    assert rows["all"][4] > 0
    assert not (tmp_path / "vaeval-runs").exists(), "nothing is written"


def test_what_is_there_is_not_asked_again(run: Run) -> None:
    tasks = ("--tasks", "speaking_safety,speaking_multi_round")
    run(*tasks, "--limit", "1")
    rows = _rows(run(*tasks, "--dry-run"))
    assert rows["speaking_safety"][:4] == [2, 0, 1, 1]
    assert rows["speaking_multi_round"][:4] == [2, 0, 1, 7]


def test_limits_and_samples(run: Run) -> None:
    assert _rows(run("--tasks", "speaking_safety", "--limit", "0.5", "--dry-run"))["all"][:4] == [1, 0, 0, 1]
    chosen = ("--samples", '{"speaking_multi_round": [1]}')
    assert _rows(run("--tasks", "speaking_multi_round", *chosen, "--dry-run"))["all"][:4] == [1, 0, 0, 7]
    wrong = ("--samples", '{"speaking_multi_round": [2]}', "--dry-run")
    assert "has 2 items, numbered from 0; there is no 2" in run("--tasks", "speaking_multi_round", *wrong, code=1)


def test_the_judge(run: Run, fake_scorers: Callable[..., object]) -> None:
    """Calls for answers to come, and for those that have no verdict; none where answers are not scored."""
    tasks = ("--tasks", "speaking_safety,listening_general", "--dry-run")
    assert _rows(run(*tasks))["all"][5:] == [0, 0], "the judge of these tests is no endpoint"
    fake_scorers(judge=pick_content_judge("reference", url="http://127.0.0.1:9/v1"))
    rows = _rows(run(*tasks))
    assert rows["all"][5] == 4
    assert rows["all"][6] > 4 * 100
    assert _rows(run(*tasks, "--predict_only"))["all"][5:] == [0, 0]


def test_an_item_that_cannot_be_asked_is_counted(lm_eval_: Run, hub_folder: Path, tmp_path: Path) -> None:
    root = shutil.copytree(hub_folder, tmp_path / "data")
    path = root / "speaking" / "test_speaking_safety.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0]["user_audio_0"] = rows[0]["user_audio_0"][:60]
    pq.write_table(table.from_pylist(rows, schema=table.schema), path)
    out = lm_eval_(
        "--model", "vaeval-tone", "--tasks", "speaking_safety", "--metadata", f"dataset_path={root}", "--dry-run"
    )
    assert _rows(out)["speaking_safety"][:4] == [1, 1, 0, 1]


def test_a_model_of_the_harness(lm_eval_: Run, hub_folder: Path) -> None:
    out = lm_eval_(
        "--model", "dummy", "--tasks", "speaking_safety", "--metadata", f"dataset_path={hub_folder}", "--dry-run"
    )
    assert _rows(out)["all"][:4] == [2, 0, 0, 2]


def test_tasks_of_others_only(run: Run) -> None:
    assert re.search("--dry-run knows our tasks only", run("--tasks", "arc_easy", "--dry-run", code=1))


def test_the_help_names_both_options(lm_eval_: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        lm_eval_("run", "--help")
    out = capsys.readouterr().out
    assert "--dry-run" in out
    assert "--strict" in out
