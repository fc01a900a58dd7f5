from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.errors import InputError
from vaeval_tasks.scoring.metric import MetricFamily
from vaeval_tasks.scoring.metrics.measures import METRICS, SIGNATURE, pause_share, rms_dbfs
from vaeval_tasks.scoring.scores import score_responses, scoring_jobs
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response, ResponseStatus, Score

RATE = 8000
MEASURES = tuple(metric.key for metric in METRICS)


def tone(seconds: float, level: float = 0.5) -> np.ndarray:
    return (level * np.sin(2 * np.pi * 400 * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def test_levels_of_a_tone_with_a_pause() -> None:
    clip = Clip(np.concatenate([tone(1.0), np.zeros(RATE, np.float32), tone(2.0), np.zeros(RATE, np.float32)]), RATE)
    # a sine of amplitude 1/2 has the power 1/8: -9.03 dB; 1 s of the 4 s between first and last sound is silent
    assert rms_dbfs(clip) == pytest.approx(10 * np.log10(1 / 8), abs=0.01)
    assert pause_share(clip) == pytest.approx(0.25, abs=0.01)
    for silent in (Clip(np.zeros(RATE, np.float32), RATE), Clip(np.zeros(0, np.float32), RATE)):
        assert (rms_dbfs(silent), pause_share(silent)) == (None, None)


def measure(run: RunDir) -> int:
    """Measure the run's responses and return how many scores that made."""
    before = len(run.scores())
    score_responses(run, scoring_jobs(run.responses(), ()), None, families=[MetricFamily.measures])
    return len(run.scores()) - before


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir(tmp_path)
    write_wav(tmp_path / "audio" / "a.wav", Clip(tone(2.0), RATE))
    write_wav(tmp_path / "audio" / "silent.wav", Clip(np.zeros(RATE, np.float32), RATE))

    def response(name: str, status: ResponseStatus = ResponseStatus.ok, **more: object) -> Response:
        return Response(response_id=name, prompt_id="p", config_id=name, status=status, **more)  # type: ignore[arg-type]

    run.write(
        "responses",
        [
            response(
                "full", path="audio/a.wav", text="one two three four", first_audio_s=0.4, total_s=2.5, seconds=2.0
            ),
            response("silent", path="audio/silent.wav", output_transcript="heard"),
            response("late", ResponseStatus.timeout),
        ],
        made_by="test",
    )
    return run


def test_every_measure_of_every_response_has_a_value_or_a_reason(run: RunDir) -> None:
    assert measure(run) == 3 * len(MEASURES)
    scores = {(s.response_id, s.metric): s for s in run.read("scores")}
    assert len(scores) == 3 * len(MEASURES)
    full = {m: scores["full", m].value for m in MEASURES}
    assert full["latency_s"] == 0.4
    assert full["total_s"] == 2.5
    assert full["real_time_factor"] == pytest.approx(1.25)
    assert full["seconds"] == pytest.approx(2.0)
    assert full["words"] == 4
    assert full["words_per_minute"] == pytest.approx(120)
    assert full["pause_share"] == 0
    assert scores["silent", "rms_dbfs"].value is None
    assert scores["silent", "rms_dbfs"].detail == "silent"
    assert scores["silent", "words"].value == 1  # the provider's transcript stands in for the text
    assert scores["silent", "latency_s"].detail == "not recorded"
    assert {scores["late", m].detail for m in MEASURES} == {"the response is timeout"}


def test_only_new_responses_are_measured_and_other_scores_stay(run: RunDir) -> None:
    other = Score(response_id="full", metric="mos", value=4.0, signature="utmos|x")
    run.write("scores", [other], made_by="score")
    assert measure(run) == 3 * len(MEASURES)
    assert measure(run) == 0
    scores = run.read("scores")
    assert other in scores
    assert sum(s.signature == SIGNATURE for s in scores) == 3 * len(MEASURES)


def test_a_broken_file_is_named_and_what_needs_no_sound_is_kept(run: RunDir) -> None:
    (run.root / "audio" / "a.wav").write_bytes(b"RIFF")
    with pytest.raises(InputError, match=r"response 'full'.*a\.wav.*cannot be read as sound"):
        measure(run)
    assert {s.metric for s in run.read("scores")} == {"latency_s", "total_s", "real_time_factor"}
