"""How long answers took."""

from __future__ import annotations

import pytest

from vaeval_tasks.scoring.latency import LATENCIES, latency_of, latency_summary
from vaeval_tasks.store.schema import Response, ResponseStatus


def answer(number: int, status: ResponseStatus = ResponseStatus.ok, **changes: object) -> Response:
    given: dict[str, object] = {"first_audio_s": 0.5, "total_s": 3.0, "seconds": 2.0, "path": "a.wav"} | changes
    return Response(response_id=str(number), prompt_id="i", config_id="m", status=status, **given)  # type: ignore[arg-type]


def test_the_real_time_factor_is_time_by_audio() -> None:
    assert latency_of(answer(1)) == {"first_audio_s": 0.5, "total_s": 3.0, "real_time_factor": 1.5}
    assert latency_of(answer(1, path="", seconds=0.0))["real_time_factor"] is None
    assert latency_of(answer(1, total_s=None))["real_time_factor"] is None


def test_times_of_speech_sent_in_two_ways_are_not_put_together() -> None:
    paces = ["whole"] * 20 + ["spoken"]
    found = latency_summary([(answer(i, speech_pace=pace), "") for i, pace in enumerate(paces)])
    for name in LATENCIES:
        assert found[name]["p50"].value is None
        assert "speech was sent in two ways (spoken, whole)" in found[name]["p50"].reason
    failed = answer(30, ResponseStatus.timeout, speech_pace="spoken")
    one = latency_summary([(answer(i, speech_pace="whole"), "") for i in range(20)] + [(failed, "")])
    assert one["total_s"]["p50"].value == pytest.approx(3.0)


def test_failed_requests_and_what_was_not_recorded_do_not_count() -> None:
    assert latency_of(answer(1, ResponseStatus.timeout)) == dict.fromkeys(LATENCIES)
    found = latency_summary([(answer(i, first_audio_s=None), "") for i in range(10)])
    assert set(found) == {"total_s", "real_time_factor"}
    assert found["total_s"]["p50"].value == pytest.approx(3.0)
    assert (found["total_s"]["p99"].value, found["total_s"]["p99"].reason) == (None, "needs 100 answers, has 10")
    assert latency_summary([(answer(1, ResponseStatus.error), "")]) == {}
