"""Bringing a design in: once, checked, published clean; a second wave only adds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyloudnorm
import pytest
import soundfile
import sqlalchemy as sa

from vaeval_tasks.audio import Clip, read_audio, write_wav
from vaeval_tasks.collect.rules.settings import Settings, decode, encode
from vaeval_tasks.collect.serve import open_study
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.clips import publish
from vaeval_tasks.collect.store.database import open_database
from vaeval_tasks.collect.store.importer import names_itself
from vaeval_tasks.errors import InputError
from vaeval_tasks.prompts.loudness import true_peak_db
from vaeval_tasks.store.schema import Response, ResponseStatus, StudyKind


def open_(run: Any, **given: Any) -> Any:
    study = given.pop("study", StudyKind.cmos)
    on_missing = given.pop("on_missing", "error")
    return open_study(run, study, given, on_missing=on_missing, admin_password="x")


def rows(opened: Any, table: Any) -> list[Any]:
    with opened.context.database.read() as connection:
        return [tuple(row) for row in connection.execute(sa.select(table)).all()]


def test_importing_again_changes_nothing(run_of: Any) -> None:
    run = run_of()
    first = open_(run)
    tables = {name: rows(first, table) for name, table in store.PUBLIC.tables.items()}
    assert len(tables["tasks"]) == 9
    assert len(tables["clips"]) == 12
    again = open_(run)
    assert {name: rows(again, table) for name, table in store.PUBLIC.tables.items()} == tables
    assert again.imported.settings.completion_code == first.imported.settings.completion_code


def test_both_studies_of_a_run_share_one_database(run_of: Any) -> None:
    run = run_of()
    open_(run)
    mos = open_(run, study=StudyKind.mos)
    studies = [row[0] for row in rows(mos, store.tasks)]
    assert studies.count("cmos") == 9
    assert studies.count("mos") == 9  # 3 prompts x 3 configurations
    assert len(rows(mos, store.clips)) == 12  # published once


def test_a_second_wave_adds_and_leaves_the_first(run_of: Any) -> None:
    run = run_of()
    first = rows(open_(run), store.tasks)
    pairs = run.read("pairs")
    names = sorted({p.a for p in pairs} | {p.b for p in pairs})
    second = replace(pairs[0], pair_id="w2", wave=2, a=names[0], b=names[1])
    run.write("pairs", [*pairs, second], made_by="test")
    both = rows(open_(run), store.tasks)
    assert [row for row in both if row[1] != "w2"] == first
    assert len(both) == len(first) + 1
    run.write("pairs", [replace(pairs[0], left_is_a=not pairs[0].left_is_a), *pairs[1:], second], made_by="test")
    with pytest.raises(InputError, match=r"pairs\.parquet, field 'left_is_a'.*may only add"):
        open_(run)
    run.write("pairs", pairs, made_by="test")
    with pytest.raises(InputError, match="'w2' of the design imported before is gone"):
        open_(run)


def test_audio_that_changed_after_the_import_is_refused(run_of: Any) -> None:
    run = run_of()
    open_(run)
    path = run.root / run.read("responses")[0].path
    write_wav(path, Clip(np.full(8000, 0.1, np.float32), 16_000))
    with pytest.raises(InputError, match="changed after it was imported"):
        open_(run)


def test_a_prompt_with_a_failed_response_stops_or_goes_for_all(run_of: Any) -> None:
    run = run_of()
    responses = run.read("responses")
    responses[0] = replace(responses[0], status=ResponseStatus.timeout, path="")
    run.write("responses", responses, made_by="test")
    with pytest.raises(InputError, match=r"first: 'p000' of 'model-00/default/voice-00'.*--on-missing exclude"):
        open_(run)
    opened = open_(run, on_missing="exclude")
    assert opened.imported.excluded == ("p000",)
    assert {row[2] for row in rows(opened, store.tasks)} == {"p001", "p002"}


def test_a_pair_of_an_unknown_prompt_is_named(run_of: Any) -> None:
    run = run_of()
    run.write("prompts", run.read("prompts")[1:], made_by="test")
    with pytest.raises(InputError, match=r"pairs\.parquet, row 1, field 'prompt_id': no prompt 'p000'"):
        open_(run)


def test_what_gives_answers_their_meaning_is_frozen_once_tasks_were_given(run_of: Any, serve: Any) -> None:
    run = run_of()
    with serve(run, overall="first") as study:
        page = study.rater().task()
        assert page.parts[0] == ["overall"]
    assert open_(run, lease=5).imported.settings.overall == "first"  # what is not given stays
    with pytest.raises(InputError, match=r"'overall' is 'first' and cannot become 'last'"):
        open_(run, overall="last")


def test_settings_survive_their_table() -> None:
    settings = Settings(study=StudyKind.mos, loudness=-23.0, tasks_per_rater=3, title="Ü")
    assert decode(encode(settings)) == settings
    assert decode(json.dumps(json.loads(encode(settings)) | {"of a later version": 1})) == settings


def test_a_published_clip_is_plain_and_keeps_its_samples(tmp_path: Path) -> None:
    samples = (0.3 * np.sin(np.arange(24_000) / 20)).astype(np.float32)
    for name, channels in (("tagged.flac", 1), ("stereo.wav", 2)):
        with soundfile.SoundFile(
            tmp_path / name, "w", 24_000, channels, format="FLAC" if channels == 1 else "WAV"
        ) as file:
            file.title = "model-00 says"
            file.software = "voice-00"
            file.write(np.column_stack([samples] * channels))
        made = publish(tmp_path, name)
        data = (tmp_path / made.file).read_bytes()
        assert len(data) == 44 + 2 * 24_000
        assert b"model" not in data
        assert b"voice" not in data
        assert made.seconds == 1.0
        back = read_audio(tmp_path / made.file)
        assert (back.rate, len(back.samples)) == (24_000, 24_000)
        np.testing.assert_allclose(back.samples, samples, atol=1 / 32768)


def test_loudness_is_a_linear_gain_and_never_clips(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    quiet = (0.01 * rng.standard_normal(48_000)).astype(np.float32)
    write_wav(tmp_path / "quiet.wav", Clip(quiet, 16_000))
    made = read_audio(tmp_path / publish(tmp_path, "quiet.wav", loudness=-23.0).file)
    assert pyloudnorm.Meter(16_000).integrated_loudness(made.samples) == pytest.approx(-23.0, abs=0.1)
    source = read_audio(tmp_path / "quiet.wav").samples
    gain = float(np.dot(made.samples, source) / np.dot(source, source))
    np.testing.assert_allclose(made.samples, gain * source, atol=2 / 32768)
    peaky = quiet.copy()
    peaky[100] = 0.9
    write_wav(tmp_path / "peaky.wav", Clip(peaky, 16_000))
    loud = read_audio(tmp_path / publish(tmp_path, "peaky.wav", loudness=-10.0).file)
    assert true_peak_db(loud) == pytest.approx(-1.5, abs=0.1)


@pytest.mark.parametrize(
    ("name", "samples", "loudness", "message"),
    [
        ("silent", np.zeros(16_000), None, "empty or silent"),
        ("empty", np.zeros(0), None, "empty or silent"),
        ("short", np.full(1600, 0.1), -23.0, "cannot be brought to -23 LUFS"),
        ("faint", np.full(16_000, 0.0011), -23.0, "cannot be brought to -23 LUFS"),
    ],
)
def test_what_cannot_be_brought_to_the_loudness_is_never_served_raw(
    name: str, samples: Any, loudness: float | None, message: str, tmp_path: Path
) -> None:
    write_wav(tmp_path / f"{name}.wav", Clip(samples.astype(np.float32), 16_000))
    with pytest.raises(InputError, match=message):
        publish(tmp_path, f"{name}.wav", loudness=loudness)
    assert not (tmp_path / "audio").exists()


def test_a_damaged_file_stops_the_import_and_leaves_no_task(run_of: Any) -> None:
    run = run_of()
    (run.root / run.read("responses")[4].path).write_bytes(b"RIFF not a wave")
    with pytest.raises(InputError, match="cannot be read as sound"):
        open_(run)
    mended = open_database(run.root / "ratings.sqlite")
    with mended.read() as connection:
        assert connection.execute(sa.select(store.tasks)).all() == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I'm Claude, made by Anthropic.", True),
        ("As a GPT-Realtime model I cannot", True),
        ("My name is Marin and I am happy to help", True),
        ("Sure, the model of the car is default.", False),
        ("A live show, really pro!", False),
    ],
)
def test_a_response_that_names_itself_is_flagged(text: str, found: bool) -> None:
    response = Response(
        response_id="r", prompt_id="p", config_id="gpt-realtime-2.1/default/marin", status=ResponseStatus.ok, text=text
    )
    assert names_itself(response) is found
    spoken = replace(response, text="", output_transcript=text)
    assert names_itself(spoken) is found


def test_the_import_reports_what_names_itself(run_of: Any) -> None:
    run = run_of()
    responses = run.read("responses")
    responses[3] = replace(responses[3], text="I am Gemini.")
    run.write("responses", responses, made_by="test")
    assert open_(run).imported.named == (responses[3].response_id,)
