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
from vaeval_tasks.run import RunDir
from vaeval_tasks.sample.build import hub_schema

MAIN = Path(__file__).with_name("rank_main.py")
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, make_row: Callable[..., Any], fakes: Any) -> Path:
    """Three items a task: an odd number, so that one process is padded."""
    root = tmp_path_factory.mktemp("three")
    for task in ("speaking_multi_round", "speaking_roleplay", "listening_sound"):
        sound = wav_bytes(fakes.tone(900))
        extra = {"sound_audio": sound} if task == "listening_sound" else {"role_audio": sound, "user_audio_1": sound}
        rows = [make_row(task, n, **extra) for n in range(3)]
        pq.write_table(pa.Table.from_pylist(rows, schema=hub_schema()), root / f"test_{task}.parquet")
    return root


def start(launcher: list[str], data: Path, root: Path, limit: int = 3) -> subprocess.CompletedProcess[str]:
    root.mkdir(exist_ok=True)
    environment = os.environ | {"TONE_CALLS": str(root / "calls"), "OMP_NUM_THREADS": "1", "LMEVAL_LOG_LEVEL": "ERROR"}
    command = [sys.executable, *launcher, str(MAIN), str(data), str(root / "run"), str(root / "out.json"), str(limit)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_two_processes_give_the_numbers_of_one(three: Path, tmp_path: Path) -> None:
    one, two = start([], three, tmp_path / "one"), start(TORCHRUN, three, tmp_path / "two")
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    numbers = json.loads((tmp_path / "one" / "out.json").read_text())
    assert json.loads((tmp_path / "two" / "out.json").read_text()) == numbers
    assert numbers["speaking_roleplay"]["vae_missing,none"] == 0
    # 9 documents, of which 6 have two turns: 15 calls, the padding answered from the run folder
    assert Counter((tmp_path / "one" / "calls").read_text().split()) == {"0": 15}
    assert Counter((tmp_path / "two" / "calls").read_text().split()) == {"0": 10, "1": 5}
    run = RunDir(tmp_path / "two" / "run")
    assert (run.root / "responses-1.jsonl").is_file()
    assert len(run.responses()) == len(run.items()) == 9
    # what two processes answered, one need not ask again
    again = start([], three, tmp_path / "two")
    assert again.returncode == 0, again.stderr
    assert len((tmp_path / "two" / "calls").read_text().split()) == 15
    assert json.loads((tmp_path / "two" / "out.json").read_text()) == numbers


def test_fewer_documents_than_processes_is_one_line(three: Path, tmp_path: Path) -> None:
    stopped = start(TORCHRUN, three, tmp_path / "few", limit=1)
    assert stopped.returncode != 0
    assert "Error: speaking_multi_round has 1 documents for 2 processes; start at most 1" in stopped.stderr
