"""Distill-MOS, the offline stand-in for UTMOS. Its scores are Distill-MOS scores and are named so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.common import device_facts, each_clip, pick_device, require, short, signature, unusable
from vaeval_tasks.services import weights

__all__ = ["DistillMos"]

RATE = 16_000
MIN_SECONDS = 0.3
_HOP = 16_000
_WINDOWS_AT_ONCE = 8
"""A clip of a minute has 54 windows; all of them at once would take 4 GB."""


class DistillMos:
    """Predict a MOS (1..5) with Distill-MOS v7, from weights that ``vaeval weights pull offline`` brings.

    Args:
        device: a torch device; by default CUDA where there is one, else the CPU.
    """

    def __init__(self, *, device: str | None = None) -> None:
        self._device = device

    @cached_property
    def signature(self) -> str:
        """Model and checksum."""
        return signature(
            "DistillMOS",
            model="distill_mos_v7",
            weights=short(weights.OFFLINE["distillmos"].sha256),
            **device_facts(self._device),
        )

    @cached_property
    def _net(self) -> tuple[Any, Any, Any]:
        torch = require("torch", "the speech quality metric", extra="offline")
        path = weights.offline("distillmos")
        from vaeval_tasks.metrics.distillmos_net import DistillMosNet

        net = DistillMosNet()
        net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)["model"])
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
            MissingWeightsError: the weights were not pulled.
            MissingDependencyError: torch is not installed.
        """
        return each_clip(self._one, clips, "DistillMOS", loaded=lambda: self._net)

    def _one(self, clip: Clip) -> Scored:
        if reason := unusable(clip, min_seconds=MIN_SECONDS):
            return Scored(value=None, detail=reason)
        torch, net, device = self._net
        windows = _windows(clip.at(RATE).samples)
        with torch.inference_mode():
            batches = [
                net(torch.from_numpy(windows[i : i + _WINDOWS_AT_ONCE]).to(device))
                for i in range(0, len(windows), _WINDOWS_AT_ONCE)
            ]
            return Scored(value=float(torch.cat(batches).mean()))


def _windows(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut (n,) into evenly spread overlapping windows (k, 122880), at most 1 s apart; short clips are padded."""
    from vaeval_tasks.metrics.distillmos_net import WINDOW

    over = max(len(samples) - WINDOW, 0)
    padded = np.pad(samples, (0, max(WINDOW - len(samples), 0)))
    starts = [int(share * over) for share in np.linspace(0, 1, ceil(over / _HOP) + 1)]
    return np.stack([padded[start : start + WINDOW] for start in starts])
