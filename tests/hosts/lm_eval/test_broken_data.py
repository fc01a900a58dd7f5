"""Broken data of every kind: one line, or one item left out, named and counted; good data of every kind stay."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vaeval_tasks.audio import read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval import media_cache
from vaeval_tasks.hosts.lm_eval.dataset import load
from vaeval_tasks.sample.build import hub_schema
from vaeval_tasks.scoring.results import read_results
from vaeval_tasks.scoring.results_text import results_text
from vaeval_tasks.store.run import RunDir

SEEDS = range(3)


@pytest.fixture(scope="session")
def broken(fakes: Any) -> Any:
    """The generator of broken inputs."""
    import importlib

    return importlib.import_module("broken_data")


@pytest.mark.parametrize("seed", SEEDS)
def test_every_sound_that_a_decoder_reads_is_sound(broken: Any, seed: int) -> None:
    for name, data in broken.good_sounds(seed):
        clip = read_audio(media_cache.keep(data, image=False))
        assert 0.45 < clip.seconds < 1.3, name
        assert clip.peak > 0.01, name


def test_sound_that_libsndfile_does_not_know_is_read_everywhere(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With PyAV, and with the program where PyAV is absent; a study's clips come the same way."""
    import sys

    data = dict(broken.good_sounds(0))
    if "webm" not in data:
        pytest.skip("no ffmpeg here to make one")
    ways = [read_audio(data["webm"])]
    monkeypatch.setitem(sys.modules, "av", None)
    ways.append(read_audio(data["webm"]))
    assert [way.rate for way in ways] == [48_000, 48_000]
    assert abs(ways[0].seconds - ways[1].seconds) < 0.05
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match=r"cannot be read as sound \(Format not recognised\)"):
        read_audio(data["webm"])


@pytest.mark.parametrize("seed", SEEDS)
def test_every_broken_sound_is_refused_with_a_reason(broken: Any, seed: int) -> None:
    for name, data in broken.bad_sounds(seed):
        with pytest.raises(InputError) as caught:
            media_cache.keep(data, image=False)
            pytest.fail(f"{name} was taken for a sound")
        message = str(caught.value)
        assert "\n" not in message, name
        assert "BytesIO" not in message, name


@pytest.mark.parametrize("seed", SEEDS)
def test_every_picture_that_pillow_reads_is_one(broken: Any, seed: int) -> None:
    from PIL import Image

    for name, data in broken.good_pictures(seed):
        with Image.open(media_cache.keep(data, image=True)) as picture:
            assert picture.size == (60, 40), name


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_every_broken_picture_is_refused_with_a_reason(broken: Any, seed: int) -> None:
    for name, data in broken.bad_pictures(seed):
        with pytest.raises(InputError) as caught:
            media_cache.keep(data, image=True)
            pytest.fail(f"{name} was taken for a picture")
        assert "\n" not in str(caught.value), name


def test_what_is_wrong_is_said(broken: Any) -> None:
    sounds = dict(broken.bad_sounds(1))
    pictures = dict(broken.bad_pictures(1))
    for data, image, message in (
        (sounds["WAV cut"], False, "the sound is cut short"),
        (sounds["no samples"], False, "the sound is empty"),
        (sounds["a pointer"], False, "a git-lfs pointer"),
        (pictures["SVG"], True, "an SVG drawing"),
        (pictures["a bomb"], True, "million"),
        (pictures["PNG cut"], True, "the picture is broken"),
    ):
        with pytest.raises(InputError, match=message):
            media_cache.keep(data, image=image)


def _write(folder: Path, task: str, rows: list[dict[str, Any]], name: str = "", schema: Any = None) -> Path:
    path = folder / (name or f"test_{task}.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema or hub_schema()), path)
    return path


def test_a_bad_item_is_left_out_named_and_counted(
    tmp_path: Path,
    make_row: Callable[..., Any],
    broken: Any,
    evaluate: Any,
    fake_scorers: Any,
    fakes: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = {
        "Speaking_Safety_1": {"user_audio_0": b"RIFF and garbage"},
        "Speaking_Safety_3": {"user_audio_0": b""},
        "Speaking_Safety_4": {"user_audio_2": make_row("speaking_safety", 9)["user_audio_0"]},
        "Speaking_Safety_5": {"role_audio": broken.POINTER},
    }
    rows = [make_row("speaking_safety", n) for n in range(7)]
    _write(tmp_path, "speaking_safety", [row | bad.get(row["id"], {}) for row in rows])
    model = fakes.ToneLM(run_dir=str(tmp_path / "run"))
    with caplog.at_level(logging.WARNING):
        evaluate(model, ["speaking_safety"], dataset_path=str(tmp_path))
    said = [r.message for r in caplog.records if "left out" in r.message]
    assert len(said) == 4
    assert said[0].startswith("speaking_safety: item left out: 'Speaking_Safety_1' (user_audio_0): the bytes are not")
    results = read_results(RunDir(tmp_path / "run"))
    (config,) = results.configs.values()
    task = config.tasks["speaking_safety"]
    assert task.scores.n == 3
    assert [item["item_id"] for item in task.left_out] == list(bad)
    assert [item["column"] for item in task.left_out] == ["user_audio_0", "user_audio_0", "user_audio_2", "role_audio"]
    assert "speaking_safety: 4 items of the data left out; the first: Speaking_Safety_1 (user_audio_0): " in (
        results_text(results)
    )
    raw = json.loads((tmp_path / "run" / "results.json").read_text())
    assert len(next(iter(raw["configs"].values()))["tasks"]["speaking_safety"]["left_out"]) == 4
    for strict in (True, "true", "True", 1):
        with pytest.raises(InputError, match=r"field 'user_audio_0': item 'Speaking_Safety_1': the bytes are not"):
            load(config="speaking_safety", dataset_path=str(tmp_path), strict=strict)
    with pytest.raises(InputError, match="strict=maybe must be true or false"):
        load(config="speaking_safety", dataset_path=str(tmp_path), strict="maybe")


def test_nothing_left_is_one_line(tmp_path: Path, make_row: Callable[..., Any]) -> None:
    _write(tmp_path, "speaking_safety", [make_row("speaking_safety", 0, user_audio_0=b"MZ")])
    with pytest.raises(InputError, match=r"no item that can be asked; the first: item 'Speaking_Safety_0' \(user_"):
        load(config="speaking_safety", dataset_path=str(tmp_path))


@pytest.mark.parametrize(("name", "row"), [(None, 2), ("", 2), ("  ", 2)])
def test_an_item_without_an_id(tmp_path: Path, make_row: Callable[..., Any], name: Any, row: int) -> None:
    _write(tmp_path, "speaking_safety", [make_row("speaking_safety", 0), make_row("speaking_safety", 1, id=name)])
    with pytest.raises(InputError, match=rf"test_speaking_safety.parquet, row {row}, field 'id': an item of .* no id"):
        load(config="speaking_safety", dataset_path=str(tmp_path))


def _shards(folder: Path, make_row: Callable[..., Any], there: list[int], total: int) -> None:
    for n in there:
        _write(
            folder, "", [make_row("speaking_safety", n)], name=f"test_speaking_safety-{n:05d}-of-{total:05d}.parquet"
        )


def test_shards(tmp_path: Path, make_row: Callable[..., Any]) -> None:
    _shards(tmp_path, make_row, list(range(11)), 12)
    with pytest.raises(InputError, match="test_speaking_safety has 11 of 12 shards; missing: 00011"):
        load(config="speaking_safety", dataset_path=str(tmp_path))
    _shards(tmp_path, make_row, [11], 12)
    assert len(load(config="speaking_safety", dataset_path=str(tmp_path))["test"]) == 12
    _shards(tmp_path, make_row, [0], 13)
    with pytest.raises(InputError, match="in 12 shards and in 13"):
        load(config="speaking_safety", dataset_path=str(tmp_path))
    (tmp_path / "test_speaking_safety-00000-of-00013.parquet").rename(tmp_path / "test_speaking_safety.parquet")
    with pytest.raises(InputError, match="holds the same config twice"):
        load(config="speaking_safety", dataset_path=str(tmp_path))


def test_files_that_are_no_parquet(tmp_path: Path, make_row: Callable[..., Any], broken: Any) -> None:
    whole = _write(tmp_path, "speaking_safety", [make_row("speaking_safety", n) for n in range(3)])
    data = whole.read_bytes()
    rng = np.random.default_rng(0)
    middle = bytearray(data)
    middle[100:3000] = rng.bytes(2900)
    for content, message in (
        (broken.POINTER, "a git-lfs pointer, not the file itself"),
        (b"", "is no whole parquet file"),
        (data[: len(data) // 2], "is no whole parquet file"),
        (b"PAR1" + rng.bytes(500) + b"PAR1", "is no whole parquet file"),
        (data[:-20] + rng.bytes(12) + data[-8:], "is no whole parquet file"),
        (bytes(middle), ""),
    ):
        whole.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            load(config="speaking_safety", dataset_path=str(tmp_path))
        assert str(whole) in str(caught.value)
        assert "\n" not in str(caught.value)
    shutil.rmtree(whole, ignore_errors=True)


WRONG: dict[str, pa.DataType] = {
    "id": pa.int64(),
    "system_prompt": pa.binary(),
    "role_audio": pa.string(),
    "sound_audio": pa.list_(pa.float32()),
    "user_audio_0": pa.struct([("path", pa.string())]),
    "user_audio_3": pa.int8(),
    "image_0": pa.string(),
    "ref_answers": pa.list_(pa.int64()),
    "extra": pa.string(),
}


@pytest.mark.parametrize("name", WRONG)
def test_columns_of_another_type(tmp_path: Path, hub_folder: Path, name: str) -> None:
    table = pq.read_table(hub_folder / "speaking" / "test_speaking_safety.parquet")
    at = table.schema.get_field_index(name)
    column = pa.nulls(len(table), WRONG[name])
    pq.write_table(table.set_column(at, name, column), tmp_path / "test_speaking_safety.parquet")
    with pytest.raises(InputError, match=rf"parquet, field '{name}': the column holds .*; it must hold "):
        load(config="speaking_safety", dataset_path=str(tmp_path))


def test_a_cell_that_only_names_a_file(tmp_path: Path, hub_folder: Path) -> None:
    """As the datasets library writes media that were not embedded."""
    table = pq.read_table(hub_folder / "speaking" / "test_speaking_safety.parquet")
    at = table.schema.get_field_index("user_audio_0")
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    cells = pa.array([{"bytes": None, "path": "a.wav"}] * len(table), kind)
    pq.write_table(table.set_column(at, "user_audio_0", cells), tmp_path / "test_speaking_safety.parquet")
    with pytest.raises(InputError, match=r"names the file 'a\.wav' but does not hold its bytes"):
        load(config="speaking_safety", dataset_path=str(tmp_path), strict=True)
