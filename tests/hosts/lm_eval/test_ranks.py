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

from vaeval_tasks import paths
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


@pytest.fixture(scope="module")
def spoken_back(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers of a model that repeats the question aloud, for the sample data."""
    root = tmp_path_factory.mktemp("spoken")
    for file in sorted(paths.sample_dir().rglob("*.parquet")):
        folder = root / file.stem.removeprefix("test_")
        folder.mkdir()
        for row in pq.read_table(file).to_pylist():
            (folder / f"{row['id']}.wav").write_bytes(row["user_audio_0"])
            (folder / f"{row['id']}.txt").write_text(" ".join(row["extra"]["user_audio_transcripts"]) or "words")
    return root


REAL = Path(__file__).with_name("real_main.py")
SPOKEN = ["speaking_roleplay", "speaking_reasoning"]


def with_real_scorers(spoken_back: Path, out: Path, *launcher: str, threads: int) -> Any:
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads)) | {"LMEVAL_LOG_LEVEL": "ERROR"}
    command = [sys.executable, *launcher, str(REAL), str(spoken_back), str(out / "run"), str(out / "out.json"), *SPOKEN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((out / "out.json").read_text())


def test_the_real_offline_scorers_give_one_number_on_ranks_and_threads(spoken_back: Path, tmp_path: Path) -> None:
    """Whisper's words, Distill-MOS and Resemblyzer, bit for bit: alone with 2 threads, and two ranks with one each."""
    alone, ranks = tmp_path / "alone", tmp_path / "ranks"
    alone.mkdir()
    ranks.mkdir()
    one = with_real_scorers(spoken_back, alone, threads=2)
    two_ranks = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    two = with_real_scorers(spoken_back, ranks, *two_ranks, threads=1)
    assert (one.pop("threads"), two.pop("threads")) == (2, 1)
    assert one == two
    item = one["items"]["Speaking_Roleplay_0"]["vae_score"]["scores"]
    assert {"content", "audible", "mos", "wer", "similarity"} <= set(item)
    assert item["mos"]["signature"].startswith("DistillMOS|")
    assert item["similarity"]["signature"].startswith("Resemblyzer|")
    assert 1 < item["mos"]["value"] < 5
    assert "consistency: whisper-tiny.en (stand-in)" in one["rows"]["speaking_roleplay"]["vae_scorers,none"]
    # a record that came from another rank is filled in too
    assert all(record["vae_speech"]["points"] is not None for record in one["items"].values())


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
