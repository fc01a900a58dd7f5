"""Reads the text in a picture: what a system without eyes can still answer about."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from vaeval_tasks.errors import InputError, MissingDependencyError

__all__ = ["PictureReader", "lines"]


class PictureReader:
    """Optical character recognition by RapidOCR (Apache-2.0), whose models come inside its package."""

    @cached_property
    def _engine(self) -> Any:
        try:
            from rapidocr import RapidOCR
        except ImportError:
            raise MissingDependencyError("reading pictures", "rapidocr", extra="offline") from None
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        # one thread, as everywhere in the offline system: the same picture gives the same text
        engine = {
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
        return RapidOCR(params={**engine, "Global.log_level": "error"})

    def read(self, picture: Path) -> list[str]:
        """Return the lines of text in a picture, top to bottom; what stands side by side is one line.

        Raises:
            InputError: the file is no picture.
            MissingDependencyError: rapidocr is not installed.
        """
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(picture) as image:
                pixels = image.convert("RGB")
        except (OSError, UnidentifiedImageError) as error:
            raise InputError(f"cannot be read as a picture ({error})", path=picture) from None
        import numpy as np

        found = self._engine(np.asarray(pixels)[:, :, ::-1])  # it expects blue first
        if found.boxes is None:
            return []
        boxes = [(min(p[0] for p in b), min(p[1] for p in b), max(p[1] for p in b)) for b in found.boxes]
        return lines(boxes, found.txts)


def lines(boxes: Sequence[tuple[float, float, float]], texts: Sequence[str]) -> list[str]:
    """Return texts line by line: those whose boxes (left, top, bottom) overlap by half stand side by side."""
    rows: list[list[tuple[float, float, float, str]]] = []
    for (left, top, bottom), text in sorted(zip(boxes, texts, strict=True), key=lambda pair: pair[0][1]):
        last = rows[-1][0] if rows else None
        shared = min(bottom, last[2]) - max(top, last[1]) if last else 0.0
        if last and shared > 0.5 * min(bottom - top, last[2] - last[1]):
            rows[-1].append((left, top, bottom, text))
        else:
            rows.append([(left, top, bottom, text)])
    return [" ".join(cell[3] for cell in sorted(row)) for row in rows]
