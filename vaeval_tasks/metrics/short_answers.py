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
        "violin piano guitar drum drums flute trumpet harp cello saxophone organ clarinet banjo accordion keyboard",
        "jazz rock blues pop classical country metal reggae folk techno opera",
        "dog cat bird horse cow pig sheep lion tiger elephant whale mouse duck frog wolf bear goat rooster owl",
        "mercury venus earth mars jupiter saturn uranus neptune pluto",
        "mother father brother sister son daughter wife husband uncle aunt cousin grandmother grandfather friend boss",
        "hydrogen oxygen nitrogen carbon helium iron gold silver copper lead",
    )
)
_ALIKE = ({"gray", "grey"}, {"autumn", "fall"}, {"yes", "yeah", "yep"}, {"no", "nope"}, {"man", "male"},
          {"woman", "female"}, {"up", "upward", "upwards", "rising", "rises"},
          {"down", "downward", "downwards", "falling", "falls"}, {"quieter", "softer"})  # fmt: skip
_NEGATIONS = {"not", "never", "isn't", "aren't", "wasn't", "weren't", "neither", "nor", "without", "don't", "doesn't",
              "didn't", "can't", "cannot"}  # fmt: skip
_TURNS = frozenset(
    (
        "but although though however while whereas except unless than before after almost nearly opposite unlike "
        "instead rather or either maybe perhaps might could would may probably possibly something some many most "
        "often usually followed together which who lower higher less more fewer over under about actually sorry wait "
        "no not never isn't aren't wasn't weren't don't doesn't didn't can't cannot won't without neither nor used "
        "other another between both until since order next near beside behind above below"
    ).split()
)
"""Words that turn what stands around them: with one a rule cannot tell, unless question or reference has it too."""
_PLAIN = frozenset(
    (
        "a an the it it's its is are was were be been i i'm think believe say says said hear heard see that that's "
        "this there there's they they're he she he's she's his her we you your my their our of in on at to for from "
        "by with as and so will has have had do does did answer correct right one would sure yes well okay sounds "
        "like looks called name named left total altogether exactly just only per each every up out what where when "
        "how if"
    ).split()
)
"""Words that add nothing to an answer."""
_OPPOSITES = tuple(
    frozenset(pair.split())
    for pair in (
        "open closed", "opens closes", "open closes", "opens closed", "first last", "louder quieter", "taller shorter",
        "bigger smaller", "larger smaller", "higher lower", "faster slower", "begin end", "begins ends", "start end",
        "starts ends", "arrive leave", "arrives leaves", "enters leaves", "biggest smallest", "largest smallest",
        "tallest shortest", "highest lowest", "longest shortest", "oldest youngest", "older younger", "most least",
        "loudest quietest", "fastest slowest", "buy sell", "bought sold", "win lose", "won lost", "early late",
    )
)  # fmt: skip
"""An answer with the opposite of a word of the question may speak of the other thing."""
_NEW_WORDS = 3
"""With more new words than that around it, a reference of words may stand in another statement."""
_UNKNOWN = re.compile(
    r"\bi (?:really |just )?(?:do not|don't|can't|cannot|could not|couldn't|am not able to|was not able to) "
    r"(?:really )?(?:know|tell|say|hear|understand|see|answer|determine|identify|find)\b|\bi have no idea\b|"
    r"\bi'?m (?:not sure|unable|sorry,? (?:but )?i (?:can|don|did|am))|\bi am (?:not sure|unable)\b|"
    r"\bas an ai\b|\bplease (?:provide|clarify|repeat)\b"
)
_EITHER = re.compile(r"\b(?:or|either|maybe|perhaps|could be|might be|possibly)\b")
_YES_NO = frozenset(("yes", "no", "yeah", "yep", "nope", "true", "false"))
_LETTER = re.compile(r"^\(?([A-Ja-j])\)?(?:[.):]\s*(.*))?$", re.DOTALL)
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
        reference: the right answer: a few words, or the letter of an option, with or without its text.
        answer: what was said.
    """
    choices = options(question)
    if not tokens(answer) and not (choices and stated_letters(answer)):
        return Scored(value=0.0, detail="says nothing")
    named = _LETTER.match(plain(reference).strip())
    if named and (not named[2] or choices):
        return _chosen(answer, named[1].upper(), choices)
    wanted = tokens(re.sub(r"^\s*[a-zA-Z]\s*=\s*", "", plain(reference)))
    if not 0 < len(wanted) <= LONGEST_REFERENCE:
        return _cannot(f"a reference of {len(wanted)} words")
    letter = next((name for name, text in choices.items() if tokens(text) == wanted), "")
    if letter:
        return _chosen(answer, letter, choices)
    return _said(question, wanted, reference, answer)


def _cannot(why: str) -> Scored:
    return Scored(value=None, detail=f"no rule: {why}")


def _said(question: str, wanted: Sequence[Token], reference: str, answer: str) -> Scored:
    said, asked = tokens(answer), tokens(question)
    hits = places(said, wanted)
    affirmed = [hit for hit in hits if not _negated(said, hit.start)]
    if hits and not affirmed:
        return _cannot(f"denies {reference!r}")
    inside = {i for hit in hits for i in hit}
    rivals = _rivals(asked, wanted, said, inside)
    turned = _turned(asked, wanted, said)
    if affirmed:
        if rivals and not _settled(answer, wanted):
            return _cannot(f"says {reference!r} and {_text(rivals[0])!r}")
        if why := turned or _elsewhere(asked, wanted, said, affirmed):
            return _cannot(f"says {reference!r}, but {why}")
        return Scored(value=1.0, detail=f"says {reference!r}")
    if _UNKNOWN.search(plain(answer).lower()) and not rivals:
        return Scored(value=0.0, detail="says that it cannot answer")
    if rivals and not turned and _comparable(wanted, said, rivals):
        return Scored(value=0.0, detail=f"says {_text(rivals[0])!r}, not {reference!r}")
    return _cannot(f"neither says {reference!r} nor plainly another answer of its kind")


def _turned(asked: Sequence[Token], wanted: Sequence[Token], said: Sequence[Token]) -> str:
    """Return why a word may turn what is said, empty where none does."""
    known = {str(t.value) for t in (*asked, *wanted)}
    new = {str(t.value) for t in said} - known
    turning = {word for word in new if word in _TURNS or any(word in pair and pair & known for pair in _OPPOSITES)}
    return f"{min(turning)!r} may turn it" if turning else ""


def _elsewhere(asked: Sequence[Token], wanted: Sequence[Token], said: Sequence[Token], hits: Sequence[range]) -> str:
    """Return why a reference that was said may belong to another statement, empty where it hardly can."""
    numbers = (TokenKind.number, TokenKind.ordinal, TokenKind.time)
    if any(t.kind in numbers for t in wanted):
        later = [t for t in said[hits[-1].stop :] if t.kind in numbers and not (t.value == 1 and not t.written)]
        if later:
            return "another number follows"
        counted = said[hits[-1].stop] if hits[-1].stop < len(said) else None
        if wanted[-1].kind is not TokenKind.number or counted is None or counted.kind is not TokenKind.word:
            return ""
        fits = not asked or counted.apart or counted.value in _PLAIN or any(counted.same(a) for a in asked)
        return "" if fits else f"it counts {counted.value}"
    if len(wanted) == 1 and wanted[0].value in _YES_NO:
        at = hits[0].start
        alone = at == 0 and (len(said) == 1 or said[1].apart)
        return "" if alone else "it does not stand alone"
    known = {str(t.value) for t in asked} | _PLAIN
    covered = {i for hit in hits for i in hit}
    new = [t for i, t in enumerate(said) if i not in covered and t.kind is TokenKind.word and t.value not in known]
    new = [t for t in new if not any(t.same(a) for a in asked)]
    return f"{len(new)} other words stand around it" if len(new) > _NEW_WORDS else ""


def _comparable(wanted: Sequence[Token], said: Sequence[Token], rivals: Sequence[Token]) -> bool:
    """Whether a rival number can be told apart from the reference: same unit, both whole, no digits run together."""
    numbers = [t for t in wanted if t.kind in (TokenKind.number, TokenKind.ordinal)]
    if not numbers:
        return True
    if any(t.same(n) for t in said for n in numbers):
        return False
    whole_year = Fraction(numbers[0].value) > 1000
    if whole_year and any(Fraction(numbers[0].value) % 100 == r.value for r in rivals):  # '98
        return False
    units = [t for t in wanted if t.kind is TokenKind.word]
    if units and len(said) > 1 and not all(any(t.same(u) for t in said) for u in units):
        return False
    whole = [Fraction(t.value).denominator == 1 for t in rivals if t.kind is TokenKind.number]
    if Fraction(numbers[0].value).denominator != 1 and any(whole):
        return False
    return len(numbers) == 1 and len(rivals) == 1 and len(_digits(numbers)) < 5


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
        and not any(t.apart and t.kind is TokenKind.word for t in said[i + 1 : i + size])
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


def _rivals(asked: Sequence[Token], wanted: Sequence[Token], said: Sequence[Token], hits: set[int]) -> list[Token]:
    """Return what was said of the kind of the reference, other than it, affirmed, and not taken from the question.

    Args:
        asked: the question.
        wanted: the reference.
        said: the answer.
        hits: where the answer says the reference.
    """
    offered = _alternatives(asked) if any(a.same(w) for a in asked for w in wanted) else []
    out = []
    for i, token in enumerate(said):
        if i in hits or any(token.same(w) or _alike(token, w) for w in wanted) or _negated(said, i):
            continue
        named = any(token.same(o) for o in offered)
        given = any(token.same(a) for a in asked) and not named
        if named or (_of_a_kind(token, wanted) and not given):
            out.append(token)
    return out


def _alternatives(asked: Sequence[Token]) -> list[Token]:
    """Return what a question that names its own answer offers: the words around *or*, else all that are no fillers."""
    around = [asked[j] for i in range(1, len(asked) - 1) if asked[i].value == "or" for j in (i - 1, i + 1)]
    return around or [t for t in asked if t.kind is TokenKind.word and t.value not in _PLAIN and len(str(t.value)) > 2]


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
    if any(t.value in ("no", "not", "or", "but") for t in tokens(answer)) and not stated_letters(answer):
        return _cannot("it says no, not, or or but")
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
