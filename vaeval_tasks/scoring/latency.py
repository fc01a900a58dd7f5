"""How long answers took: quantiles of the time to the first audio and to the end, and of the real-time factor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vaeval_tasks.stats.quantiles import QuantileEstimate, sample_quantile
from vaeval_tasks.store.schema import Response, ResponseStatus

__all__ = ["LATENCIES", "QUANTILES", "LatencySummary", "latency_of", "latency_summary", "paces_of"]

LATENCIES: dict[str, str] = {
    "first_audio_s": "first audio (s)",
    "total_s": "end (s)",
    "real_time_factor": "real-time factor",
}
"""What is summarised, and what a table calls it. The real-time factor is the time to the end by the length of audio."""
QUANTILES: dict[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99}

LatencySummary = Mapping[str, Mapping[str, QuantileEstimate]]
"""By latency and quantile; a latency that no answer recorded is not there."""


def latency_of(response: Response) -> dict[str, float | None]:
    """Return the latencies of an answer by name, None where it was not recorded or the request failed."""
    if response.status is not ResponseStatus.ok:
        return dict.fromkeys(LATENCIES)
    spoken = response.total_s is not None and response.path and response.seconds > 0
    factor = response.total_s / response.seconds if spoken and response.total_s is not None else None
    return {"first_audio_s": response.first_audio_s, "total_s": response.total_s, "real_time_factor": factor}


def paces_of(responses: Iterable[Response]) -> list[str]:
    """Return the ways in which the speech of answers was sent (``SpeechPace``), in order of their names."""
    return sorted({r.speech_pace for r in responses if r.speech_pace and r.status is ResponseStatus.ok})


def latency_summary(answers: Iterable[tuple[Response, str]]) -> LatencySummary:
    """Return the quantiles of answers.

    Times of speech that was sent whole and at the pace it was spoken do not compare: of both together there is none.

    Args:
        answers: each with the document it belongs to, empty where it stands alone.
    """
    given = list(answers)
    rows = [(latency_of(response), document or response.response_id) for response, document in given]
    paces = paces_of(response for response, _ in given)
    out = {}
    for name in LATENCIES:
        known = [(row[name], document) for row, document in rows]
        values = [value for value, _ in known if value is not None]
        documents = [document for value, document in known if value is not None]
        if values and len(paces) > 1:
            reason = f"speech was sent in two ways ({', '.join(paces)}), whose times do not compare"
            out[name] = dict.fromkeys(QUANTILES, QuantileEstimate(value=None, n=len(values), reason=reason))
        elif values:
            out[name] = {q: sample_quantile(values, share, documents) for q, share in QUANTILES.items()}
    return out
