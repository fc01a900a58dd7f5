"""Bring short answers to one form: lower case, digits for number words, no articles, no punctuation."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["contains", "options", "stated_letters", "words"]

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: i for i, word in enumerate(_ONES)} | {word: 20 + 10 * i for i, word in enumerate(_TENS)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_ARTICLES = {"a", "an", "the"}
_NEGATIONS = {"not", "never", "isn't", "aren't", "wasn't", "weren't", "neither", "nor", "no"}
_TOKEN = re.compile(r"-?\d+(?:\.\d+)?|[^\W\d_]+(?:'[^\W\d_]+)*")

_OPTION = re.compile(r"(?:^|[\s(])([A-J])\s?[.):]\s*(.+?)(?=[\s(]+[A-J]\s?[.):]\s|$)", re.DOTALL)
_STATED = (
    re.compile(r"^\W*([A-Ja-j])\W*$"),
    re.compile(r"\b(?:option|answer|choice|letter)(?:\s+is)?\s*:?\s*\(?([A-J])\b", re.IGNORECASE),
    re.compile(r"\(([A-J])\)"),
    re.compile(r"(?:^|\s)([A-J])[.):](?=\s|$)"),
    re.compile(r"\b([B-HJ])\b"),  # a lone A or I is mostly a word
)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'").replace("−", "-")


def words(text: str) -> list[str]:
    """Return the words and numbers of a text: ``The forty-two cats, 1,000.0`` gives ``42 cats 1000``."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", _plain(text).lower())
    text = re.sub(r"(?<=\d)\s*%", " percent", text)
    tokens = [t for t in _TOKEN.findall(re.sub(r"(?<=\w)-", " ", text)) if t not in _ARTICLES]
    return _digits(tokens)


def _digits(tokens: list[str]) -> list[str]:
    """Replace runs of number words by digits, and write equal numbers alike (``8.0`` as ``8``)."""
    out: list[str] = []
    i = 0
    while i < len(tokens):
        run = i
        while run < len(tokens) and (tokens[run] in _SMALL or tokens[run] in _SCALES or _joins(tokens, i, run)):
            run += 1
        if run > i and any(t in _SMALL for t in tokens[i:run]):
            out += [str(n) for n in _numbers([t for t in tokens[i:run] if t != "and"])]
        elif run > i:
            out += tokens[i:run]
        else:
            out.append(_number(tokens[i]))
        i = max(run, i + 1)
    return out


def _joins(tokens: list[str], start: int, at: int) -> bool:
    """Whether ``and`` stands inside a number: ``two hundred and five``."""
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    return tokens[at] == "and" and at > start and tokens[at - 1] in _SCALES and following in _SMALL


def _number(token: str) -> str:
    return f"{float(token):.15g}" if token.lstrip("-")[:1].isdigit() else token


def _numbers(run: list[str]) -> list[int]:
    """Read number words: ``[forty, two]`` is 42, ``[nineteen, forty, five]`` is 1945, ``[four, five]`` is 4 and 5."""
    out: list[int] = []
    total, group, last = 0, -1, ""
    for word in run:
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100:
                group = max(group, 1) * 100
            else:
                total, group = total + max(group, 1) * scale, -1
        elif group < 0:
            group = _SMALL[word]
        elif last == "hundred" or (_SMALL.get(last, 0) >= 20 and _SMALL[word] < 10):
            group += _SMALL[word]
        elif 10 <= group < 100 and _SMALL[word] >= 10 and not total:
            group = group * 100 + _SMALL[word]  # a year
        else:
            out.append(total + group)
            total, group = 0, _SMALL[word]
        last = word
    return [*out, total + max(group, 0)]


def contains(answer: list[str], wanted: list[str]) -> bool:
    """Whether an answer says ``wanted``: its words in a row and not negated, or all of them somewhere."""
    if not wanted:
        return False
    size = len(wanted)
    starts = [i for i in range(len(answer) - size + 1) if answer[i : i + size] == wanted]
    if starts:
        return any(not _NEGATIONS & set(answer[max(i - 2, 0) : i]) for i in starts)
    return size > 1 and set(wanted) <= set(answer) and not _NEGATIONS & set(answer)


def options(question: str) -> dict[str, str]:
    """Return the options that a question reads out, such as ``A. a dog B. a cat``; empty unless they run from A."""
    found = {letter: text.strip(" .,;?!\n") for letter, text in _OPTION.findall(_plain(question))}
    run = [letter for letter in "ABCDEFGHIJ"[: len(found)] if letter in found]
    return found if len(run) == len(found) >= 2 else {}


def stated_letters(answer: str) -> set[str]:
    """Return the option letters an answer names; the plainest way of naming one that it uses decides."""
    for pattern in _STATED:
        if found := pattern.findall(_plain(answer)):
            return {letter.upper() for letter in found}
    return set()
