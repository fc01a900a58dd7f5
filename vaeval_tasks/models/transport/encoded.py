"""Audio as base64 text, in the forms in which servers send it.

The usual and the URL-safe alphabet, line breaks, a ``data:`` address, no padding; a delta is decoded by itself, or,
where deltas are pieces of one long text (the samples of DashScope's documentation join them first), together.
"""

from __future__ import annotations

import binascii
import re

from vaeval_tasks.models.transport.edge import BadMessageError

__all__ = ["Base64Pieces", "decode_base64"]

_URL_SAFE = str.maketrans("-_", "+/")
_DATA_URL = re.compile(r"\s*data:[^,]{0,200},", re.IGNORECASE)
_SPARE_BITS = {2: 0b1111, 3: 0b11}
"""Bits of the last character that no byte uses, by the characters over a multiple of four."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _plain(text: str) -> str:
    """Return the characters that count, in the usual alphabet."""
    if found := _DATA_URL.match(text):
        text = text[found.end() :]
    return "".join(text.split()).translate(_URL_SAFE)


def _strict(plain: str) -> bytes:
    try:
        return binascii.a2b_base64(plain + "=" * (-len(plain) % 4), strict_mode=True)
    except ValueError as error:
        raise BadMessageError(f"audio that is not base64 ({error}): {plain[:40]!r}") from None


def _stands_alone(plain: str) -> bool:
    """Whether a text without padding can be one: a byte is whole, and the bits beyond it are zero."""
    over = len(plain) % 4
    if over in (0, 1) or plain.endswith("="):
        return over == 0
    return not _ALPHABET.find(plain[-1]) & _SPARE_BITS[over]


def decode_base64(text: str) -> bytes:
    """Decode a whole base64 text.

    Raises:
        BadMessageError: it is not base64, or was cut off inside a byte.
    """
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        plain = _plain(text)
    if not _stands_alone(plain):
        raise BadMessageError(f"audio whose base64 was cut off: {plain[:40]!r}")
    return _strict(plain)


class Base64Pieces:
    """Decodes the deltas of one stream."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def feed(self, text: str) -> bytes:
        """Return the bytes of a delta; none once a delta did not stand alone: then :meth:`rest` has them.

        Raises:
            BadMessageError: it is not base64.
        """
        if not self._held:
            try:
                return binascii.a2b_base64(text, strict_mode=True)
            except ValueError:
                pass
        plain = _plain(text)
        if not self._held and len(plain) % 4 == 0:
            return _strict(plain)
        if plain.strip(_ALPHABET + "="):
            raise BadMessageError(f"audio that is not base64: {plain[:40]!r}")
        self._held.append(plain)
        return b""

    def rest(self) -> bytes:
        """Return the bytes of the deltas that were held back.

        Each may lack its padding, or they are one text that was cut anywhere: the former leaves the spare bits of
        every delta zero, which the latter does only by chance.

        Raises:
            BadMessageError: they are neither.
        """
        held, self._held = self._held, []
        if all(_stands_alone(text) for text in held):
            return b"".join(map(_strict, held))
        together = "".join(held)
        if "=" in together.rstrip("=") or not _stands_alone(together):
            raise BadMessageError(f"audio whose base64 was cut off: {together[:40]!r}")
        return _strict(together)
