"""What is wrong with what somebody else's system returned: types, shapes, rates, numbers that are none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vaeval_tasks.audio import Clip
from vaeval_tasks.models.protocol import Reply, Retry
from vaeval_tasks.models.system import SpokenAnswer
from vaeval_tasks.models.transport.record import audio_stub
from vaeval_tasks.store.schema import ResponseStatus

__all__ = ["wrong_answer", "wrong_reply"]

LOWEST_RATE, HIGHEST_RATE = 4_000, 192_000
"""Hz."""
LOUDEST = 2.0
"""Floats beyond this are no samples in [-1, 1] that clip a little; most likely they are 16-bit numbers."""


def wrong_answer(given: Any) -> str:
    """Return what is wrong with what ``answer`` returned, empty where nothing is."""
    if not isinstance(given, SpokenAnswer):
        return f"answer() must return a SpokenAnswer, got {_kind(given)}"
    for name in ("text", "input_transcript", "thoughts"):
        if not isinstance(value := getattr(given, name), str):
            return f"{name} must be text, got {_kind(value)}"
    if not isinstance(given.usage, Mapping) or not _is_json(dict(given.usage)):
        return f"usage must be a mapping that JSON can hold, got {_brief(given.usage)}"
    if given.audio is not None and (wrong := _wrong_rate(given.rate)):
        return wrong
    return _wrong_seconds("first_audio_s", given.first_audio_s) or _wrong_sound(given.audio)


def _wrong_sound(audio: Any) -> str:
    if audio is None:
        return ""
    if isinstance(audio, bytes | bytearray):
        if audio[:4] == b"RIFF" and audio[8:12] == b"WAVE":
            return "audio is a WAV file; give its samples without the header"
        return f"audio has {len(audio)} bytes, an odd number; 16-bit samples take two each" if len(audio) % 2 else ""
    if not isinstance(audio, np.ndarray):
        return f"audio must be bytes, a NumPy array or None, got {_kind(audio)}"
    return _wrong_samples(audio, (np.dtype(np.int16), np.dtype(np.float32), np.dtype(np.float64)))


def _wrong_samples(samples: Any, kinds: tuple[np.dtype[Any], ...]) -> str:
    if samples.dtype not in kinds:
        return f"samples must be {' or '.join(map(str, kinds))}, got {samples.dtype}"
    if samples.ndim != 1:
        return f"samples must be mono, of shape (n,), got shape {samples.shape}"
    if samples.dtype.kind == "f":
        if not np.all(np.isfinite(samples)):
            return "the audio holds NaN or infinite samples"
        if (peak := float(np.max(np.abs(samples), initial=0.0))) > LOUDEST:
            return f"float samples lie in [-1, 1]; the largest is {peak:g}"
    return ""


def _wrong_rate(rate: Any) -> str:
    if isinstance(rate, bool) or not isinstance(rate, int | np.integer) or not LOWEST_RATE <= rate <= HIGHEST_RATE:
        return f"rate must be a whole number of Hz from {LOWEST_RATE} to {HIGHEST_RATE}, got {_brief(rate)}"
    return ""


def _wrong_seconds(name: str, value: Any) -> str:
    if value is None:
        return ""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return (
        "" if number and math.isfinite(value) and value >= 0 else f"{name} must be seconds from 0, got {_brief(value)}"
    )


def wrong_reply(reply: Any) -> str:
    """Return what is wrong with what ``respond`` returned, empty where nothing is."""
    if not isinstance(reply, Reply):
        return f"respond() must return a Reply, got {_kind(reply)}"
    if not isinstance(reply.status, ResponseStatus):
        return f"status must be a ResponseStatus, got {_brief(reply.status)}"
    for name in ("text", "input_transcript", "output_transcript", "thoughts", "error"):
        if not isinstance(value := getattr(reply, name), str):
            return f"{name} must be text, got {_kind(value)}"
    for name in ("audio", "provisional"):
        if wrong := _wrong_clip(getattr(reply, name)):
            return f"{name}: {wrong}"
    if reply.status is ResponseStatus.ok and (reply.audio is None or not len(reply.audio.samples)):
        return "the status is ok and there is no audio"
    for name in ("usage", "request", "events"):
        if not _is_json(value := getattr(reply, name)):
            return f"{name} cannot be written as JSON: {_brief(value)}"
    if not isinstance(reply.retry, Retry | None):
        return f"retry must be a Retry or None, got {_kind(reply.retry)}"
    return _wrong_seconds("first_audio_s", reply.first_audio_s) or _wrong_seconds("total_s", reply.total_s)


def _wrong_clip(clip: Any) -> str:
    if clip is None:
        return ""
    if not isinstance(clip, Clip) or not isinstance(clip.samples, np.ndarray):
        return f"must be a Clip of NumPy samples or None, got {_kind(clip)}"
    return _wrong_rate(clip.rate) or _wrong_samples(clip.samples, (np.dtype(np.float32),))


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, default=audio_stub)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _brief(value: Any) -> str:
    return " ".join(repr(value).split())[:80]


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
