"""Frames of ``application/vnd.amazon.eventstream``.

A frame is ``u32 length | u32 header length | crc32 | headers | payload | crc32``, big endian; a header is
``u8 length | name | u8 type | value``. Source: AWS, "Event stream encoding".
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["Frame", "FrameError", "FrameReader", "date_header", "encode", "encode_headers"]

HeaderValue = str | bytes | int | bool
_STRING, _BYTES, _TIMESTAMP = 7, 6, 8
_FIXED = {2: ">b", 3: ">h", 4: ">i", 5: ">q", _TIMESTAMP: ">q"}
LONGEST = 24 * 1024 * 1024
"""A frame that claims more is not a frame."""


class FrameError(Exception):
    """The bytes are not a frame: a checksum or a length is wrong."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: its headers and its payload."""

    headers: dict[str, HeaderValue]
    payload: bytes


def date_header(milliseconds: int) -> bytes:
    """Return the encoded header ``:date``."""
    return b"\x05:date\x08" + struct.pack(">q", milliseconds)


def encode_headers(headers: Mapping[str, str | bytes]) -> bytes:
    """Encode headers that hold text or bytes."""
    out = b""
    for name, value in headers.items():
        kind, data = (_BYTES, value) if isinstance(value, bytes) else (_STRING, value.encode())
        out += bytes([len(name)]) + name.encode() + bytes([kind]) + struct.pack(">H", len(data)) + data
    return out


def encode(headers: bytes, payload: bytes) -> bytes:
    """Return a frame around encoded headers and a payload."""
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", binascii.crc32(prelude)) + headers + payload
    return body + struct.pack(">I", binascii.crc32(body))


def _decode_headers(data: bytes) -> dict[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    at = 0
    while at < len(data):
        size = data[at]
        name, kind = data[at + 1 : at + 1 + size].decode(), data[at + 1 + size]
        at += 2 + size
        if kind in (0, 1):
            headers[name] = kind == 0
        elif kind in _FIXED:
            headers[name] = struct.unpack_from(_FIXED[kind], data, at)[0]
            at += struct.calcsize(_FIXED[kind])
        elif kind in (_STRING, _BYTES):
            (size,) = struct.unpack_from(">H", data, at)
            value = data[at + 2 : at + 2 + size]
            headers[name] = value.decode() if kind == _STRING else value
            at += 2 + size
        else:
            raise FrameError(f"header {name!r} has the unknown type {kind}")
    return headers


def _decode(frame: bytes, header_size: int) -> Frame:
    if binascii.crc32(frame[:-4]) != int.from_bytes(frame[-4:], "big"):
        raise FrameError("the checksum of a frame is wrong")
    try:
        headers = _decode_headers(frame[12 : 12 + header_size])
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise FrameError(f"the headers of a frame cannot be read ({error})") from None
    return Frame(headers, frame[12 + header_size : -4])


class FrameReader:
    """Cuts a byte stream into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield every frame that is now complete.

        Raises:
            FrameError: a checksum or a length is wrong.
        """
        self._buffer += data
        while len(self._buffer) >= 16:
            total, header_size = struct.unpack_from(">II", self._buffer)
            if binascii.crc32(self._buffer[:8]) != int.from_bytes(self._buffer[8:12], "big"):
                raise FrameError("the checksum of a frame's beginning is wrong")
            if not 16 + header_size <= total <= LONGEST:
                raise FrameError(f"a frame of {total} bytes with {header_size} bytes of headers cannot be")
            if len(self._buffer) < total:
                return
            frame = bytes(self._buffer[:total])
            del self._buffer[:total]
            yield _decode(frame, header_size)
