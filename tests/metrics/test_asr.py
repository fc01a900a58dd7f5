import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, read_audio, wav_bytes
from vaeval_tasks.errors import MissingWeightsError, UnknownNameError
from vaeval_tasks.metrics.asr import WhisperRecogniser
from vaeval_tasks.metrics.modified_wer import modified_wer


@pytest.fixture(scope="module")
def tiny():
    return WhisperRecogniser("whisper-tiny.en", device="cpu")


def test_human_speech_is_written_down(tiny, reader, reader_words):
    assert tiny.transcribe([reader[0]]) == [reader_words]


def test_whisper_base_is_the_default_and_hears_words(reader):
    base = WhisperRecogniser(device="cpu")
    (heard,) = base.transcribe([reader[1]])
    assert modified_wer(heard, "Had he married a more amiable woman, he might have been made still more respectable "
                               "than he was.") < 0.05  # fmt: skip
    assert base.signature == (
        "faster-whisper|model:whisper-base|weights:d01c3014881c|language:en|decoding:greedy|vad:silero|compute:int8"
    )


def test_synthetic_speech_round_trip(tiny, flite, tmp_path):
    text = "The quick brown fox jumps over the lazy dog."
    (heard,) = tiny.transcribe([read_audio(flite(text, tmp_path))])
    assert modified_wer(text, heard) < 0.1


def test_what_holds_no_speech_gives_no_words(tiny, unusable_clips):
    noise = Clip(np.random.default_rng(0).normal(0, 0.1, 48000).astype(np.float32), 16000)
    assert tiny.transcribe([*unusable_clips.values(), noise]) == [""] * (len(unusable_clips) + 1)


@pytest.mark.parametrize("rate", [8000, 44100, 48000])
def test_any_rate_is_heard(tiny, reader, reader_words, rate):
    assert modified_wer(tiny.transcribe([reader[0].at(rate)])[0], reader_words) < 0.05


def test_quiet_speech_is_heard(tiny, reader):
    quiet = Clip(reader[0].samples * np.float32(0.01), reader[0].rate)
    assert "Dashwood" in tiny.transcribe([quiet])[0]


def test_a_batch_is_its_clips_and_repeats(tiny, reader):
    together = tiny.transcribe(reader)
    assert together[1:] == tiny.transcribe(reader[1:])
    assert together[1].startswith("Had he married")


def test_a_folder_without_weights_is_refused(tmp_path, reader):
    with pytest.raises(MissingWeightsError, match=r"no model\.bin inside"):
        WhisperRecogniser(str(tmp_path)).transcribe(reader)


def test_an_unknown_name_is_refused():
    with pytest.raises(
        UnknownNameError, match=r"unknown recogniser 'large-v33'. Did you mean 'large-v3'.*whisper-base"
    ):
        _ = WhisperRecogniser("large-v33").signature


def test_a_local_folder_carries_its_checksum(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"weights")
    expected = hashlib.sha256(b"weights").hexdigest()[:12]
    recogniser = WhisperRecogniser(str(tmp_path), language=None)
    assert recogniser.signature == (
        f"faster-whisper|model:{tmp_path.name}|weights:{expected}|language:auto|decoding:greedy|vad:silero|compute:int8"
    )


def test_the_words_do_not_depend_on_the_environments_threads(reader, tmp_path):
    """With 1 and 2 OpenMP threads the rounding differs, and so did the words of some clips."""
    probe = (
        "import sys; from vaeval_tasks.audio import read_audio; "
        "from vaeval_tasks.metrics.asr import WhisperRecogniser; "
        "print(WhisperRecogniser('whisper-tiny.en')._model.model.num_active_batches, "
        "*WhisperRecogniser('whisper-tiny.en').transcribe([read_audio(p) for p in sys.argv[1:]]), sep='|')"
    )
    files = []
    for number, clip in enumerate(reader):
        files.append(tmp_path / f"{number}.wav")
        files[-1].write_bytes(wav_bytes(Clip((clip.samples * 0.3).astype(np.float32), clip.rate)))
    said = {
        subprocess.run(
            [sys.executable, "-c", probe, *map(str, files)],
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in (1, 2, 3)
    }
    assert len(said) == 1
