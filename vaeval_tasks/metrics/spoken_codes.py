"""Telephone numbers, postal codes and booking codes: said character by character, in groups, or run together."""

from __future__ import annotations

import re

from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.spoken_corrections import corrected
from vaeval_tasks.metrics.spoken_places import NEGATIONS
from vaeval_tasks.metrics.spoken_text import plain

__all__ = ["is_code", "judge_code"]

_DIGITS = {word: str(i) for i, word in enumerate("zero one two three four five six seven eight nine".split())}
_ZERO = ("oh", "o")
_TENS = {
    word: str(n)
    for n, word in zip(
        (*range(10, 20), *range(20, 100, 10)),
        "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty "
        "fifty sixty "
        "seventy eighty ninety".split(),
        strict=True,
    )
}
_TURNS = NEGATIONS | set("no or maybe but wrong doubt anything except incorrect false unlike almost perhaps".split())
_ASKED = re.compile(
    r"\b(?:code|phone|telephone|mobile|zip|postcode|pin|password|extension|flight number|licen[cs]e)\b", re.I
)
_PIECE = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+")
_BREAK = re.compile(r"[.!?;:]\s|\n")


def is_code(question: str, reference: str) -> bool:
    """Whether a reference is to be compared character by character, and not as a number."""
    text = plain(reference).strip()
    if not re.fullmatch(r"[A-Za-z]{0,3}[\d][\dA-Za-z \-/]*|[A-Za-z](?:[ -]?[A-Za-z\d]){2,}", text):
        return False
    bare = re.sub(r"[ \-/]", "", text)
    if len(bare) < 4 or not any(c.isdigit() for c in bare) or re.search(r"[A-Za-z]{4,}", text):
        return False
    mixed = any(c.isalpha() for c in bare) and re.search(r"[A-Za-z]\d|[A-Z]{1,3}[ -]\d|\d[A-Z]", text) is not None
    spaced = bare.isdigit() and re.search(r"\d[ -]\d", text) is not None
    return mixed or spaced or (bare.isdigit() and (text.startswith("0") or _ASKED.search(question) is not None))


def judge_code(reference: str, answer: str) -> Scored:
    """Right where one run of characters in the answer is the code, wrong where its only run is another one."""
    wanted = re.sub(r"[^0-9a-z]", "", plain(reference).lower())
    fixed = corrected(answer)
    text = plain(fixed[1] if fixed else answer)
    mixed = any(c.isalpha() for c in wanted)
    runs = [run for part in _BREAK.split(text + " ") for run in _runs(part, mixed)]
    runs = [(wanted if mixed and run.endswith(wanted) else run, sure) for run, sure in runs]
    if set(re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())) & _TURNS:
        return Scored(value=None, detail="no rule: says not, no, or or but beside a code")
    said = [run for run, _ in runs]
    if wanted in said or "".join(said) == wanted:
        others = [run for run in said if run != wanted and len(run) >= 3 and run not in wanted]
        if others:
            return Scored(value=None, detail=f"no rule: says {wanted!r} and {others[0]!r}")
        return Scored(value=1.0, detail=f"says {wanted!r}")
    codes = [(run, sure) for run, sure in runs if any(c.isdigit() for c in run)]
    if len(codes) == 1 and codes[0][1] and len(codes[0][0]) >= min(3, len(wanted) - 1) and codes[0][0] != wanted:
        return Scored(value=0.0, detail=f"says {codes[0][0]!r}, not {wanted!r}")
    return Scored(value=None, detail=f"no rule: neither says {wanted!r} nor plainly another code")


def _runs(part: str, mixed: bool) -> list[tuple[str, bool]]:
    """Return the runs of characters that an answer spells, and whether each was said unmistakably.

    Args:
        part: a sentence.
        mixed: whether the code has letters, so that short words in capitals may belong to it.
    """
    out: list[tuple[str, bool]] = []
    run, sure, repeat, tens = "", True, 1, False
    for piece in [*_PIECE.findall(part), ""]:
        word = piece.lower()
        letter = len(word) == 1 and (piece.isupper() or word not in ("a", "i"))
        letter = letter or (mixed and piece.isalpha() and piece.isupper() and len(piece) <= 3)
        if word in ("double", "triple") and run is not None:
            repeat = 2 if word == "double" else 3
            continue
        if word in _ZERO or (word == "o" and run):
            character = "0"
        elif word.isdigit() or letter:
            character = word
        elif word in _DIGITS:
            character = _DIGITS[word]
            if tens:  # forty two
                run, character, tens = run[:-1], _DIGITS[word], False
        elif word in _TENS:
            character = _TENS[word]
        elif word == "dash" or word == "hyphen":
            continue
        else:
            character = ""
        if character:
            run += character * repeat
            tens = word in _TENS and len(_TENS[word]) == 2 and _TENS[word].endswith("0") and word != "ten"
            sure = sure and word not in _TENS
        elif run:
            if len(run) > 1 or run.isdigit():
                out.append((run, sure))
            run, sure, tens = "", True, False
        repeat = 1
    return out
