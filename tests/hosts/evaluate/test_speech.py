import json
from pathlib import Path

import numpy as np
import pandas
import pytest

from vaeval_tasks.audio import Clip, wav_bytes, write_wav
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.hosts.evaluate import speech as hub
from vaeval_tasks.metrics.backends import Scored

SAMPLES = np.linspace(-0.5, 0.5, 1600).astype(np.float32)
CLIP = Clip(SAMPLES, 16000)


@pytest.fixture
def wav(tmp_path):
    write_wav(tmp_path / "clip.wav", CLIP)
    return tmp_path / "clip.wav"


def test_every_form_of_sound_is_the_same_sound(wav):
    stereo = np.stack([SAMPLES, SAMPLES], axis=1)
    column = [
        wav,
        str(wav),
        wav.read_bytes(),
        {"array": SAMPLES, "sampling_rate": 16000},
        {"array": SAMPLES.tolist(), "sampling_rate": 16000},
        {"array": stereo, "sampling_rate": 16000},
        {"array": stereo.T, "sampling_rate": 16000},
        {"array": (SAMPLES * 32768).astype(np.int16), "sampling_rate": 16000},
        {"path": str(wav)},
        {"bytes": wav.read_bytes()},
        {"bytes": wav.read_bytes(), "path": "gone.wav"},
    ]
    clips = hub.AudioRows(hub.audio_rows(column, "predictions"), "predictions")
    assert len(clips) == len(column)
    for clip in clips:
        assert clip.rate == 16000
        assert clip.samples == pytest.approx(SAMPLES, abs=1e-4)
    assert [c.rate for c in clips[1:3]] == [16000, 16000]


def test_float_arrays_are_lossless_and_not_clipped():
    loud = np.array([1.7, -2.5, 1e-7], np.float32)
    (clip,) = hub.AudioRows(hub.audio_rows([{"array": loud, "sampling_rate": 8000}], "predictions"), "predictions")
    assert np.array_equal(clip.samples, loud)


def test_the_decoder_of_datasets_is_understood():
    class AudioDecoder:
        def get_all_samples(self):
            raise AssertionError("not needed")

        def __getitem__(self, name):
            return {"array": SAMPLES, "sampling_rate": 16000}[name]

    (clip,) = hub.AudioRows(hub.audio_rows([AudioDecoder()], "predictions"), "predictions")
    assert np.array_equal(clip.samples, SAMPLES)


def test_no_samples_are_sound_too():
    empty = {"array": [], "sampling_rate": 16000}
    rows = hub.audio_rows([empty, wav_bytes(Clip(np.zeros(0, np.float32), 16000))], "predictions")
    assert [len(clip.samples) for clip in hub.AudioRows(rows, "predictions")] == [0, 0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "expected a path, bytes, or a dict with 'array' and 'sampling_rate', got NoneType"),
        (3.5, "got float"),
        (SAMPLES, "got ndarray"),
        ([0.1, 0.2], "got list"),
        ("nowhere.wav", "nowhere.wav: no such audio file"),
        (b"RIFFnonsense", "cannot be read as sound"),
        ({"array": SAMPLES}, "sampling_rate must be a positive whole number"),
        ({"array": SAMPLES, "sampling_rate": 0}, "sampling_rate must be a positive whole number"),
        ({"array": ["a"], "sampling_rate": 16000}, "samples must be numbers"),
        ({"array": [0.1, float("nan")], "sampling_rate": 16000}, "NaN or infinite"),
        ({"array": np.zeros((2, 2, 2)), "sampling_rate": 16000}, "one or two dimensions"),
        ({}, "got NoneType"),
    ],
)
def test_a_late_bad_row_is_named(bad, message):
    good = {"array": SAMPLES, "sampling_rate": 16000}
    with pytest.raises(InputError, match=message) as caught:
        hub.audio_rows([good, good, bad], "predictions")
    assert str(caught.value).startswith("row 3, field 'predictions': ")
    assert len(str(caught.value)) < 300  # never the data
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("column", ["clip.wav", b"RIFF", {"array": [0.0]}, 3, None, Path("a")])
def test_a_column_that_is_no_list_is_refused(column):
    with pytest.raises(InputError, match=r"field 'predictions': (must be a list|is missing)"):
        hub.audio_rows(column, "predictions")
    with pytest.raises(InputError, match=r"field 'predictions': (must be a list|is missing)"):
        hub.strings(column, "predictions")


@pytest.mark.parametrize("bad", [None, float("nan"), 1, ["b"], {"x": 1}])
def test_text_rows_are_all_checked(bad):
    with pytest.raises(InputError, match="row 2, field 'references': must be a string"):
        hub.strings(["a", bad], "references")
    with pytest.raises(InputError, match="row 2, field 'references': must be a list of strings"):
        hub.string_lists([["a"], "b" if bad == ["b"] else bad], "references")


def test_a_filtered_series_is_a_list():
    assert hub.strings(pandas.Series(["a", "b", "c"])[1:], "predictions") == ["b", "c"]


def test_a_file_that_breaks_later_names_its_row(wav):
    rows = hub.audio_rows([wav, wav], "predictions")
    wav.write_bytes(b"gone")
    with pytest.raises(InputError, match="row 1, field 'predictions'"):
        hub.AudioRows(rows, "predictions")[0]


def test_results_are_plain_json():
    scored = [Scored(value=np.float64(0.5)), Scored(value=None, detail="silent"), Scored(value=1)]
    result = hub.result("m", scored, "s", more=2)
    assert json.loads(json.dumps(result, allow_nan=False)) == {
        "m": 0.75,
        "scores": [0.5, None, 1.0],
        "n": 3,
        "n_skipped": 1,
        "skipped": ["row 2: silent"],
        "coverage": 2 / 3,
        "reason": "",
        "signature": "s",
        "more": 2,
    }
    assert {type(v) for v in result["scores"]} == {float, type(None)}


def test_few_rows_with_a_value_make_no_mean(caplog):
    scored = [Scored(value=1.0), *[Scored(value=None, detail="no verdict")] * 50]
    result = hub.result("m", scored, "s")
    assert (result["m"], result["reason"]) == (None, "only 1 of 51 rows have a value, min_judged is 0.5")
    assert "only 1 of 51 rows" in caplog.text
    assert hub.result("m", scored, "s", min_judged=0.01)["m"] == 1
    assert hub.result("m", [], "s")["reason"] == ""
    with pytest.raises(InputError, match="min_judged: must be a share between 0 and 1"):
        hub.result("m", scored, "s", min_judged=50)


def test_names_are_checked():
    assert hub.backend_of(None, "default") == "offline"
    assert hub.backend_of(None, "reference") == "reference"
    assert hub.backend_of("offline", "reference") == "offline"
    with pytest.raises(UnknownNameError, match="Did you mean 'reference'"):
        hub.backend_of("refrence", "default")
    with pytest.raises(UnknownNameError, match=r"unknown option of evaluate\.load 'model_pth'"):
        hub.check_init({"model_pth": 1})


def test_the_judges_columns():
    assert hub.judge_columns(["a"], None, None, None) == {
        "predictions": ["a"],
        "references": [[]],
        "questions": [""],
        "verdicts": [[]],
    }
    assert hub.judge_columns(None, None, None, ["x", ""])["verdicts"] == [["x"], [""]]
    with pytest.raises(InputError, match="differ in length: 2 predictions, 1 questions"):
        hub.judge_columns(["a", "b"], None, ["q"], None)
    with pytest.raises(InputError, match="field 'predictions': is missing"):
        hub.judge_columns(None, [["r"]], ["q"], None)
    with pytest.raises(InputError, match="name the task"):
        hub.judge_items(None, ["a"], [[]], [""])
