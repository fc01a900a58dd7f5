"""Answers in words as scores: ``A is much better``, ``left``, ``tie``."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["preference"]

_FIRST = r"(?:a|left|first|1|model_a|response_?1|response_?a|option_?a|system_?a|answer_?a)"
_SECOND = r"(?:b|right|second|2|model_b|response_?2|response_?b|option_?b|system_?b|answer_?b)"
_EVEN = re.compile(
    r"tie|ties|tied|tie \(bothbad\)|both_?bad|both_?good|both|neither|equal|equally good|same|the same|about the same|"
    r"no preference|no difference|draw",
    re.IGNORECASE,
)
_STRENGTH = {"much": 3, "far": 3, "strongly": 3, "a lot": 3, "slightly": 1, "somewhat": 1, "a little": 1, "a bit": 1}
_BETTER = re.compile(
    rf"(?:(?:i )?(?:(?P<how1>\w+) )?prefer )?(?:option |system |model |response |the )?"
    rf"(?:(?P<a>{_FIRST})|(?P<b>{_SECOND}))(?: one)?"
    rf"(?: (?:is|was|sounds|sounded))?(?: (?P<how>much|far|slightly|somewhat|a lot|a little|a bit))?(?: better)?",
    re.IGNORECASE,
)


def preference(answer: Any) -> int | None:
    """Return what an answer in words says on -3 to 3, positive where the first is preferred; None for other words.

    ``much`` is 3, ``slightly`` 1 and ``better`` alone 2, as in ITU-T P.800's comparison scale; a bare side is 2 too.
    """
    text = " ".join(str(answer).split()).rstrip(".!")
    if _EVEN.fullmatch(text):
        return 0
    found = _BETTER.fullmatch(text)
    if found is None:
        return None
    strength = _STRENGTH.get((found["how"] or found["how1"] or "").lower(), 2)
    return strength if found["a"] else -strength
