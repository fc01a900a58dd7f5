"""Which encoding a text file has, where nobody named one: by its mark, by its bytes, or by its script."""

from __future__ import annotations

import codecs

__all__ = ["FOUND", "likely_encoding"]

FOUND = "auto"
"""In the place of an encoding's name: find it."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 1 << 16
_SCRIPTS = ["cp1251", "koi8_r", "cp1253", "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp1255", "cp1256"]
_ENOUGH, _DENSE = 24, 0.15
"""From so many bytes beyond ASCII, and so large a share of all, a text is taken for one in another script."""


def likely_encoding(raw: bytes) -> str:
    """Return the encoding that a text most likely has.

    UTF-8 wherever the bytes allow it. Of the others a Western text has too few bytes to guess by: it is Windows-1252,
    what spreadsheets write there. A text in another script is told by charset-normalizer.
    """
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return name
    head = raw[:_SAMPLE]
    if zeros := head.count(0):
        odd = head[1::2].count(0)
        if zeros > len(head) // 4 and max(odd, zeros - odd) > 0.9 * zeros:
            return "utf-16-le" if odd > zeros - odd else "utf-16-be"
        return "utf-8"
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        sample = raw[max(error.start - _SAMPLE, 0) : error.start + _SAMPLE]
    else:
        return "utf-8"
    high = sum(byte > 127 for byte in sample)
    if high >= _ENOUGH and high > _DENSE * len(sample):
        from charset_normalizer import from_bytes  # here: only such a file pays for it

        best = from_bytes(sample, cp_isolation=_SCRIPTS).best()
        if best is not None and best.encoding in _SCRIPTS:
            return best.encoding
    return "latin-1" if any(byte in raw for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"
