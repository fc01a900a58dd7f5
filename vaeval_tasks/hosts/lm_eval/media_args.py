"""The pictures and clips of a document as lm-eval's own multimodal models take them, opened when they are looked at.

The harness builds all requests before it asks one; a task's pictures at once would fill the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import read_audio

__all__ = ["SOUND_RATE", "Pictures", "Sounds", "doc_to_audio", "doc_to_image"]

SOUND_RATE = 16_000
"""In Hz. The models' processors expect it, and lm-eval hands on the samples without their rate."""


class _Media(Sequence[Any]):
    """Media files that are read one by one, each time they are asked for."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return [self.read(p) for p in self.paths[index]] if isinstance(index, slice) else self.read(self.paths[index])

    def __repr__(self) -> str:  # what --log_samples writes
        return repr([Path(path).name for path in self.paths])

    def read(self, path: str) -> Any:
        """Return one of them."""
        raise NotImplementedError


class Pictures(_Media):
    """Pictures as RGB ``PIL.Image``."""

    def read(self, path: str) -> Any:
        """Open and decode one."""
        from PIL import Image

        with Image.open(path) as picture:
            return picture.convert("RGB")


class Sounds(_Media):
    """Clips as ``{"array", "sampling_rate"}``, float32 mono of shape (n,) at :data:`SOUND_RATE`."""

    def read(self, path: str) -> dict[str, Any]:
        """Read one."""
        samples: NDArray[np.float32] = read_audio(path).at(SOUND_RATE).samples
        return {"array": samples, "sampling_rate": SOUND_RATE}


def doc_to_image(doc: Mapping[str, Any]) -> Pictures:
    """Return the pictures of a document, of which there may be none."""
    return Pictures(doc["images"])


def doc_to_audio(doc: Mapping[str, Any]) -> Sounds:
    """Return the clips of a document in playing order: of a listening question the sound first."""
    return Sounds([clip for turn in doc["turns"] for clip in turn])
