"""Where a provider's message becomes a typed record; what does not fit is named, and is the end of that turn only."""

from __future__ import annotations

import codecs
import re
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
_LARGEST_BITS = 12_000
"""Python writes integers of up to 4300 digits."""
_LONG_NUMBER = re.compile(rb"\d{1000}|\d[eE]\+?\d{3}")
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
    if _may_be_odd(raw) and (why := _cannot_be_kept(found)):
        raise BadMessageError(f"a message {why}: {raw[:60]!r}")
    return found


def read_object(raw: bytes | str) -> dict[str, Any]:
    """Return the JSON object of a message; see :func:`read_json`."""
    found = read_json(raw)
    if not isinstance(found, dict):
        raise BadMessageError(f"a message that is not an object: {raw[:60]!r}")
    return found


def _may_be_odd(raw: bytes | str) -> bool:
    """Whether a message may be nested too deep or hold too long a number: looking into all of them costs a tenth."""
    text = raw if isinstance(raw, bytes) else raw.encode()
    return text.count(b"{") + text.count(b"[") > _DEEPEST or _LONG_NUMBER.search(text) is not None


def _cannot_be_kept(message: Any) -> str:
    """Return why a message could be read but not written down again, "" where it could."""
    inside: list[tuple[Any, int]] = [(message, 0)]
    while inside:
        value, depth = inside.pop()
        if isinstance(value, str):
            continue
        if isinstance(value, dict | list):
            if depth >= _DEEPEST:
                return f"that is nested more than {_DEEPEST} levels deep"
            depth += 1
            inside.extend((one, depth) for one in (value.values() if isinstance(value, dict) else value))
        elif isinstance(value, int) and value.bit_length() > _LARGEST_BITS:
            return "with a number that is too long"
    return ""


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
