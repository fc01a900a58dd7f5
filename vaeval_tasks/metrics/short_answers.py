"""Does an answer say a short reference, another answer of the same kind, or neither? Three verdicts.

Right: the reference stands in the answer, not negated, and no rival beside it. Wrong: a rival and not the reference,
or "I don't know". A rival is an answer of the same kind: another number, time, colour, day, month, season, direction,
yes or no, an option or an alternative that the question names. All else cannot be told by rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.spoken_text import Token, TokenKind, plain, sentences, tokens

__all__ = ["judge_short_answer", "options", "places", "stated_letters"]

LONGEST_REFERENCE = 12
"""Words. That an answer does not say a longer reference tells nothing."""

_CLASSES: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split())
    for line in (
        "red blue green yellow orange purple pink brown black white grey gray violet gold silver beige turquoise",
        "monday tuesday wednesday thursday friday saturday sunday",
        "january february march april may june july august september october november december",
        "spring summer autumn fall winter",
        "up down upward downward upwards downwards rising falling rises falls",
        "left right",
        "north south east west",
        "yes no yeah yep nope",
        "male female man woman boy girl",
        "higher lower",
        "louder quieter softer",
        "faster slower",
        "true false",
        "morning afternoon evening night",
    )
)
_ALIKE = ({"gray", "grey"}, {"autumn", "fall"}, {"yes", "yeah", "yep"}, {"no", "nope"}, {"man", "male"},
          {"woman", "female"}, {"up", "upward", "upwards", "rising", "rises"},
          {"down", "downward", "downwards", "falling", "falls"}, {"quieter", "softer"})  # fmt: skip
_NEGATIONS = {"not", "never", "isn't", "aren't", "wasn't", "weren't", "neither", "nor", "without", "don't", "doesn't",
              "didn't", "can't", "cannot"}  # fmt: skip
_UNKNOWN = re.compile(
    r"\bi (?:really |just )?(?:do not|don't|can't|cannot|could not|couldn't|am not able to|was not able to) "
    r"(?:really )?(?:know|tell|say|hear|understand|see|answer|determine|identify|find)\b|\bi have no idea\b|"
    r"\bi'?m (?:not sure|unable|sorry,? (?:but )?i (?:can|don|did|am))|\bi am (?:not sure|unable)\b|"
    r"\bas an ai\b|\bplease (?:provide|clarify|repeat)\b"
)
_EITHER = re.compile(r"\b(?:or|either|maybe|perhaps|could be|might be|possibly)\b")
_OPTION = re.compile(r"(?:^|[\s(])([A-J])\s?[.):,]\s*(.+?)(?=[\s(]+[A-J]\s?[.):,]\s|$)", re.DOTALL)
_STATED = (
    re.compile(r"^\W*([A-Ja-j])\W*$"),
    re.compile(r"\b(?:option|answer|choice|letter)(?:\s+(?:is|would be|must be|has to be))?\s*:?\s*\(?([A-J])\b", re.I),
    re.compile(r"\b(?:it's|it is|that's|that is|choose|pick|chose|say|going with|go with)\s+\(?([B-HJ])\b(?!\s+and\b)"),
    re.compile(r"\(([A-J])\)"),
    re.compile(r"(?:^|[.!?]\s+)([A-J])[.):,](?=\s|$)"),
)


def judge_short_answer(question: str, reference: str, answer: str) -> Scored:
    """Judge an answer by one reference.

    Args:
        question: what was asked, with the options it reads out.
        reference: the right answer: a few words, or the letter of an option.
        answer: what was said.
    """
    if not tokens(answer):
        return Scored(value=0.0, detail="says nothing")
    choices = options(question)
    letter = reference.strip(" .()").upper()
    if len(letter) == 1 and "A" <= letter <= "J":
        return _chosen(answer, letter, choices)
    wanted = tokens(reference)
    if not 0 < len(wanted) <= LONGEST_REFERENCE:
        return _cannot(f"a reference of {len(wanted)} words")
    letter = next((name for name, text in choices.items() if places(tokens(text), wanted) and len(text) < 80), "")
    if letter and stated_letters(answer):
        return _chosen(answer, letter, choices)
    return _said(question, wanted, reference, answer)


def _cannot(why: str) -> Scored:
    return Scored(value=None, detail=f"no rule: {why}")


def _said(question: str, wanted: Sequence[Token], reference: str, answer: str) -> Scored:
    said = tokens(answer)
    hits = places(said, wanted)
    affirmed = [hit for hit in hits if not _negated(said, hit.start)]
    if hits and not affirmed:
        return _cannot(f"denies {reference!r}")
    rivals = _rivals(question, wanted, said, {i for hit in hits for i in hit})
    if affirmed:
        if rivals and not _settled(answer, wanted):
            return _cannot(f"says {reference!r} and {_text(rivals[0])!r}")
        return Scored(value=1.0, detail=f"says {reference!r}")
    if rivals:
        return Scored(value=0.0, detail=f"says {_text(rivals[0])!r}, not {reference!r}")
    if _UNKNOWN.search(plain(answer).lower()):
        return Scored(value=0.0, detail="says that it cannot answer")
    return _cannot(f"neither says {reference!r} nor another answer of its kind")


def _text(token: Token) -> str:
    return str(token.value)


def places(said: Sequence[Token], wanted: Sequence[Token]) -> list[range]:
    """Return where ``wanted`` stands in ``said``: its tokens in a row, a time as two numbers, digits run together."""
    if not wanted:
        return []
    size = len(wanted)
    found = [
        range(i, i + size)
        for i in range(len(said) - size + 1)
        if all(a.same(b) or _alike(a, b) for a, b in zip(said[i : i + size], wanted, strict=True))
    ]
    if size == 1 and wanted[0].kind is TokenKind.time:
        found += _spelt_times(said, wanted[0])
    if all(t.kind is TokenKind.number for t in wanted) and len(_digits(wanted)) >= 4:
        found += _digit_runs(said, _digits(wanted))
    return sorted(found, key=lambda hit: hit.start)


def _spelt_times(said: Sequence[Token], wanted: Token) -> list[range]:
    """A time said without a colon: ``four thirty``, ``430``, or just ``five`` for five o'clock."""
    hours, minutes = divmod(int(Fraction(wanted.value)), 60)
    spelt = {hours % 12, hours} | ({12} if hours % 12 == 0 else set())
    found = []
    for i, token in enumerate(said):
        if token.kind is not TokenKind.number:
            continue
        following = said[i + 1] if i + 1 < len(said) else None
        more = following is not None and following.kind is TokenKind.number
        if token.value in spelt and minutes and following is not None and following.value == minutes:
            found.append(range(i, i + 2))
        elif token.value in {h * 100 + minutes for h in spelt} or (minutes == 0 and token.value in spelt and not more):
            found.append(range(i, i + 1))
    return found


def _digits(run: Sequence[Token]) -> str:
    return "".join("0" if t.value in ("oh", "o") else t.written or str(t.value) for t in run)


def _digit_runs(said: Sequence[Token], wanted: str) -> list[range]:
    found = []
    for i, token in enumerate(said):
        end = i
        while end < len(said) and (said[end].kind is TokenKind.number or said[end].value in ("oh", "o")):
            end += 1
        if token.kind is TokenKind.number and _digits(said[i:end]) == wanted:
            found.append(range(i, end))
    return found


def _negated(said: Sequence[Token], at: int) -> bool:
    """Whether a negation governs a place: within four words before it, with no *but* between."""
    before = [str(t.value) for t in said[max(at - 5, 0) : at]]
    if "but" in before:
        before = before[len(before) - before[::-1].index("but") :]
    return bool(_NEGATIONS & set(before)) or (bool(before) and before[-1] == "no")


def _rivals(question: str, wanted: Sequence[Token], said: Sequence[Token], hits: set[int]) -> list[Token]:
    """Return what was said of the kind of the reference, other than it, affirmed, and not taken from the question.

    Args:
        question: what was asked.
        wanted: the reference.
        said: the answer.
        hits: where the answer says the reference.
    """
    asked = tokens(question)
    offered = _alternatives(asked)
    out = []
    for i, token in enumerate(said):
        if i in hits or any(token.same(w) or _alike(token, w) for w in wanted) or _negated(said, i):
            continue
        named = any(token.same(o) for o in offered)
        given = any(token.same(a) for a in asked) and not named
        if (_of_a_kind(token, wanted) and not given) or (named and any(w.same(o) for w in wanted for o in offered)):
            out.append(token)
    return out


def _alternatives(asked: Sequence[Token]) -> list[Token]:
    """Return the words on either side of each *or*: ``a siren or a bell`` gives siren and bell."""
    return [asked[j] for i in range(1, len(asked) - 1) if asked[i].value == "or" for j in (i - 1, i + 1)]


def _of_a_kind(token: Token, wanted: Sequence[Token]) -> bool:
    counted = (TokenKind.number, TokenKind.ordinal, TokenKind.time)
    if any(w.kind in counted for w in wanted):
        return token.kind in counted and not _spare_one(token)
    if token.kind is not TokenKind.word:
        return False
    return any(str(w.value) in group and str(token.value) in group for group in _CLASSES for w in wanted)


def _spare_one(token: Token) -> bool:
    """``one`` and ``first`` are mostly no answer to how many: "the first one is"."""
    return token.value == 1 and not token.written


def _alike(token: Token, wanted: Token) -> bool:
    return any({str(token.value), str(wanted.value)} <= group for group in _ALIKE)


def _settled(answer: str, wanted: Sequence[Token]) -> bool:
    """Whether an answer with rivals still ends on the reference: after *is*, *equals* or *answer*, and no *or*."""
    last = sentences(answer)[-1].lower() if sentences(answer) else ""
    if _EITHER.search(last):
        return False
    parts = re.split(r"\b(?:is|are|equals|makes|gives|so|answer|total|leaves|have|has)\b|=", last)
    return len(parts) > 1 and [t.same(w) for t, w in zip(tokens(parts[-1]), wanted, strict=False)] == [True] * len(
        wanted
    )


def options(question: str) -> dict[str, str]:
    """Return the options that a question reads out, such as ``A. a dog B. a cat``; empty unless they run from A."""
    found = {letter: text.strip(" .,;?!\n") for letter, text in _OPTION.findall(plain(question))}
    run = [letter for letter in "ABCDEFGHIJ"[: len(found)] if letter in found]
    return found if len(run) == len(found) >= 2 else {}


def stated_letters(answer: str) -> set[str]:
    """Return the option letters an answer names; the plainest way of naming one that it uses decides."""
    for pattern in _STATED:
        if found := pattern.findall(plain(answer).strip()):
            return {letter.upper() for letter in found}
    return set()


def _chosen(answer: str, letter: str, choices: dict[str, str]) -> Scored:
    """Compare the option an answer names, by letter or by its text, with the right one."""
    named = stated_letters(answer)
    if not named and choices:
        said = tokens(answer)
        texts = {name: tokens(text) for name, text in choices.items()}
        found = {
            name: [at for at in places(said, text) if not _negated(said, at.start)] for name, text in texts.items()
        }
        named = {name for name, at in found.items() if at}
    if not named:
        if _UNKNOWN.search(plain(answer).lower()):
            return Scored(value=0.0, detail="says that it cannot answer")
        return _cannot("the answer names no option")
    if len(named) > 1:
        return _cannot(f"the answer names {', '.join(sorted(named))}")
    return Scored(value=float(named == {letter}), detail=f"names {', '.join(named)}, right is {letter}")
