"""Plain measures of a study's responses: times, lengths, speaking rate and level. They need no backend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.scoring.latency import latency_of
from vaeval_tasks.scoring.metric import Direction, MetricFamily, ResponseMetric, ScoringBatch, ScoringJob, own_text
from vaeval_tasks.store.schema import Response, ResponseStatus

__all__ = ["METRICS", "SIGNATURE", "pause_share", "rms_dbfs"]

SIGNATURE = "vaeval measures 1"
_FRAME_S = 0.025
_RANGE_DB = 40.0


def _power(clip: Clip) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """The power of each frame of 25 ms, and whether it is within 40 dB of the loudest; None of a silent clip."""
    size = max(1, round(_FRAME_S * clip.rate))
    n = len(clip.samples) // size
    if clip.silent or n == 0:
        return None
    power = np.mean(clip.samples[: n * size].astype(np.float64).reshape(n, size) ** 2, axis=1)
    return power, power > power.max() * 10 ** (-_RANGE_DB / 10)


def rms_dbfs(clip: Clip) -> float | None:
    """Return the level of the speech in dB of full scale: the RMS of its loud frames; None of a silent clip."""
    frames = _power(clip)
    return None if frames is None else float(10 * np.log10(frames[0][frames[1]].mean()))


def pause_share(clip: Clip) -> float | None:
    """Return the share of quiet frames between the first and the last loud one, 0 to 1; None of a silent clip."""
    frames = _power(clip)
    if frames is None:
        return None
    first, last = np.flatnonzero(frames[1])[[0, -1]]
    return float(1 - frames[1][first : last + 1].mean())


_Measure = Callable[[Response, Clip | None], Scored]


def _clip(batch: ScoringBatch, job: ScoringJob) -> Clip | None:
    # a run folder that was passed on without its sound still has times and words
    there = job.response.path and (batch.root / job.response.path).is_file()
    return batch.clip(job) if there else None


def _each(measure: _Measure, needs_sound: bool, batch: ScoringBatch) -> list[Scored]:
    out = []
    for job in batch.jobs:
        if job.response.status is not ResponseStatus.ok:
            out.append(Scored(value=None, detail=f"the response is {job.response.status}"))
            continue
        out.append(measure(job.response, _clip(batch, job) if needs_sound else None))
    return out


def _or(value: float | None, reason: str) -> Scored:
    return Scored(value=value, detail="" if value is not None else reason)


def _words(response: Response, _: Clip | None) -> Scored:
    return _or(float(len(own_text(response).split())) or None, "no text")


def _words_per_minute(response: Response, clip: Clip | None) -> Scored:
    words = _words(response, clip).value
    if words is None or clip is None or clip.seconds <= 0:
        return Scored(value=None, detail="no text" if words is None else "no audio")
    return Scored(value=60 * words / clip.seconds)


def _of_sound(measure: Callable[[Clip], float | None], _: Response, clip: Clip | None) -> Scored:
    return Scored(value=None, detail="no audio") if clip is None else _or(measure(clip), "silent")


def _m(key: str, place: int, measure: _Measure, *, sound: bool = False, **about: Any) -> ResponseMetric:
    return ResponseMetric(
        key=key,
        place=place,
        score=partial(_each, measure, sound),
        family=MetricFamily.measures,
        rule=SIGNATURE,
        tasks=(),
        **about,
    )


METRICS = (
    _m(
        "latency_s", 110, lambda response, _: _or(response.first_audio_s, "not recorded"),
        label="Latency (s)", unit="s", direction=Direction.less,
        about="seconds from the end of the user's speech as it was sent to the first audible sample; "
        "compares only where speech_pace agrees",
    ),
    _m(
        "total_s", 120, lambda response, _: _or(response.total_s, "not recorded"),
        label="Time to the end (s)", unit="s", direction=Direction.less,
        about="seconds from the end of the request to the end of the answer",
    ),
    _m(
        "real_time_factor", 125, lambda response, _: _or(latency_of(response)["real_time_factor"], "not recorded"),
        label="Real-time factor", direction=Direction.less,
        about="time to the end by the length of the audio: above 1 the voice has to stop and wait",
    ),
    _m(
        "seconds", 130, partial(_of_sound, lambda clip: clip.seconds), sound=True,
        label="Length (s)", unit="s", direction=Direction.neither, about="length of the audio",
    ),
    _m(
        "words", 140, _words,
        label="Length (words)", unit="words", direction=Direction.neither,
        about="words of the response's text (its own, or what the provider transcribed)",
    ),
    _m(
        "words_per_minute", 150, _words_per_minute, sound=True,
        label="Words per minute", unit="1/min", direction=Direction.neither, about="those words per minute of audio",
    ),
    _m(
        "rms_dbfs", 160, partial(_of_sound, rms_dbfs), sound=True,
        label="Level (dBFS)", unit="dBFS", direction=Direction.neither,
        about="level of the speech: RMS of the frames within 40 dB of the loudest",
    ),
    _m(
        "pause_share", 170, partial(_of_sound, pause_share), sound=True,
        label="Share of pauses", direction=Direction.less,
        about="share of quieter frames between the first and the last of them, 0 to 1",
    ),
)  # fmt: skip
"""What can be read off a stored response."""
