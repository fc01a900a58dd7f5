"""Where a provider's message becomes a typed record; what does not fit is named, and is the end of that turn only."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:
    from vaeval_tasks.models.transport.record import Recorder

__all__ = ["BadMessageError", "fit", "keeping", "read_json", "read_object", "shortened"]

T = TypeVar("T")
_DEEPEST = 100
"""Levels of nesting; what is deeper cannot be written down again."""
_MOST_DIGITS = 4000
_LONGEST_TEXT = 500


class BadMessageError(Exception):
    """A message is not what it must be: no JSON, a field of another type, audio that cannot be decoded."""


def read_json(raw: bytes | str) -> Any:
    """Return the JSON of a message, strictly: UTF-8, no NaN, no half of a surrogate pair.

    Raises:
        BadMessageError: it is none, or nested too deep.
    """
    raw = raw.removeprefix(codecs.BOM_UTF8) if isinstance(raw, bytes) else raw.removeprefix("\ufeff")
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise BadMessageError(f"a message that is not JSON ({error}): {raw[:60]!r}") from None
    brackets = raw.count(b"[") + raw.count(b"{") if isinstance(raw, bytes) else raw.count("[") + raw.count("{")
    if brackets > _DEEPEST and _deeper(found, _DEEPEST):
        raise BadMessageError(f"a message that is nested more than {_DEEPEST} levels deep: {raw[:60]!r}")
    if len(raw) > _MOST_DIGITS and _has_long_number(found):
        raise BadMessageError(f"a message with a number of more than {_MOST_DIGITS} digits: {raw[:60]!r}")
    return found


def read_object(raw: bytes | str) -> dict[str, Any]:
    """Return the JSON object of a message; see :func:`read_json`."""
    found = read_json(raw)
    if not isinstance(found, dict):
        raise BadMessageError(f"a message that is not an object: {raw[:60]!r}")
    return found


def _deeper(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(levels == 0 or _deeper(one, levels - 1) for one in inside)


def _has_long_number(value: Any) -> bool:
    if isinstance(value, int):
        return value.bit_length() > _MOST_DIGITS * 3
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_has_long_number(one) for one in inside)


def fit(message: Any, kind: type[T], what: str) -> T:
    """Return a message, or a part of one, as a typed record.

    Args:
        message: what :func:`read_json` gave.
        kind: the record.
        what: its name in the protocol, for the error.

    Raises:
        BadMessageError: a field is missing or of another type; it is named.
    """
    try:
        return msgspec.convert(message, kind)
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        raise BadMessageError(f"a message that does not fit: {what}: {error}") from None


def shortened(value: Any) -> Any:
    """Return a message as it is kept where nothing is known about it: long texts, such as audio, by their length."""
    if isinstance(value, dict):
        return {key[:_LONGEST_TEXT]: shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value]
    if isinstance(value, str | bytes) and len(value) > _LONGEST_TEXT:
        return {"length": len(value), "begins": str(value[:60])}
    return value


@contextmanager
def keeping(recorder: Recorder, message: dict[str, Any]) -> Iterator[None]:
    """Keep a message that turns out not to be what it must be."""
    try:
        yield
    except BadMessageError:
        recorder.received(shortened(message))
        raise
