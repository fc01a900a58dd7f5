"""Speech recognition with Whisper on CTranslate2 (faster-whisper): offline base or tiny.en, reference large-v3."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import MissingWeightsError, UnknownNameError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.metrics.common import require, short, signature, unusable
from vaeval_tasks.progress import tracked
from vaeval_tasks.services import weights

__all__ = ["WhisperRecogniser"]

RATE = 16_000
MIN_SECONDS = 0.1
_REVISIONS = {"large-v3": "edaa852ec7e145841d8ffdb056a99866b5f0a478"}
"""What the reference profile takes of Systran/faster-whisper-large-v3: a later change must not change scores."""

_FEATURE = "speech recognition"


class WhisperRecogniser:
    """Write down speech: greedy, temperature 0, no timestamps, so that the same clip gives the same text.

    A clip in which the voice detector finds no speech gives an empty transcript; Whisper itself would make up words.

    Args:
        model: a name of offline weights (``whisper-base``, ``whisper-tiny.en``), the path of a folder with
            CTranslate2 weights, or a name that faster-whisper finds on the Hub (``large-v3``).
        language: a language code, or None to let Whisper detect it clip by clip.
        device: ``cpu``, ``cuda`` or ``cuda:1``; by default CUDA where there is one. Others mean the CPU.
    """

    def __init__(self, model: str = "whisper-base", *, language: str | None = "en", device: str | None = None) -> None:
        self._name = str(model)
        self._language = language
        name, _, index = (device or "auto").partition(":")
        self._device = name if name in ("auto", "cuda") else "cpu"
        self._index = int(index or 0)

    @cached_property
    def signature(self) -> str:
        """Model, checksum and decoding settings."""
        pin = weights.OFFLINE.get(self._name)
        sha = pin.sha256 if pin else sha256_file(self._folder / "model.bin")
        name = self._name if pin else Path(self._name).name
        return signature(
            "faster-whisper",
            model=name,
            weights=short(sha),
            language=self._language or "auto",
            decoding="greedy",
            vad="silero",
            compute=self._precision,
        )

    @cached_property
    def _folder(self) -> Path:
        if self._name in weights.OFFLINE:
            return weights.offline(self._name).parent
        folder = Path(self._name)
        if not folder.is_dir():
            folder = self._from_hub()
        if not (folder / "model.bin").is_file():
            raise MissingWeightsError(
                f"{folder}: no model.bin inside; it is not a folder of CTranslate2 Whisper weights"
            )
        return folder

    def _from_hub(self) -> Path:
        whisper = require("faster_whisper", _FEATURE, extra="offline")
        known = whisper.available_models()
        if "/" not in self._name and self._name not in known:
            offline = [name for name in weights.OFFLINE if name.startswith("whisper-")]
            raise UnknownNameError("recogniser", self._name, [*offline, *known])
        try:
            return Path(whisper.download_model(self._name, revision=_REVISIONS.get(self._name)))
        except (OSError, ValueError) as error:
            raise MissingWeightsError(
                f"the Whisper weights {self._name!r} are neither a folder nor could they be fetched from the Hub: "
                f"{str(error).splitlines()[0]} Give a local folder, or use the offline backend."
            ) from error

    @cached_property
    def _model(self) -> Any:
        whisper = require("faster_whisper", _FEATURE, extra="offline")
        return whisper.WhisperModel(
            str(self._folder),
            device=self._device,
            device_index=self._index,
            compute_type=self._precision,
            # the number of threads changes the rounding, and so the words: one, whatever the environment says, and
            # several clips at a time instead
            cpu_threads=1,
            num_workers=self._workers,
            local_files_only=True,
        )

    @property
    def _workers(self) -> int:
        return min(os.cpu_count() or 1, 8) if self._precision == "int8" else 1

    @property
    def _precision(self) -> str:
        cuda = require("ctranslate2", _FEATURE, extra="offline").get_cuda_device_count() > 0
        return "float16" if cuda and self._device != "cpu" else "int8"

    def ready(self) -> str:
        """Load the model, and return "": nothing is odd about it.

        Raises:
            MissingWeightsError: the weights are absent or another model's.
            MissingDependencyError: a package is not installed.
        """
        _ = self._model
        require("faster_whisper.vad", _FEATURE, extra="offline")
        return ""

    def transcribe(self, clips: Sequence[Clip]) -> list[str]:
        """Return a transcript for each clip; empty where nothing was said.

        Raises:
            MissingWeightsError: the weights are not there.
            MissingDependencyError: faster-whisper is not installed.
        """
        if len(clips) == 1:  # whoever asks clip by clip shows a bar of their own
            return [self.hear(clips[0])]
        with ThreadPoolExecutor(self._workers) as pool:
            return list(tracked(pool.map(self.hear, clips), "transcripts", "clip", total=len(clips)))

    def hear(self, clip: Clip) -> str:
        """Return the transcript of one clip; see :meth:`transcribe`."""
        if unusable(clip, min_seconds=MIN_SECONDS):
            return ""
        samples = clip.at(RATE).samples
        if not _speaks(samples):
            return ""
        segments, _ = self._model.transcribe(
            samples,
            language=self._language,
            beam_size=1,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return " ".join(segment.text.strip() for segment in segments).strip()


def _speaks(samples: NDArray[np.float32]) -> bool:
    """Whether the voice detector finds speech in (n,) samples at 16 kHz; quiet clips are raised to full scale first."""
    vad = require("faster_whisper.vad", _FEATURE, extra="offline")
    return bool(vad.get_speech_timestamps(samples / np.max(np.abs(samples))))
