"""The offline speaker encoder: Resemblyzer's network (GE2E, 256-d), from weights in the cache.

Architecture and constants after Resemblyzer 0.1.4 (Apache-2.0; Wan et al., "Generalized End-to-End Loss for Speaker
Verification", 2018). Its voice detector (webrtcvad) is replaced by one on energy, so embeddings differ slightly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip
from vaeval_tasks.metrics.common import device_facts, each_clip, pick_device, require, short, signature, unusable
from vaeval_tasks.services import weights

__all__ = ["Resemblyzer", "speech_only"]

RATE = 16_000
MIN_SPEECH_SECONDS = 1.6
"""One window. Below it, clips of one speaker look like those of two (0.84 at 1.6 s, 0.67 at 0.5 s)."""

_FRAME = 480  # 30 ms
_FLOOR_DB = -32.0  # a frame this far below the loud frames of its clip is not speech
_TARGET_RMS = 10 ** (-30 / 20)
_HOP = 160  # samples between mel frames, 10 ms
_PARTIAL = 160  # mel frames, 1.6 s
_STEP = 77  # mel frames between windows: 1.3 windows a second
_FEATURE = "the offline speaker encoder"


class Resemblyzer:
    """Turn a voice into 256 numbers of unit length.

    Args:
        device: a torch device; by default CUDA where there is one, else the CPU.
    """

    def __init__(self, *, device: str | None = None) -> None:
        self._device = device

    @cached_property
    def signature(self) -> str:
        """Model, checksum and voice detector."""
        sha = weights.OFFLINE["resemblyzer"].sha256
        return signature(
            "Resemblyzer", model="resemblyzer-0.1.4", weights=short(sha), vad="energy", **device_facts(self._device)
        )

    @cached_property
    def _net(self) -> tuple[Any, Any, Any, Any]:
        torch = require("torch", _FEATURE, extra="offline")
        state = torch.load(weights.offline("resemblyzer"), map_location="cpu", weights_only=True)["model_state"]
        lstm = torch.nn.LSTM(40, 256, 3, batch_first=True)
        linear = torch.nn.Linear(256, 256)
        for module, prefix in ((lstm, "lstm."), (linear, "linear.")):
            module.load_state_dict({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
        device = pick_device(torch, self._device)
        return torch, lstm.eval().to(device), linear.eval().to(device), device

    def ready(self) -> str:
        """Load the model, and return "": nothing is odd about it.

        Raises:
            MissingWeightsError: the weights are absent or another model's.
            MissingDependencyError: a package is not installed.
        """
        _ = self._net
        require("transformers.audio_utils", _FEATURE, extra="offline")
        return ""

    def embed(self, clips: Sequence[Clip]) -> list[NDArray[np.float32] | None]:
        """Return a unit vector (256,) for each clip, None where there are less than 1.6 s of speech.

        Raises:
            MissingWeightsError: the weights were not pulled.
            MissingDependencyError: torch or transformers is not installed.
        """
        return each_clip(self._one, clips, "voices", loaded=lambda: self._net)

    def _one(self, clip: Clip) -> NDArray[np.float32] | None:
        if unusable(clip, min_seconds=MIN_SPEECH_SECONDS):
            return None
        speech = speech_only(clip.at(RATE).samples)
        if len(speech) < MIN_SPEECH_SECONDS * RATE:
            return None
        torch, lstm, linear, device = self._net
        with torch.inference_mode():
            _, (hidden, _) = lstm(torch.from_numpy(_partials(speech)).to(device))
            partial = torch.nn.functional.normalize(torch.relu(linear(hidden[-1])), dim=1)
            mean = torch.nn.functional.normalize(partial.mean(dim=0), dim=0)
        return np.asarray(mean.cpu().numpy(), dtype=np.float32)


def speech_only(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Raise quiet sound to -30 dBFS and cut its pauses, leaving about 0.1 s on each side of speech.

    Args:
        samples: (n,) at 16 kHz.

    Returns:
        (k,) with k <= n; frames of 30 ms are kept or dropped whole.
    """
    from scipy.ndimage import binary_dilation, uniform_filter1d

    samples = samples * max(1.0, _TARGET_RMS / max(float(np.sqrt(np.mean(samples**2))), 1e-9))
    whole = samples[: len(samples) // _FRAME * _FRAME].reshape(-1, _FRAME)
    level = 10 * np.log10(np.mean(whole.astype(np.float64) ** 2, axis=1) + 1e-12)
    loud = level > np.percentile(level, 95) + _FLOOR_DB
    # as Resemblyzer: a moving average over 8 frames, then 3 frames on either side
    voiced = uniform_filter1d(loud.astype(float), 8, mode="constant") >= 0.5
    return np.asarray(whole[binary_dilation(voiced, np.ones(7))].reshape(-1), dtype=np.float32)


def _mel(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mel power spectrogram (frames, 40), not in dB; equal to librosa's, without its compile time."""
    torch = require("torch", _FEATURE, extra="offline")
    audio_utils = require("transformers.audio_utils", _FEATURE, extra="offline")
    bank = audio_utils.mel_filter_bank(201, 40, 0.0, RATE / 2, RATE, norm="slaney", mel_scale="slaney")
    spectrum = torch.stft(
        torch.from_numpy(samples),
        400,
        hop_length=_HOP,
        window=torch.hann_window(400),
        pad_mode="constant",
        return_complex=True,
    )
    return np.asarray((spectrum.abs() ** 2).numpy().T @ bank, dtype=np.float32)


def _partials(speech: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return mel windows (k, 160, 40); the last one is kept if speech fills three quarters of it."""
    frames = (len(speech) + _HOP) // _HOP
    starts = list(range(0, max(1, frames - _PARTIAL + _STEP + 1), _STEP))
    if len(starts) > 1 and len(speech) / _HOP - starts[-1] < 0.75 * _PARTIAL:
        starts.pop()
    mel = _mel(np.pad(speech, (0, max(0, (starts[-1] + _PARTIAL) * _HOP - len(speech)))))
    return np.stack([mel[start : start + _PARTIAL] for start in starts])
