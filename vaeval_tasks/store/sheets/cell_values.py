"""What one cell says: a number, a flag, several texts. A ValueError tells what is wrong; the caller knows where."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

__all__ = ["Twice", "flag", "once", "real", "shown", "texts"]

_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_LONGEST = 80


class Twice(ValueError):
    """A mapping has one key twice; the parsers would take the last one without a word."""


def once(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the mapping of pairs.

    Raises:
        Twice: a key is there twice.
    """
    out: dict[Any, Any] = {}
    for key, value in pairs:
        if key in out:
            raise Twice(f"the field {shown(key)} is there twice")
        out[key] = value
    return out


def shown(value: Any) -> str:
    """Return a value as a message shows it: on one line, cut where it is long, lists and mappings by their kind."""
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def real(value: Any) -> float:
    """Return a finite number, given as one or as text.

    Raises:
        ValueError: it is something else: text, NaN, infinite, true or false.
    """
    said = f"{shown(value)} is not a number"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(said)  # noqa: TRY004 (the one error of a cell)
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and "_" in text:  # 1_000 is Python's spelling only
        raise ValueError(said)
    try:
        number = float(text)
    except (ValueError, OverflowError):
        raise ValueError(said) from None
    if not math.isfinite(number):
        raise ValueError(said)
    return number


def flag(value: Any) -> bool:
    """Return true or false, given as such or as 1 and 0, yes and no.

    Raises:
        ValueError: it is something else.
    """
    text = str(value).strip().lower() if isinstance(value, str | bool | int) else ""
    if text not in _FLAGS:
        raise ValueError(f"{shown(value)} is neither true nor false")
    return _FLAGS[text]


def texts(value: Any) -> tuple[str, ...]:
    """Return several texts, given as a list, or as one text with ``;`` between them; none where it is blank.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(";") if part.strip())
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError(f"expected a list of texts, or texts with ';' between them, got {shown(value)}")
