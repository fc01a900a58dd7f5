"""Options that a question reads out, and which of them an answer names: by letter, spelt letter, or text."""

from __future__ import annotations

import re

from vaeval_tasks.metrics.spoken_text import plain

__all__ = ["denied_letter", "letter_by_place", "options", "stated_letters"]

_OPTION = re.compile(r"(?:^|[\s(])([A-J])\s?[.):,]\s*(.+?)(?=[\s(]+[A-J]\s?[.):,]\s|$)", re.DOTALL)
_SPELT = {"ay": "A", "eh": "A", "bee": "B", "be": "B", "see": "C", "sea": "C", "cee": "C", "dee": "D", "eff": "F",
          "gee": "G", "aitch": "H", "jay": "J"}  # fmt: skip
_SPELT_OPTION = re.compile(
    rf"\b(option|answer|choice|letter)((?:\s+(?:is|would be|must be))?\s*:?\s+)({'|'.join(_SPELT)})\b(?!\s+[a-z])"
    rf"|\b(it's|it is|that's|say|pick|choose)(\s+)({'|'.join(w for w in _SPELT if w not in ('be', 'eh'))})(?=\s*(?:[,.!]|$))"
    rf"|^(\W*)()({'|'.join(w for w in _SPELT if w not in ('be', 'eh', 'see'))})(?=\s*(?:[,.!]|$))",
    re.IGNORECASE,
)
_STATED = (
    re.compile(r"^\W*([A-Ja-j])\W*$"),
    re.compile(r"\b(?:option|answer|choice|letter)(?:\s+(?:is|would be|must be|has to be))?\s*:?\s*\(?([A-J])\b", re.I),
    re.compile(r"\b(?i:it's|it is|that's|that is|choose|pick|chose|say|going with|go with)\s+\(?([B-HJ])\b(?!\s+and\b)"),
    re.compile(r"\(([A-J])\)"),
    re.compile(r"(?:^|[.!?]\s+)([A-J])[.):,](?=\s|$)"),
)
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


def letter_by_place(answer: str, choices: dict[str, str]) -> str:
    """Return the letter of an option that is named by its place (``the second one``), or ""."""
    found = _PLACE.findall(plain(answer))
    letters = sorted(choices)
    if len(found) != 1 or not letters:
        return ""
    at = len(letters) - 1 if found[0].lower() == "last" else _PLACES.index(found[0].lower())
    return letters[at] if at < len(letters) else ""


def denied_letter(answer: str) -> str:
    """Return the letter that an answer does no more than deny (``Not B.``), or ""."""
    found = _DENIED.match(plain(answer).strip())
    return found[1].upper() if found else ""
