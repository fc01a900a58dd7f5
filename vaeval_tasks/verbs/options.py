"""Check options that a program gives; on the command line click did before. Nothing heavy is imported here."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from vaeval_tasks.errors import InputError, UnknownNameError

__all__ = ["FEWEST_DRAWS", "MOST_DRAWS", "finite", "member", "names_of", "pairs_of", "whole"]

FEWEST_DRAWS, MOST_DRAWS = 20, 1_000_000
"""Resamples: enough for an interval; each is a row of results in memory."""

E = TypeVar("E", bound=StrEnum)


def member(option: str, value: Any, kind: type[E]) -> E:
    """Return the member of an enum, given as such or by its value, with hyphens as on the command line or without.

    Raises:
        UnknownNameError: there is no such value.
    """
    text = str(value).replace("-", "_")
    if not isinstance(value, str) or text not in list(kind):
        raise UnknownNameError("value", str(value), kind, where=option)
    return kind(text)


def whole(option: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number within limits.

    Raises:
        InputError: it is something else.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < low or (high is not None and number > high):
        limits = f"from {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{option}: expected a whole number {limits}, got {value!r}")
    return number


def finite(option: str, value: Any, low: float = 0.0) -> float:
    """Return a finite number of at least ``low``.

    Raises:
        InputError: it is something else.
    """
    try:
        number = math.nan if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number >= low):
        raise InputError(f"{option}: expected a number of {low:g} or more, got {value!r}")
    return number


def names_of(option: str, value: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return one name or several as several; none for None.

    Raises:
        InputError: it is neither text nor a list of texts.
    """
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"{option}: expected a name or a list of names, got {name!r}")
    return names


def pairs_of(
    option: str, value: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None, example: str = "{'name': 'value'}"
) -> list[tuple[Any, Any]]:
    """Return what a mapping, or a list of pairs, says.

    Raises:
        InputError: it is something else.
    """
    if value is None:
        return []
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    listed = None if isinstance(pairs, str) or not isinstance(pairs, Iterable) else list(pairs)
    if listed is None or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in listed):
        raise InputError(f"{option}: expected something such as {example}, got {value!r}")
    return [(first, second) for first, second in listed]
