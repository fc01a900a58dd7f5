"""Where data come from: a local copy, the sample, the Hub; and what is said when they do not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vaeval_tasks.errors import InputError, ServiceError, UnknownNameError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.hosts.lm_eval.dataset import load
from vaeval_tasks.sample.build import hub_schema
from vaeval_tasks.scoring.suite import TASKS

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_all_configs_of_the_sample_load() -> None:
    for task in TASKS:
        docs = load(config_source=f"anywhere/{task}.yaml", dataset_path="sample", pretrained="x", device="cpu")["test"]
        assert len(docs) >= 2
        assert docs[0]["task"] == task


def test_a_local_copy(hub_folder: Path, tmp_path: Path) -> None:
    file = hub_folder / "speaking" / "test_speaking_safety.parquet"
    docs = load(config="speaking_safety", dataset_path=str(hub_folder))["test"]
    assert docs[0]["revision"] == f"sha256:{sha256_file(file)}"
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(file, bare)
    assert list(load(config="speaking_safety", dataset_path=str(bare))["test"]) == list(docs)
    (bare / file.name).rename(bare / "test_speaking_safety-00000-of-00001.parquet")
    assert list(load(config="speaking_safety", dataset_path=str(bare))["test"]) == list(docs)


def test_bad_local_copies(hub_folder: Path, tmp_path: Path, make_row: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=r"no such folder; give --metadata dataset_path=DIR"):
        load(config="speaking_safety", dataset_path=str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"no test_speaking_safety\.parquet, neither in speaking/"):
        load(config="speaking_safety", dataset_path=str(tmp_path))
    file = hub_folder / "speaking" / "test_speaking_safety.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["role_audio"]), tmp_path / file.name)
    with pytest.raises(InputError, match="field 'role_audio': the column is missing"):
        load(config="speaking_safety", dataset_path=str(tmp_path))
    rows = [make_row("speaking_safety", 0), make_row("speaking_safety", 0)]
    pq.write_table(pa.Table.from_pylist(rows, schema=hub_schema()), tmp_path / file.name)
    with pytest.raises(InputError, match="the id 'Speaking_Safety_0' comes twice"):
        load(config="speaking_safety", dataset_path=str(tmp_path))
    pq.write_table(pa.Table.from_pylist([], schema=hub_schema()), tmp_path / file.name)
    with pytest.raises(InputError, match="speaking_safety has no rows"):
        load(config="speaking_safety", dataset_path=str(tmp_path))


def test_names() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'speaking_safety'"):
        load(config="speaking_safty", dataset_path="sample")
    with pytest.raises(InputError, match="give --include_path and its name"):
        load(config_source="inline", dataset_path="sample")
    with pytest.raises(UnknownNameError, match=r"unknown profile 'offlin'.*Did you mean 'offline'"):
        load(config="speaking_safety", dataset_path="sample", profile="offlin")


def test_fewer_documents_than_processes(monkeypatch: pytest.MonkeyPatch, hub_folder: Path) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    load(config="speaking_safety", dataset_path=str(hub_folder), limit=2)
    for limit in (1, 0.4):
        with pytest.raises(InputError, match="has 1 documents for 2 processes"):
            load(config="speaking_safety", dataset_path=str(hub_folder), limit=limit)


class _Api:
    asked: Any = None

    def dataset_info(self, name: str, *, revision: str | None) -> SimpleNamespace:
        _Api.asked = (name, revision)
        return SimpleNamespace(sha=COMMIT)


def test_the_hub(monkeypatch: pytest.MonkeyPatch, hub_folder: Path) -> None:
    """The Hub gives the same rows; its binary columns may come as the library's own media features."""
    seen: list[tuple[Any, ...]] = []

    def load_dataset(name: str, config: str, *, split: str, revision: str) -> datasets.Dataset:
        seen.append((name, config, split, revision))
        rows = pq.read_table(hub_folder / "viewing" / f"test_{config}.parquet").to_pylist()
        for row in rows:
            row |= {f"image_{i}": {"bytes": row[f"image_{i}"], "path": None} for i in range(5)}
        data = datasets.Dataset.from_list(rows)
        for i in range(5):
            data = data.cast_column(f"image_{i}", datasets.Image())
        return data

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(huggingface_hub, "HfApi", _Api)
    docs = load(config="viewing_multi_discipline", revision="main")["test"]
    assert _Api.asked == ("MathLLMs/VoiceAssistant-Eval", "main")
    assert seen == [("MathLLMs/VoiceAssistant-Eval", "viewing_multi_discipline", "test", COMMIT)]
    local = load(config="viewing_multi_discipline", revision="main", dataset_path=str(hub_folder))["test"]
    assert docs[0]["revision"] == COMMIT
    assert docs.remove_columns("revision").to_list() == local.remove_columns("revision").to_list()
    _Api.asked = None
    load(config="viewing_multi_discipline", revision=COMMIT)
    assert _Api.asked is None, "a full commit needs no look-up"


@pytest.mark.parametrize("offline", [True, False])
def test_the_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch, offline: bool) -> None:
    """Switched off by the environment, or no server at the address."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", offline)
    api = huggingface_hub.HfApi
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: api(endpoint="http://127.0.0.1:9"))
    with pytest.raises(ServiceError, match=r"cannot be loaded from the Hub: .*dataset_path=DIR"):
        load(config="speaking_safety")
