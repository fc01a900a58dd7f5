"""The sound check: a few beeps to be counted. It is a click, so that browsers allow sound from then on."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.audio import Clip, wav_bytes
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.store.schema import CheckOutcome, StudyKind

__all__ = ["BEEPS", "beeps", "count_for", "record_check"]

BEEPS = (2, 3, 4, 5)
"""How many beeps there may be."""

_RATE = 24_000
_LEVEL = 10 ** (-20 / 20)  # -20 dBFS, about the level of the clips


def count_for(secret: str, rater_id: str, nonce: str) -> int:
    """Return how many beeps a rater hears at one try: a keyed hash, so that the page's address does not tell."""
    digest = hmac.new(secret.encode(), f"{rater_id}:{nonce}".encode(), hashlib.sha256).digest()
    return BEEPS[digest[0] % len(BEEPS)]


def beeps(count: int) -> bytes:
    """Return a WAV of ``count`` tones of 660 Hz, 0.25 s long, 0.6 s apart, with 20 ms ramps."""
    time = np.arange(_RATE // 4) / _RATE
    ramp = np.minimum(1.0, np.minimum(time, time[::-1]) / 0.02)
    tone = _LEVEL * ramp * np.sin(2 * np.pi * 660 * time)
    gap = np.zeros(round(0.35 * _RATE))
    samples = np.concatenate([np.concatenate([tone, gap]) for _ in range(count)])
    return wav_bytes(Clip(samples.astype(np.float32), _RATE))


def record_check(
    connection: Connection, study: StudyKind, rater_id: str, name: str, outcome: CheckOutcome, detail: str, *, now: int
) -> None:
    """Keep the outcome of one check of a rater."""
    values = {"outcome": outcome, "detail": detail, "made": now}
    connection.execute(sa.insert(store.checks).values(rater_id=rater_id, study=study, name=name, **values))
