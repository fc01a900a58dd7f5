"""Likeness of two voices, as the role-play score takes it: ``(cosine + 1) / 2`` of speaker embeddings (WeSpeaker)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.backends import Scored, SpeakerEncoder

__all__ = ["similarities", "similarity"]


def similarity(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Return ``(cosine + 1) / 2`` of two embeddings, from 0 to 1 (same direction)."""
    cosine = float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))
    return min(max((cosine + 1) / 2, 0.0), 1.0)


def similarities(encoder: SpeakerEncoder, responses: Sequence[Clip], voices: Sequence[Clip]) -> list[Scored]:
    """Compare each response with the voice it was to imitate.

    Returns:
        A similarity for each pair; None, with the side that is at fault, where there is too little speech.

    Raises:
        InputError: the lists differ in length.
    """
    if len(responses) != len(voices):
        raise InputError(f"{len(responses)} responses but {len(voices)} voices; give one for each")
    return [_compared(a, b) for a, b in zip(encoder.embed(responses), encoder.embed(voices), strict=True)]


def _compared(response: NDArray[np.float32] | None, voice: NDArray[np.float32] | None) -> Scored:
    if response is None:
        return Scored(value=None, detail="too little speech in the response")
    if voice is None:
        return Scored(value=None, detail="too little speech in the reference voice")
    return Scored(value=similarity(response, voice))
