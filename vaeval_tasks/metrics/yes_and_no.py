"""Answers to questions whose reference is yes or no."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.spoken_places import NEGATIONS, PLAIN
from vaeval_tasks.metrics.spoken_text import Token, plain, tokens

__all__ = ["is_yes_or_no", "judge_yes_or_no"]

_YES = frozenset("yes yeah yep yup true".split())
_NO = frozenset("no nope nah false".split())
_OPENING = re.compile(
    r"^\W*(yes|yeah|yep|yup|true|no|nope|nah|false)\b(?=\s*(?:$|[,.!;:-]|(?:it|he|she|they|there|that|i)\b))", re.I
)
_ELLIPTIC = re.compile(
    r"^\W*(?:(?:yes|no),? )?(?:(?:he|she|it|they|you|there|we|that|this) )?(?:(?P<no>(?:does|is|do|are|"
    r"did|was|were|has|have|can|will)"
    r"(?:n't| not)|(?:unfortunately|sadly|certainly|definitely|absolutely|of course) not|not at all|not really|never)|"
    r"(?P<yes>(?:does|is|do|are|did|was|were|has|have|can|will)|of course|definitely|certainly|absolutely|"
    r"sure|correct))\W*$",
    re.I,
)
_TURNS = re.compile(
    r"\b(?:but|however|although|though|actually|wait|maybe|perhaps|not sure|unless|except|or|mean)\b", re.I
)


def is_yes_or_no(wanted: Sequence[Token]) -> bool:
    """Whether a reference is yes or no."""
    return len(wanted) == 1 and wanted[0].value in _YES | _NO


def judge_yes_or_no(question: str, reference: Sequence[Token], answer: str) -> Scored:
    """Judge by the first word, where what follows does not contradict it."""
    wanted = reference[0].value in _YES
    text = plain(answer).strip()
    opening = _OPENING.match(text)
    said = tokens(answer)
    words = [str(t.value) for t in said]
    if opening is None and (short := _ELLIPTIC.match(text)):
        return Scored(value=float(bool(short["yes"]) == wanted), detail=f"says {text!r}")
    if opening is None:
        return Scored(value=None, detail="no rule: it does not begin with yes or no")
    says = opening[1].lower() in _YES
    rest = words[1:]
    if _TURNS.search(text[opening.end() :]) or (set(rest) & (_NO if says else _YES)):
        return Scored(value=None, detail=f"no rule: says {opening[1].lower()!r} and turns it")
    denies = any(w in NEGATIONS or w == "no" for w in rest)
    again = {t for t in rest if t not in PLAIN} & {str(t.value) for t in tokens(question)}
    if (says and denies) or (not says and not denies and again):
        return Scored(value=None, detail=f"no rule: says {opening[1].lower()!r} and what may contradict it")
    return Scored(value=float(says == wanted), detail=f"says {opening[1].lower()!r}")
