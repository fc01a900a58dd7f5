"""Small pictures made for the sample, as PNG bytes, each a function of nothing."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["bars", "square", "triangle"]

SIZE = 160
"""Pixels a side."""
INK = (40, 70, 160)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode (height, width, 3) as PNG (ISO/IEC 15948): 8 bits, RGB, no filter."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _page() -> NDArray[np.uint8]:
    return np.full((SIZE, SIZE, 3), 255, dtype=np.uint8)


def bars() -> bytes:
    """A chart of three bars, the second the tallest."""
    page = _page()
    for index, height in enumerate((60, 120, 35)):
        left = 20 + index * 45
        page[SIZE - 15 - height : SIZE - 15, left : left + 30] = INK
    page[SIZE - 15 : SIZE - 13, 10 : SIZE - 10] = 0
    return _png(page)


def triangle() -> bytes:
    """A filled triangle that stands on its base."""
    page = _page()
    for row in range(30, 130):
        half = (row - 30) // 2
        page[row, SIZE // 2 - half : SIZE // 2 + half + 1] = INK
    return _png(page)


def square() -> bytes:
    """A filled square."""
    page = _page()
    page[40:120, 40:120] = INK
    return _png(page)
