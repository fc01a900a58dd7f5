"""Several processes give the numbers of one, share the work, and resume it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vaeval_tasks.audio import wav_bytes
from vaeval_tasks.sample.build import hub_schema
from vaeval_tasks.store.run import RunDir

TASKS = ["speaking_multi_round", "speaking_roleplay", "listening_sound"]
MAIN = Path(__file__).with_name("rank_main.py")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, make_row: Callable[..., Any], fakes: Any) -> Path:
    """Three items a task: an odd number, so that one process is padded."""
    root = tmp_path_factory.mktemp("three")
    for task in TASKS:
        sound = wav_bytes(fakes.tone(900))
        extra = {"sound_audio": sound} if task == "listening_sound" else {"role_audio": sound, "user_audio_1": sound}
        rows = [make_row(task, n, **extra) for n in range(3)]
        pq.write_table(pa.Table.from_pylist(rows, schema=hub_schema()), root / f"test_{task}.parquet")
    return root


def start_two(data: Path, root: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TONE_CALLS": str(root / "calls"), "OMP_NUM_THREADS": "1", "LMEVAL_LOG_LEVEL": "ERROR"}
    arguments = [str(data), str(root / "run"), str(root / "out.json"), *TASKS]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", str(MAIN)]
    return subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, timeout=200, check=False
    )


def numbers(results: Any) -> dict[str, Any]:
    return {task: {k: v for k, v in row.items() if "vae" in k} for task, row in results["results"].items()}


def test_two_processes_give_the_numbers_of_one(
    three: Path, tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Callable[..., Any]
) -> None:
    fake_scorers()
    model = fakes.ToneModel()
    one = numbers(evaluate(fakes.ToneLM(model=model, run_dir=str(tmp_path / "one")), TASKS, dataset_path=str(three)))
    two = start_two(three, tmp_path)
    assert two.returncode == 0, two.stderr
    assert json.loads((tmp_path / "out.json").read_text()) == one
    assert one["speaking_roleplay"]["vae_missing,none"] == 0
    # 9 documents, of which 6 have two turns: 15 calls; what pads the short process is answered from the run folder
    assert len(model.asked) == 15
    assert Counter((tmp_path / "calls").read_text().split()) == {"0": 10, "1": 5}
    run = RunDir(tmp_path / "run")
    assert (run.root / "responses-1.jsonl").is_file()
    assert len(run.responses()) == len(run.items()) == 9
    # what two processes answered, one need not ask again
    again = fakes.ToneModel()
    assert numbers(evaluate(fakes.ToneLM(model=again, run_dir=str(run.root)), TASKS, dataset_path=str(three))) == one
    assert again.asked == []
