"""How a judge is asked, as users say it: one list of options and one reading of their values, for every door."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.services.http.chat import ChatOptions

__all__ = ["JUDGE_OPTIONS", "JudgeOption", "option_text", "request_facts", "with_options"]

_MOST_AT_ONCE = 1000
_OWN_FIELDS = ("messages", "stream", "n")
"""Fields of the body that are not to be replaced: nothing could read the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOption:
    """One option: ``judge_max_tokens=`` in ``--metadata``, functions and modules, ``--judge-max-tokens`` of a verb."""

    name: str
    field: str
    """Of :class:`ChatOptions`."""
    about: str


JUDGE_OPTIONS = {
    option.name: option
    for option in (
        JudgeOption(
            name="judge_max_tokens",
            field="max_tokens",
            about="Tokens of the judge's thinking and verdict together, or none for no limit (8192).",
        ),
        JudgeOption(
            name="judge_temperature", field="temperature", about="The judge's temperature, or none to send none (0)."
        ),
        JudgeOption(
            name="judge_reasoning_effort",
            field="reasoning_effort",
            about="How much the judge thinks, in its provider's words, such as low.",
        ),
        JudgeOption(name="judge_timeout", field="timeout_s", about="Seconds for one request to the judge (180)."),
        JudgeOption(name="judge_concurrency", field="concurrency", about="Requests to the judge at once (8)."),
        JudgeOption(
            name="judge_extra_body",
            field="extra",
            about="Further fields of each request, as a JSON object; they go before all others.",
        ),
        JudgeOption(
            name="judge_structured",
            field="structured",
            about="true asks for the verdict as JSON, by a schema where the endpoint takes one.",
        ),
    )
}
"""By name. They go with the judge's address, whichever profile is used."""


def option_text(value: object) -> str:
    """Return a value as text that :func:`with_options` reads again; settings cross hosts as text."""
    return json.dumps(value) if isinstance(value, Mapping | bool) else str(value)


def with_options(base: ChatOptions, given: Mapping[str, object]) -> ChatOptions:
    """Return the options with those that were given in their place; None is not given.

    Args:
        base: the defaults.
        given: names of :data:`JUDGE_OPTIONS` and values, as text or as what they are.

    Raises:
        UnknownNameError: there is no such option.
        InputError: a value is not what it must be; the message names the option.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in JUDGE_OPTIONS:
            raise UnknownNameError("option of the judge", name, JUDGE_OPTIONS)
        if value is not None:
            found[JUDGE_OPTIONS[name].field] = _value(name, value)
    return replace(base, **found)


def _value(name: str, value: object) -> Any:
    none = isinstance(value, str) and value.strip().lower() == "none"
    match JUDGE_OPTIONS[name].field:
        case "max_tokens":
            return None if none else _whole(name, value, 1, 10_000_000)
        case "concurrency":
            return _whole(name, value, 1, _MOST_AT_ONCE)
        case "temperature":
            return None if none else _number(name, value, 0.0)
        case "timeout_s":
            return _number(name, value, 0.001)
        case "structured":
            return _truth(name, value)
        case "extra":
            return _object(name, value)
    text = str(value).strip()
    if not re.fullmatch(r"[\w.-]+", text):
        raise InputError(f"{name}: expected a word such as low, got {value!r}")
    return "" if none else text


def _number(name: str, value: object, low: float) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= low):
        least = f"of {low:g} or more" if low < 0.001 else "above 0"
        raise InputError(f"{name}: expected a number {least}, got {value!r}")
    return number


def _whole(name: str, value: object, low: int, high: int) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or not low <= int(text) <= high:
        raise InputError(f"{name}: expected a whole number from {low} to {high}, got {value!r}")
    return int(text)


def _truth(name: str, value: object) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise InputError(f"{name}: expected true or false, got {value!r}")
    return text == "true"


def _object(name: str, value: object) -> dict[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else value
        json.dumps(found, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        found = None
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise InputError(f'{name}: expected a JSON object such as {{"top_p": 0.9}}, got {value!r}')
    if own := next((key for key in found if key in _OWN_FIELDS), None):
        raise InputError(f"{name}: {own!r} is ours to send; leave it out")
    return dict(found)


def request_facts(options: ChatOptions, base: ChatOptions) -> dict[str, str]:
    """Return what a signature says of options that change answers: what differs from the defaults, by name."""
    facts = {}
    if options.max_tokens != base.max_tokens:
        facts["max_tokens"] = str(options.max_tokens).lower()
    if options.reasoning_effort:
        facts["effort"] = options.reasoning_effort
    if options.extra:
        facts["extra"] = sha256_bytes(json.dumps(options.extra, sort_keys=True).encode())[:12]
    if options.structured:
        facts["form"] = "json"
    return facts
