"""Make the worse copies that gold and training pairs need."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from vaeval_tasks.audio import Clip, read_audio, write_wav
from vaeval_tasks.design.checks import Worse, WorseCopy
from vaeval_tasks.files import sha256_bytes, sha256_file
from vaeval_tasks.progress import tracked
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response, ResponseStatus, slug

__all__ = ["NARROW_HZ", "SNR_DB", "make_copies", "noisy"]

NARROW_HZ = 8000
SNR_DB = 5.0


def noisy(clip: Clip, seed: int) -> Clip:
    """Return the clip at telephone bandwidth (8 kHz sampling) with white noise at 5 dB SNR, below full scale."""
    narrow = clip.at(NARROW_HZ)
    power = float(np.mean(np.square(narrow.samples, dtype=np.float64)))
    noise = np.random.default_rng(seed).standard_normal(len(narrow.samples))
    mixed = narrow.samples + noise * np.sqrt(power / 10 ** (SNR_DB / 10))
    mixed *= min(1.0, 0.99 / max(float(np.max(np.abs(mixed), initial=0.0)), 1e-9))
    return Clip(mixed.astype(np.float32), NARROW_HZ).at(clip.rate)


def make_copies(
    run: RunDir, copies: Collection[WorseCopy], responses: Mapping[tuple[str, str], Response]
) -> list[Response]:
    """Write the worse copies' audio into the run and log each as a response of its ``check/…`` configuration.

    Copies that are there already are left alone, so an interrupted run goes on where it stopped.

    Args:
        run: the run folder.
        copies: what to make.
        responses: all responses by (prompt_id, config_id).

    Returns:
        The responses made.
    """
    made = []
    for copy in tracked(copies, "gold clips", "clip", total=len(copies)):
        known = responses.get((copy.prompt_id, copy.check_id))
        if known and (run.root / known.path).is_file():
            continue
        source = responses[copy.source_prompt_id, copy.config_id]
        clip = read_audio(run.root / source.path)
        response_id = f"{copy.check_id}/{copy.prompt_id}"
        if copy.worse is Worse.noisy:
            clip = noisy(clip, int(sha256_bytes(response_id.encode())[:8], 16))
        else:
            # 10 ms of silence more: no two responses of a run hold the same sound, so each is known by its hash
            clip = Clip(np.concatenate([clip.samples, np.zeros(clip.rate // 100, np.float32)]), clip.rate)
        path = run.response_audio / "check" / f"{slug(response_id)}.wav"
        write_wav(path, clip)
        made.append(
            Response(
                response_id=response_id,
                prompt_id=copy.prompt_id,
                config_id=copy.check_id,
                status=ResponseStatus.ok,
                path=path.relative_to(run.root).as_posix(),
                sha256=sha256_file(path),
                sampling_rate=clip.rate,
                seconds=clip.seconds,
                request={"made_from": source.response_id, "worse": copy.worse.value},
            )
        )
        run.append_response(made[-1])
    return made
