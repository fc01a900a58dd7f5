"""The embedded sample: 13 configs in the Hub's schema, small, and made by the script that the package ships."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from vaeval_tasks.audio import read_audio
from vaeval_tasks.paths import sample_dir
from vaeval_tasks.sample import build as sample_build

FILES = sorted(sample_dir().glob("*/test_*.parquet"))


def test_thirteen_configs_under_six_megabytes() -> None:
    assert len(FILES) == 13
    assert sum(file.stat().st_size for file in FILES) < 6e6


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_schema_and_cells(file: Path) -> None:
    table = pq.read_table(file)
    assert table.schema.equals(sample_build.hub_schema())
    rows = table.to_pylist()
    assert len(rows) >= 2
    for row in rows:
        spoken = [row[f"user_audio_{i}"] for i in range(7) if row[f"user_audio_{i}"]]
        assert len(spoken) == len(row["extra"]["user_audio_transcripts"])
        for cell in (*spoken, row["role_audio"], row["sound_audio"]):
            if cell:
                clip = read_audio(cell)
                assert cell[:4] == b"RIFF"
                assert clip.rate == 16_000
                assert clip.seconds > 0.5
                assert not clip.silent
        assert all(row[f"image_{i}"][:4] in (b"", b"\x89PNG") for i in range(5))
        assert bool(row["sound_audio"]) == (row["category1"] == "Listening")
        assert bool(row["role_audio"]) == (row["category2"] == "Roleplay") == ("<audio>" in row["system_prompt"])


def test_the_traps_of_the_hub_are_in_it() -> None:
    rows = [row for file in FILES for row in pq.read_table(file).to_pylist()]
    assert any(len(row["extra"]["user_audio_transcripts"]) == 3 for row in rows)
    assert any(row["image_1"] for row in rows)
    assert any(row["extra"]["raw_question"] == "[]" for row in rows)
    stringified = next(r["ref_answers"][0] for r in rows if r["ref_answers"] and r["ref_answers"][0].startswith("["))
    assert ast.literal_eval(stringified)[0].startswith("Rule: contains 'Flora'")


def test_the_script_makes_these_very_files(tmp_path: Path) -> None:
    made = sample_build.build(tmp_path)
    assert {file.name for file in made} == {file.name for file in FILES}
    for file in made:
        shipped = pq.read_table(sample_dir() / file.parent.name / file.name).to_pylist()
        for new, old in zip(pq.read_table(file).to_pylist(), shipped, strict=True):
            sounds = [key for key in new if "audio" in key and isinstance(new[key], bytes) and new[key]]
            assert {k: v for k, v in new.items() if k not in sounds} == {
                k: v for k, v in old.items() if k not in sounds
            }
            for key in sounds:
                # the synthesiser's arithmetic differs a little between processors
                assert read_audio(new[key]).seconds == pytest.approx(read_audio(old[key]).seconds, rel=0.03)
