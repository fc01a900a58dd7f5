"""Where an answer says something, whether it denies it there, and which words may turn what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from vaeval_tasks.metrics.answer_kinds import alike
from vaeval_tasks.metrics.spoken_text import Token, TokenKind, plain

__all__ = ["NEGATIONS", "PLAIN", "cannot_answer", "denied", "negated", "offered_beside", "places", "turned"]

NEGATIONS = frozenset(
    (
        "not never isn't aren't wasn't weren't neither nor without don't doesn't didn't can't cannot won't wouldn't "
        "couldn't shouldn't hasn't haven't ain't nobody noone none nothing hardly nowhere isnt dont doesnt wasnt"
    ).split()
)
_TURNS = NEGATIONS | frozenset(
    (
        "but although though however while whereas except unless than before after almost nearly opposite unlike "
        "instead rather or either maybe perhaps might could may probably possibly something some many most "
        "often followed together which who lower higher less more fewer over under actually sorry wait "
        "no used other another between both until since order next near beside behind above below anything anywhere "
        "anyone everything false wrong incorrect untrue mistaken pretend wish hope forget unsure guess whether doubt "
        "least till somewhere someone sometimes depends thought fake former previously originally"
    ).split()
)
"""Words that turn what stands around them: with one a rule cannot tell, unless question or reference has it too."""
PLAIN = frozenset(
    (
        "a an the it it's its is are was were be been i i'm think believe say says said hear heard see that that's "
        "this there there's they they're he he's she she's his her we you your my their our of in on at to for from "
        "by with as and so will has have had do does did answer correct right one would sure yes well okay sounds "
        "like looks called name named left total altogether exactly just only per each every up out what where when "
        "how if i'd it'd definitely certainly clearly obviously course usually count me seems seem very quite really "
        "about around approximately roughly"
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
_ORDINAL_WORDS = {1: "first", 2: "second"}
_LINKS = ("is", "are", "was", "were")


_UNKNOWN = re.compile(
    r"\bi (?:really |just )?(?:do not|don't|can't|cannot|could not|couldn't|am not able to|was not able to) "
    r"(?:really )?(?:know|tell|say|hear|understand|see|answer|determine|identify|find|remember)\b|"
    r"\bi (?:didn't|did not|couldn't) (?:quite |really )?(?:catch|hear|get|understand)\b|\bi have no idea\b|"
    r"\bi'?m (?:not sure|unable|sorry,? (?:but )?i (?:can|don|did|am))|\bi am (?:not sure|unable)\b|^no idea\b|"
    r"\bas an ai\b|\bplease (?:provide|clarify|repeat)\b"
)


def cannot_answer(answer: str) -> bool:
    """Whether an answer says that it does not know, did not hear, or cannot tell."""
    return _UNKNOWN.search(plain(answer).lower()) is not None


def _text(token: Token) -> str:
    if token.kind is TokenKind.ordinal:
        return _ORDINAL_WORDS.get(int(token.value), str(token.value))
    return str(token.value)


def places(said: Sequence[Token], wanted: Sequence[Token]) -> list[range]:
    """Return where ``wanted`` stands in ``said``: its tokens in a row, a time as two numbers, digits run together."""
    if not wanted:
        return []
    found = [at for i in range(len(said)) if (at := _from(said, i, wanted)) is not None]
    if len(wanted) == 1 and wanted[0].kind is TokenKind.time:
        found += _spelt_times(said, wanted[0])
    if all(t.kind is TokenKind.number for t in wanted) and len(_digits(wanted)) >= 3:
        found += [at for at in _digit_runs(said, _digits(wanted)) if at not in found]
    return sorted(found, key=lambda hit: hit.start)


def _from(said: Sequence[Token], start: int, wanted: Sequence[Token]) -> range | None:
    """Match from one place on; *is* may stand inside: ``glass is breaking``."""
    at = start
    for i, want in enumerate(wanted):
        if i and at < len(said) and said[at].value in _LINKS and not want.same(said[at]):
            at += 1
        if at >= len(said) or not (said[at].same(want) or alike(_text(said[at]), _text(want))):
            return None
        if i and said[at].apart and said[at].kind is TokenKind.word:
            return None
        at += 1
    return range(start, at)


def _spelt_times(said: Sequence[Token], wanted: Token) -> list[range]:
    """A time said without a colon: ``four thirty``, ``two oh five``, ``430``, or just ``five`` for five o'clock."""
    hours, minutes = divmod(int(Fraction(wanted.value)), 60)
    spelt = {hours, hours % 12 or 12}
    found = []
    for i, token in enumerate(said):
        if token.kind is not TokenKind.number:
            continue
        following = [t.value for t in said[i + 1 : i + 3]]
        after = following[1:] if following[:1] in (["oh"], ["o"]) else following
        more = bool(after) and isinstance(after[0], Fraction)
        if token.value in spelt and minutes and following[:1] == [minutes]:
            end = i + 2
        elif token.value in spelt and 0 < minutes < 10 and following in (["oh", minutes], ["o", minutes], [0, minutes]):
            end = i + 3
        elif token.value in {h * 100 + minutes for h in spelt if h} or (
            minutes == 0 and token.value in spelt and not more
        ):
            end = i + 1
        else:
            continue
        if not _other_half(said[end : end + 4], wanted.written):
            found.append(range(i, end))
    return found


def _other_half(following: Sequence[Token], half: str) -> bool:
    """Whether what follows a time puts it into the other half of the day."""
    words = {str(t.value) for t in following}
    morning = bool(words & {"am", "morning"})
    later = bool(words & {"pm", "afternoon", "evening", "night"})
    return (half == "pm" and morning) or (half == "am" and later)


def _digits(run: Sequence[Token]) -> str:
    return "".join("0" if t.value in ("oh", "o") else t.written or str(t.value) for t in run)


def _digit_runs(said: Sequence[Token], wanted: str) -> list[range]:
    found = []
    for i, token in enumerate(said):
        end = i
        while end < len(said) and (said[end].kind is TokenKind.number or said[end].value in ("oh", "o")):
            end += 1
        whole = i == 0 or (said[i - 1].kind is not TokenKind.number and said[i - 1].value not in ("oh", "o"))
        if token.kind is TokenKind.number and whole and _digits(said[i:end]) == wanted:
            found.append(range(i, end))
    return found


def negated(said: Sequence[Token], at: int) -> bool:
    """Whether a negation governs a place: within five words before it, with no *but* between, nor a full stop."""
    first = max(at - 6, 0)
    before = [str(t.value) for t in said[first:at]]
    stops = [i for i in range(first + 1, at + 1) if said[i].apart and _new_clause(said, i)]
    if stops:
        before = before[stops[-1] - first :]
    if "but" in before:
        before = before[len(before) - before[::-1].index("but") :]
    return bool(NEGATIONS & set(before)) or (bool(before) and before[-1] == "no")


def _new_clause(said: Sequence[Token], at: int) -> bool:
    return str(said[at].value) in ("it", "it's", "the", "there", "there's", "he", "she", "they", "that's", "i", "this")


_UNSURE_DENIAL = frozenset(
    "but except doubt only other else than until if just wrong question forget without anything nothing nobody why "
    "think sure unless because although though nor neither or whether know".split()
)


def denied(said: Sequence[Token], hits: Sequence[range]) -> bool:
    """Whether an answer plainly denies what it names: one negation before it, and nothing that could turn that."""
    words = [str(t.value) for t in said]
    thought = words[:3] in (["i", "don't", "think"], ["i", "do", "not"])
    odd = _UNSURE_DENIAL - ({"think"} if thought else set())
    return (
        bool(hits)
        and all(negated(said, hit.start) for hit in hits)
        and sum(w in NEGATIONS or w == "no" for w in words) == 1
        and not odd & set(words)
    )


def offered_beside(said: Sequence[Token], hits: Sequence[range], others: Sequence[int]) -> bool:
    """Whether an answer offers what it names beside another: ``three or four``, ``A, B or C``."""
    inside = {i for hit in hits for i in hit} | set(others)
    between = [str(t.value) for i, t in enumerate(said) if min(inside) < i < max(inside) and i not in inside]
    return bool(others) and "or" in between and set(between) <= {"or", "maybe", "perhaps", "possibly", "it", "be", "is"}


def turned(asked: Sequence[Token], wanted: Sequence[Token], said: Sequence[Token]) -> str:
    """Return why a word may turn what is said, empty where none does."""
    known = {_text(t) for t in (*asked, *wanted)}
    new = [t for t in said if _text(t) not in known and not any(t.same(k) for k in (*asked, *wanted))]
    words = {_text(t) for t in new}
    turning = {word for word in words if word in _TURNS or any(word in pair and pair & known for pair in _OPPOSITES)}
    return f"{min(turning)!r} may turn it" if turning else ""
