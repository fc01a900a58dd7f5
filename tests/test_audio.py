"""Sound in and out: every form of input, every error, and the arithmetic of rates."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.signal
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.audio import Clip, read_audio, resample, wav_bytes, write_wav
from vaeval_tasks.errors import InputError


def test_a_wav_round_trips_to_half_a_step(tone: Clip, tmp_path: Path) -> None:
    write_wav(tmp_path / "deep" / "tone.wav", tone)
    again = read_audio(tmp_path / "deep" / "tone.wav")
    assert again.rate == 16_000
    assert np.max(np.abs(again.samples - tone.samples)) <= 0.5 / 32768
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["tone.wav"]


def test_path_bytes_array_and_dicts_read_the_same(tone: Clip, tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    write_wav(path, tone)
    exact = read_audio(path).samples
    for source in (str(path), path.read_bytes(), {"path": str(path)}, {"bytes": path.read_bytes()}):
        assert np.array_equal(read_audio(source).samples, exact)
    array = read_audio({"array": exact, "sampling_rate": 16_000})
    assert np.array_equal(array.samples, exact)


@pytest.mark.parametrize(("subtype", "error"), [("PCM_U8", 1 / 127), ("PCM_24", 1e-6), ("FLOAT", 1e-7)])
def test_other_sample_formats(tone: Clip, subtype: str, error: float) -> None:
    buffer = io.BytesIO()
    soundfile.write(buffer, tone.samples, tone.rate, format="WAV", subtype=subtype)
    assert np.max(np.abs(read_audio(buffer.getvalue()).samples - tone.samples)) <= error


def test_stereo_is_mixed_down(tone: Clip) -> None:
    buffer = io.BytesIO()
    soundfile.write(buffer, np.stack([tone.samples, np.zeros_like(tone.samples)], axis=1), 16_000, format="WAV")
    assert np.max(np.abs(read_audio(buffer.getvalue()).samples - tone.samples / 2)) < 1e-4
    for layout in ([tone.samples, tone.samples], np.stack([tone.samples, tone.samples], axis=1)):
        assert np.allclose(read_audio({"array": layout, "sampling_rate": 16_000}).samples, tone.samples)


def test_integer_samples_are_scaled() -> None:
    clip = read_audio({"array": np.array([-32768, 0, 16384], dtype=np.int16), "sampling_rate": 8000})
    assert clip.samples.tolist() == [-1.0, 0.0, 0.5]


def test_no_samples_is_an_empty_silent_clip() -> None:
    clip = read_audio(wav_bytes(Clip(np.zeros(0, np.float32), 16_000)))
    assert len(clip.samples) == 0
    assert clip.silent
    assert clip.seconds == 0


def test_a_truncated_wav_gives_what_is_there(tone: Clip) -> None:
    whole = wav_bytes(tone)
    assert len(read_audio(whole[: 44 + 1000]).samples) == 500


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"not sound", "cannot be read as sound"),
        ("missing.wav", "no such audio file"),
        ({"array": [0.0]}, "sampling_rate must be"),
        ({"array": [0.0], "sampling_rate": 0}, "sampling_rate must be"),
        ({"array": ["a"], "sampling_rate": 8000}, "must be numbers"),
        ({"array": [[[0.0]]], "sampling_rate": 8000}, "one or two dimensions"),
        ({"array": [0.0, float("nan")], "sampling_rate": 8000}, "NaN or infinite"),
        ({}, "give 'array'"),
        (3, "expected a path"),
    ],
)
def test_bad_sound_is_refused_in_one_line(source: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_audio(source)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rate", [8_000, 22_050, 24_000, 44_100, 48_000])
def test_resampling_keeps_the_tone(tone: Clip, rate: int) -> None:
    there = tone.at(rate)
    assert len(there.samples) == -(-len(tone.samples) * rate // tone.rate)
    back = there.at(tone.rate).samples[1000:-1000]
    assert np.max(np.abs(back - tone.samples[1000 : 1000 + len(back)])) < 0.01


def test_resampling_to_the_same_rate_copies_nothing(tone: Clip) -> None:
    assert resample(tone.samples, 16_000, 16_000) is tone.samples


@given(st.binary(max_size=99))
def test_pcm16_round_trips_and_drops_an_odd_byte(data: bytes) -> None:
    clip = Clip.from_pcm16(data, 8000)
    assert clip.pcm16() == data[: len(data) // 2 * 2]


def test_full_scale_does_not_wrap() -> None:
    assert np.frombuffer(Clip(np.array([2.0, -2.0], np.float32), 8000).pcm16(), "<i2").tolist() == [32767, -32768]


def test_the_hash_names_samples_and_rate(tone: Clip) -> None:
    assert tone.sha256 == Clip(tone.samples.copy(), 16_000).sha256
    assert tone.sha256 != Clip(tone.samples, 8_000).sha256


@pytest.mark.parametrize("samples", [0, 1, 4801])
def test_wav_bytes_are_those_of_libsndfile(tone: Clip, samples: int) -> None:
    clip = Clip(tone.samples[:samples], tone.rate)
    expected = io.BytesIO()
    soundfile.write(expected, np.frombuffer(clip.pcm16(), "<i2"), clip.rate, format="WAV", subtype="PCM_16")
    assert wav_bytes(clip) == expected.getvalue()


@pytest.mark.parametrize("rate", [8_000, 24_000, 44_100])
def test_the_kept_filter_is_the_one_scipy_designs(tone: Clip, rate: int) -> None:
    common = math.gcd(rate, tone.rate)
    expected = scipy.signal.resample_poly(tone.samples, rate // common, tone.rate // common)
    assert np.array_equal(resample(tone.samples, tone.rate, rate), expected)
