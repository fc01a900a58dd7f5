"""UTMOS22 strong, the paper's predictor of speech quality (reference backend)."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import MissingWeightsError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.common import device_facts, each_clip, pick_device, require, short, signature, unusable
from vaeval_tasks.services import weights

__all__ = ["Utmos"]

RATE = 16_000
MIN_SECONDS = 0.3
_FEATURE = "UTMOS"


class Utmos:
    """Predict a MOS with UTMOS22 strong, clip by clip: padding a batch would change the scores.

    Args:
        path: a local copy of ``utmos22_strong_step7459_v1.pt``; by default the Hub's, whose checksum is pinned.
        device: a torch device; by default CUDA where there is one, else the CPU.
    """

    def __init__(self, *, path: str | Path | None = None, device: str | None = None) -> None:
        self._path = path
        self._device = device

    @cached_property
    def _file(self) -> Path:
        return weights.reference("utmos22-strong", path=self._path)

    @cached_property
    def signature(self) -> str:
        """Model and checksum of the file in use."""
        return signature(
            "UTMOS22-strong",
            model="utmos22_strong",
            weights=short(sha256_file(self._file)),
            **device_facts(self._device),
        )

    @cached_property
    def _net(self) -> tuple[Any, Any, Any]:
        file = self._file
        torch = require("torch", _FEATURE, extra="reference")
        require("transformers", _FEATURE, extra="reference")
        from vaeval_tasks.metrics.utmos_net import UtmosNet, renamed

        with torch.device("meta"):  # no values yet: drawing 100 million at random takes seconds
            net = UtmosNet()
        try:
            state = renamed(torch.load(file, map_location="cpu", weights_only=True))
        except (pickle.UnpicklingError, RuntimeError, EOFError, AttributeError) as error:
            raise MissingWeightsError(f"{file}: cannot be read as a torch state dict ({error})") from None
        expected = net.state_dict()
        wrong = sorted(expected.keys() ^ state.keys()) or sorted(
            key for key, value in expected.items() if value.shape != state[key].shape
        )
        if wrong:
            raise MissingWeightsError(
                f"{file}: not a UTMOS22 strong checkpoint: {len(wrong)} parameters are missing, unknown or of "
                f"another shape ({', '.join(wrong[:3])}, …)"
            )
        net.load_state_dict(state, assign=True)
        device = pick_device(torch, self._device)
        return torch, net.eval().to(device), device

    def ready(self) -> str:
        """Load the model, and return "": nothing is odd about it.

        Raises:
            MissingWeightsError: the weights are absent or another model's.
            MissingDependencyError: a package is not installed.
        """
        _ = self._net
        return ""

    def score(self, clips: Sequence[Clip]) -> list[Scored]:
        """Return a MOS for each clip; None where it is silent, empty or shorter than 0.3 s.

        Raises:
            MissingWeightsError: the checkpoint is missing, cannot be fetched, or is another model's.
            MissingDependencyError: torch or transformers is not installed.
        """
        return each_clip(self._one, clips, "UTMOS", loaded=lambda: self._net)

    def _one(self, clip: Clip) -> Scored:
        if reason := unusable(clip, min_seconds=MIN_SECONDS):
            return Scored(value=None, detail=reason)
        torch, net, device = self._net
        with torch.inference_mode():
            return Scored(value=float(net(torch.from_numpy(clip.at(RATE).samples)[None].to(device))))
