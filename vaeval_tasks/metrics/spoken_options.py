"""Options that a question reads out, and which of them an answer names: by letter, spelt letter, or text."""

from __future__ import annotations

import re

from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.spoken_corrections import corrected
from vaeval_tasks.metrics.spoken_places import NEGATIONS, cannot_answer, negated, places
from vaeval_tasks.metrics.spoken_text import plain, tokens

__all__ = ["judge_option", "options", "stated_letters"]

_OPTION = re.compile(r"(?:^|[\s(])([A-J])\s?[.):,]\s*(.+?)(?=[\s(]+[A-J]\s?[.):,]\s|$)", re.DOTALL)
_SPELT = {"ay": "A", "eh": "A", "bee": "B", "be": "B", "see": "C", "sea": "C", "cee": "C", "dee": "D", "eff": "F",
          "gee": "G", "aitch": "H", "jay": "J"}  # fmt: skip
_ANY = "|".join(_SPELT)
_AFTER_IS = "|".join(word for word in _SPELT if word not in ("be", "eh"))
_ALONE = "|".join(word for word in _SPELT if word not in ("be", "eh", "see"))
_SPELT_OPTION = re.compile(
    rf"\b(option|answer|choice|letter)((?:\s+(?:is|would be|must be))?\s*:?\s+)({_ANY})\b(?!\s+[a-z])"
    rf"|\b(it's|it is|that's|say|pick|choose)(\s+)({_AFTER_IS})(?=\s*(?:[,.!]|$))"
    rf"|^(\W*)()({_ALONE})(?=\s*(?:[,.!]|$))",
    re.IGNORECASE,
)
_STATED = (
    re.compile(r"^\W*([A-Ja-j])\W*$"),
    re.compile(r"\b(?:option|answer|choice|letter)(?:\s+(?:is|would be|must be|has to be))?\s*:?\s*\(?([A-J])\b", re.I),
    re.compile(
        r"\b(?i:it's|it is|that's|that is|choose|pick|chose|say|going with|go with)\s+\(?([B-HJ])\b(?!\s+and\b)"
    ),
    re.compile(r"\(([A-J])\)"),
    re.compile(r"(?:^|[.!?]\s+)([A-J])[.):,](?=\s|$)"),
)
_EITHER = re.compile(r"\b(?:or|either|maybe|perhaps|could be|might be|possibly)\b")
_TURNS = NEGATIONS | {"no", "or", "but", "wrong", "doubt", "anything", "except", "incorrect", "false", "unlikely"}
_ALTERNATIVES = re.compile(r"\b([A-J]),? or (?:option |maybe |perhaps )?([A-J])\b")
_PLACES = ("first", "second", "third", "fourth", "fifth")
_PLACE = re.compile(rf"\b({'|'.join(_PLACES)}|last) (?:option|one|answer|choice)\b", re.I)
_DENIED = re.compile(
    r"^\W*(?i:it's not|it is not|it isn't|i don't think it's|it can't be|definitely not|certainly not|not)"
    r" (?:option |letter )?\(?([A-Ja-j])\W*$"
)


def options(question: str) -> dict[str, str]:
    """Return the options that a question reads out, such as ``A. a dog B. a cat``; empty unless they run from A."""
    found = {letter: text.strip(" .,;?!\n") for letter, text in _OPTION.findall(plain(question))}
    run = [letter for letter in "ABCDEFGHIJ"[: len(found)] if letter in found]
    return found if len(run) == len(found) >= 2 else {}


def stated_letters(answer: str) -> set[str]:
    """Return the option letters an answer names; the plainest way of naming one that it uses decides."""
    text = _SPELT_OPTION.sub(_as_letter, plain(answer).strip())
    if either := _ALTERNATIVES.search(text):
        return set(either.groups())
    for pattern in _STATED:
        if found := pattern.findall(text):
            return {letter.upper() for letter in found}
    return set()


def _as_letter(match: re.Match[str]) -> str:
    groups = match.groups()
    before, space, word = next(groups[i : i + 3] for i in (0, 3, 6) if groups[i + 2])
    return f"{before}{space}{_SPELT[word.lower()]}"


def _letter_by_place(answer: str, choices: dict[str, str]) -> str:
    """Return the letter of an option that is named by its place (``the second one``), or ""."""
    found = _PLACE.findall(plain(answer))
    letters = sorted(choices)
    if len(found) != 1 or not letters:
        return ""
    at = len(letters) - 1 if found[0].lower() == "last" else _PLACES.index(found[0].lower())
    return letters[at] if at < len(letters) else ""


def _denied_letter(answer: str) -> str:
    """Return the letter that an answer does no more than deny (``Not B.``), or ""."""
    found = _DENIED.match(plain(answer).strip())
    return found[1].upper() if found else ""


def judge_option(answer: str, letter: str, choices: dict[str, str]) -> Scored:
    """Compare the option an answer names, by letter, by place or by its text, with the right one.

    Args:
        answer: what was said.
        letter: of the right option.
        choices: the options that the question reads out, by letter; empty where it reads out none.
    """
    if _denied_letter(answer) == letter:
        return Scored(value=0.0, detail=f"denies {letter}")
    fixed = corrected(answer)
    text = fixed[1] if fixed and not _EITHER.search(fixed[1].lower()) else answer
    named = stated_letters(text)
    if not named and (cannot_answer(text)):
        return Scored(value=0.0, detail="says that it cannot answer")
    if len(named) > 1:
        offers = re.search(r"\bor\b", text, re.IGNORECASE) is not None and len(tokens(text)) <= 8
        if offers and not NEGATIONS & {str(t.value) for t in tokens(text)}:
            return Scored(value=0.0, detail="offers several")
        return Scored(value=None, detail=f"no rule: it names {', '.join(sorted(named))}")
    turning = _turning(text, choices)
    if turning - {"or", "but"} or (turning and not named):
        return Scored(value=None, detail=f"no rule: it says {min(turning)!r}")
    if not named and (placed := _letter_by_place(text, choices)):
        named = {placed}
    if not named:
        said = tokens(text)
        affirmed = {
            name
            for name, option in choices.items()
            if any(not negated(said, at.start) for at in places(said, tokens(option)))
        }
        if len(affirmed) != 1:
            return Scored(value=None, detail=f"no rule: it names {', '.join(sorted(affirmed)) or 'no option'}")
        named = affirmed
    return Scored(value=float(named == {letter}), detail=f"names {', '.join(named)}, right is {letter}")


def _turning(text: str, choices: dict[str, str]) -> set[str]:
    """Return the words outside the options' own texts that may turn an answer."""
    rest = f" {' '.join(str(t.value) for t in tokens(text))} "
    for option in sorted(choices.values(), key=len, reverse=True):
        rest = rest.replace(f" {' '.join(str(t.value) for t in tokens(option))} ", " ")
    return set(rest.split()) & _TURNS
