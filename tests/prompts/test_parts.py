"""Manifest, words, signal and loudness, each alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaeval_tasks.audio import Clip, read_audio, write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.prompts.distribution import set_balance
from vaeval_tasks.prompts.loudness import loudness, normalised, trimmed, true_peak_db
from vaeval_tasks.prompts.manifest import EXAMPLE, LEVELS, read_manifest
from vaeval_tasks.prompts.recording import fingerprint, likeness, read_recording
from vaeval_tasks.prompts.signal import activity, clipped_runs, measure, narrowband
from vaeval_tasks.prompts.take_findings import LIMITS, Finding, word_findings
from vaeval_tasks.prompts.words import compare, plain_words
from vaeval_tasks.store.schema import Condition, Prompt


def tone(seconds: float, hz: float = 997.0, rate: int = 48000, level: float = 1.0) -> Clip:
    return Clip((level * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate)) / rate)).astype(np.float32), rate)


def test_the_example_set_has_eleven_categories_of_five_levels_and_a_degraded_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scripts = read_manifest(EXAMPLE)
    core = [s for s in scripts if s.condition is Condition.clean]
    assert len({s.category for s in core}) == 11
    assert sorted((s.category, s.difficulty) for s in core) == sorted(
        (c, level) for c in {s.category for s in core} for level in LEVELS
    )
    assert {s.condition for s in scripts} == set(Condition)
    assert all(plain_words(s.script) for s in scripts)
    main(["prompts", "example"])
    (tmp_path / "mine.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert [s.script for s in read_manifest(tmp_path / "mine.yaml")] == [s.script for s in scripts]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,c,L6,,,", "row 1, field 'difficulty': unknown difficulty 'L6'"),
        ("a,c,,,,", "row 1, field 'difficulty': unknown difficulty ''"),
        ("a,c,L1,far-field,,", "row 1, field 'condition': unknown condition 'far-field'. Did you mean 'far_field'"),
        ("a,c,L1,,overall,", "row 1, field 'gates': unknown gated rubric 'overall'"),
        ("../a,c,L1,,,", "row 1, field 'script_id': '../a' must be letters"),
        (",c,L1,,,", "row 1, field 'script_id': is blank; every row needs one"),
        ("a,c,L1,,,maybe", "row 1, field 'public': 'maybe' is neither true nor false"),
        ("a,c,L1,,,\nA,c,L1,,,", "row 2, field 'script_id': is the script id of row 1"),
        ("", "there are no rows"),
    ],
)
def test_wrong_manifest_rows_name_their_place(tmp_path: Path, row: str, message: str) -> None:
    file = tmp_path / "m.csv"
    file.write_text(f"script_id,category,difficulty,condition,gates,public\n{row}\n")
    with pytest.raises((InputError, UnknownNameError), match=message):
        read_manifest(file)


def test_a_degraded_prompt_needs_no_level_and_gates_come_in_rubric_order(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("script_id,category,condition,gates,public\na,c,indoor,reasoning;emotional_appropriateness,yes\n")
    (script,) = read_manifest(file)
    assert script.difficulty == ""
    assert script.gates == ("emotional_appropriateness", "reasoning")
    assert script.public
    with pytest.raises(InputError, match="no such folder of recordings"):
        read_manifest(file, tmp_path / "nowhere")


def test_words() -> None:
    words = plain_words("Don’t wait: it's 7:30, CAFÉ no. 21!")
    assert " ".join(words) == "dont wait its seven thirty cafe no twenty one"
    # one substitution and one deletion of eight words
    assert compare("a b c d e f g h", "a b x d e f g").wer == 2 / 8
    seen = compare("a b c d e f g h", "a b x d e")
    assert (seen.missing_end, seen.words) == (3, 8)
    assert compare("a b", "a b and much more").wer == 1.5


@settings(deadline=None)
@given(st.text(), st.text(alphabet="abc ", min_size=1).filter(lambda t: bool(t.strip())))
def test_any_transcript_can_be_compared(transcript: str, script: str) -> None:
    seen = compare(script, transcript)
    assert seen.wer >= 0
    assert 0 <= seen.missing_end <= seen.words
    assert compare(script, script).wer == 0


@pytest.mark.parametrize(
    ("transcript", "expected"),
    [
        ("one two three four five six seven eight nine ten", []),
        ("one two three four five six seven", [Finding.truncated]),
        ("one two tree four five six", [Finding.truncated]),
        ("one two three four five six seven eight", []),  # two words at the end may be the recogniser's
        ("what is the capital of norway then", [Finding.wrong_script]),
        ("", [Finding.wrong_script]),
    ],
)
def test_a_script_without_its_end_is_told_from_another_script(transcript: str, expected: list[Finding]) -> None:
    seen = compare("one two three four five six seven eight nine ten", transcript)
    assert [f.finding for f in word_findings(seen, Condition.clean, LIMITS)] == expected


def test_loudness_of_the_standard_s_tone() -> None:
    """BS.1770: a 0 dBFS 997 Hz sine in one channel is -3.01 LUFS; EBU Tech 3341 allows a meter 0.1 LU."""
    assert loudness(tone(3)) == pytest.approx(-3.01, abs=0.1)
    assert loudness(tone(3, level=0.1)) == pytest.approx(-23.01, abs=0.1)
    assert loudness(Clip(np.zeros(48000, np.float32), 48000)) == -np.inf
    with pytest.raises(InputError, match=r"0.30 s are too short"):
        loudness(tone(0.3))
    with pytest.raises(InputError, match="silent clip"):
        normalised(Clip(np.zeros(48000, np.float32), 48000), -23)


def test_true_peak_is_found_between_the_samples() -> None:
    """A sine at a quarter of the rate, sampled 45 degrees off its peaks, has samples of 0.707 and peaks of 1."""
    n = np.arange(48000)
    clip = Clip(np.sin(np.pi / 2 * n + np.pi / 4).astype(np.float32), 48000)
    assert 20 * np.log10(clip.peak) == pytest.approx(-3.01, abs=0.01)
    # the ends of the tone ring a little when oversampled
    assert true_peak_db(Clip(clip.samples * np.hanning(48000).astype(np.float32), 48000)) == pytest.approx(0, abs=0.1)


@settings(deadline=None)
@given(st.floats(-40, -10), st.floats(-30, -14))
def test_normalising_is_one_gain_below_the_peak(level_db: float, target: float) -> None:
    clip = tone(0.5, level=10 ** (level_db / 20), rate=16000)
    made = normalised(clip, target)
    np.testing.assert_allclose(made.clip.samples, clip.samples * 10 ** (made.gain_db / 20), rtol=1e-5)
    assert true_peak_db(made.clip) <= -1.49
    assert made.lufs == pytest.approx(min(target, made.lufs))
    assert loudness(made.clip) == pytest.approx(made.lufs, abs=0.01)


def test_trimming_keeps_the_samples_and_a_quarter_second() -> None:
    clip = Clip(np.arange(48000, dtype=np.float32), 48000)
    assert trimmed(clip, 0.5, 0.6).samples[[0, -1]].tolist() == [12000, 40799]
    assert trimmed(clip, 0.1, 0.9).samples.tolist() == clip.samples.tolist()


def test_activity_of_a_tone_in_noise() -> None:
    rng = np.random.default_rng(0)
    rate = 16000
    samples = 0.001 * rng.standard_normal(3 * rate)  # -60 dBFS
    samples[rate : 2 * rate] += 0.1 * np.sqrt(2) * np.sin(2 * np.pi * 200 * np.arange(rate) / rate)  # -20 dBFS
    seen = activity(Clip(samples.astype(np.float32), rate))
    assert (seen.first_s, seen.last_s) == (pytest.approx(1, abs=0.021), pytest.approx(2, abs=0.021))
    assert seen.speech_db == pytest.approx(-20, abs=0.1)
    assert seen.snr_db == pytest.approx(41, abs=1)  # the quietest tenth of the noise is about 1 dB below its mean
    assert not seen.cut_start
    cut = activity(Clip(samples[rate + 100 : 2 * rate + rate // 2].astype(np.float32), rate))
    assert (cut.cut_start, cut.cut_end) == (True, False)


def test_clipping_is_seen_after_a_gain_and_not_in_a_loud_tone() -> None:
    loud = tone(1, hz=200).samples
    assert clipped_runs(loud) <= 200 * 2  # a pure tone stands at its peak twice a period
    speech = np.random.default_rng(1).standard_normal(48000).astype(np.float32)
    assert clipped_runs(speech) == 0
    assert clipped_runs(np.clip(speech, -1, 1) * np.float32(0.3)) > 100
    assert clipped_runs(np.zeros(10, np.float32)) == 0


def test_a_voice_is_told_from_tones_and_noise(prompt_set: Path) -> None:
    assert measure(read_audio(prompt_set.parent / "good.wav")).voiced_s > 2
    beeps = np.tile(np.concatenate([tone(0.3, rate=16000).samples, np.zeros(4800, np.float32)]), 5)
    assert measure(Clip(beeps, 16000)).voiced_s == 0
    rng = np.random.default_rng(0)
    bursts = rng.standard_normal(48000) * np.repeat([1, 0.01] * 5, 4800)
    assert measure(Clip((0.1 * bursts).astype(np.float32), 16000)).voiced_s < 0.3


def test_telephone_sound_at_a_high_rate_is_noticed(prompt_set: Path) -> None:
    wide = read_audio(prompt_set.parent / "good.wav")
    assert not narrowband(wide)
    assert narrowband(wide.at(8000).at(16000))
    assert not narrowband(wide.at(8000))  # said by its rate already


def test_the_same_recording_is_known_under_gain_shift_rate_and_coding(prompt_set: Path, tmp_path: Path) -> None:
    def taken(path: Path) -> np.ndarray:
        clip = read_audio(path)
        seen = activity(clip)
        return fingerprint(clip, seen.first_s, seen.last_s)

    good = prompt_set.parent / "good.wav"
    subprocess.run(["ffmpeg", "-v", "error", "-i", good, "-ar", "48000", tmp_path / "good.ogg"], check=True)
    subprocess.run(["ffmpeg", "-v", "error", "-i", good, tmp_path / "good.mp3"], check=True)
    assert likeness(taken(good), taken(prompt_set.parent / "twice.wav")) > 0.99
    assert likeness(taken(good), taken(tmp_path / "good.ogg")) > 0.98
    assert likeness(taken(good), taken(tmp_path / "good.mp3")) > 0.98
    for other in ("other", "stereo", "studio"):
        assert likeness(taken(good), taken(prompt_set.parent / f"{other}.wav")) < 0.9
    assert likeness(np.zeros((0, 12), np.float32), taken(good)) == 0


def test_a_streamed_wav_is_whole_and_a_cut_one_is_not(tmp_path: Path) -> None:
    write_wav(tmp_path / "whole.wav", tone(1, rate=16000))
    data = (tmp_path / "whole.wav").read_bytes()
    (tmp_path / "streamed.wav").write_bytes(data[:40] + b"\xff\xff\xff\xff" + data[44:])
    (tmp_path / "cut.wav").write_bytes(data[:-8000])
    assert read_recording(tmp_path / "whole.wav").missing_s == 0
    assert read_recording(tmp_path / "streamed.wav").missing_s == 0
    assert read_recording(tmp_path / "cut.wav").missing_s == pytest.approx(0.25)


def test_the_balance_table_counts_the_degraded_apart() -> None:
    rows = [("help", "L1", "clean"), ("help", "L5", "clean"), ("chat", "L1", "clean"), ("chat", "L1", "indoor")]
    prompts = [
        Prompt(
            prompt_id=f"p{i}", category=c, difficulty=level, condition=Condition(k), gates=("reasoning",) if i else ()
        )
        for i, (c, level, k) in enumerate(rows)
    ]
    seen = set_balance(prompts)
    assert seen.cells["chat"] == {"L1": 1, "L2": 0, "L3": 0, "L4": 0, "L5": 0, "degraded": 1}
    assert seen.gates["reasoning"] == 3
    assert seen.text().splitlines()[3].split() == ["total", "2", "0", "0", "0", "1", "1", "4"]
