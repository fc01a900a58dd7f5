"""Plain measures of stored responses, kept as scores beside those of the metrics.

====================  =======================================================================================
``latency_s``         seconds from the end of the request to the first audio, as it was recorded
``total_s``           seconds from the end of the request to the end of the answer
``seconds``           length of the audio
``words``             words of the response's text (its own, or what the provider transcribed)
``words_per_minute``  those words per minute of audio
``rms_dbfs``          level of the speech: RMS of the frames within 40 dB of the loudest, dB of full scale
``pause_share``       share of quieter frames between the first and the last of them, 0 to 1
====================  =======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response, ResponseStatus, Score

__all__ = ["MEASURES", "SIGNATURE", "levels", "measure_run"]

SIGNATURE = "vaeval measures 1"
MEASURES = ("latency_s", "total_s", "seconds", "words", "words_per_minute", "rms_dbfs", "pause_share")
_FRAME_S = 0.025
_RANGE_DB = 40.0


def levels(clip: Clip) -> dict[str, float]:
    """Return ``rms_dbfs`` and ``pause_share`` of a clip; nothing of a silent one."""
    size = max(1, round(_FRAME_S * clip.rate))
    n = len(clip.samples) // size
    if clip.silent or n == 0:
        return {}
    power = np.mean(clip.samples[: n * size].astype(np.float64).reshape(n, size) ** 2, axis=1)
    active = power > power.max() * 10 ** (-_RANGE_DB / 10)
    first, last = np.flatnonzero(active)[[0, -1]]
    return {
        "rms_dbfs": float(10 * np.log10(power[active].mean())),
        "pause_share": float(1 - active[first : last + 1].mean()),
    }


def _values(response: Response, root: Path) -> Iterator[tuple[str, float | None, str]]:
    """Yield (measure, value, why there is none)."""
    if response.status is not ResponseStatus.ok:
        why = f"the response is {response.status}"
        yield from ((name, None, why) for name in MEASURES)
        return
    found: dict[str, float | None] = {"latency_s": response.first_audio_s, "total_s": response.total_s}
    reasons = dict.fromkeys(("latency_s", "total_s"), "not recorded")
    words = len((response.text or response.output_transcript).split())
    found["words"] = float(words) if words else None
    reasons["words"] = reasons["words_per_minute"] = "no text"
    path = root / response.path
    reasons |= dict.fromkeys(("seconds", "rms_dbfs", "pause_share"), "no audio")
    if response.path and path.is_file():
        clip = read_audio(path)
        found["seconds"] = clip.seconds
        found |= levels(clip)
        reasons |= dict.fromkeys(("rms_dbfs", "pause_share"), "silent")
        if words and clip.seconds > 0:
            found["words_per_minute"] = 60 * words / clip.seconds
    for name in MEASURES:
        value = found.get(name)
        yield name, value, "" if value is not None else reasons[name]


def measure_run(run: RunDir, *, progress: Callable[[int], object] | None = None) -> int:
    """Measure the responses that were not measured before, keep the scores in the run, and return how many there were.

    Raises:
        InputError: a response's audio cannot be read.
    """
    scores: list[Score] = run.read("scores") if run.has("scores") else []
    done = {s.response_id for s in scores if s.signature == SIGNATURE}
    todo = [r for r in run.responses() if r.response_id not in done]
    fresh = []
    for response in todo:
        try:
            values = list(_values(response, run.root))
        except InputError as error:
            raise InputError(f"response {response.response_id!r}: {error}") from None
        fresh += [
            Score(response_id=response.response_id, metric=name, value=value, signature=SIGNATURE, detail=why)
            for name, value, why in values
        ]
        if progress is not None:
            progress(1)
    if fresh:
        run.write("scores", [*scores, *fresh], made_by="measure", inputs=("responses",))
    return len(todo)
