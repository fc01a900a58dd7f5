"""Does an answer say a short reference, another answer of the same kind, or neither? Three verdicts.

Right: the reference stands in the answer, not negated, and no rival beside it. Wrong: a rival and not the reference,
the reference denied, offered beside a rival ("three or four") or taken back, or "I don't know". A rival is an answer of
the same kind: another number, amount, date, time, name of one kind (:mod:`vaeval_tasks.metrics.answer_kinds`), an
option or an alternative that the question names. All else cannot be told by rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from vaeval_tasks.metrics.answer_kinds import alike, rivals_of, sound_key
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.spoken_amounts import amount_of, judge_amount
from vaeval_tasks.metrics.spoken_codes import is_code, judge_code
from vaeval_tasks.metrics.spoken_corrections import corrected
from vaeval_tasks.metrics.spoken_options import judge_option, options, stated_letters
from vaeval_tasks.metrics.spoken_places import PLAIN, cannot_answer, denied, negated, offered_beside, places, turned
from vaeval_tasks.metrics.spoken_quantities import is_unit
from vaeval_tasks.metrics.spoken_text import Token, TokenKind, plain, sentences, tokens
from vaeval_tasks.metrics.yes_and_no import is_yes_or_no, judge_yes_or_no

__all__ = ["judge_short_answer"]

LONGEST_REFERENCE = 12
"""Words. That an answer does not say a longer reference tells nothing."""
_NEW_WORDS = 2
"""With more new words than that around it, a reference of words may stand in another statement."""
_EITHER = re.compile(r"\b(?:or|either|maybe|perhaps|could be|might be|possibly)\b")
_LETTER = re.compile(r"^\(?([A-Ja-j])\)?(?:[.):]\s*(.*))?$", re.DOTALL)
_CONTRAST = re.compile(r"[,;]? but (?=(?:actually |really )?(?:it|its|the|this|that|there|he|she|they)\b)")
_ALL = re.compile(r"\b(?:any|every|no|some)(?:thing|where|body|one)$|\b(?:all|none|any)$")
_QUALITIES = frozenset("big small large little old young loud barking single real live huge tiny famous great".split())
_ADDED = frozenset(("next", "this", "coming"))
_COUNTS = (TokenKind.number, TokenKind.ordinal, TokenKind.time)


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
        return judge_option(answer, named[1].upper(), choices)
    wanted = tokens(re.sub(r"^\s*[a-zA-Z]\s*=\s*", "", plain(reference)))
    if not 0 < len(wanted) <= LONGEST_REFERENCE:
        return _cannot(f"a reference of {len(wanted)} words")
    letter = next((name for name, text in choices.items() if tokens(text) == wanted), "")
    if letter:
        return judge_option(answer, letter, choices)
    if is_yes_or_no(wanted):
        return judge_yes_or_no(question, wanted, answer)
    if is_code(question, reference):
        unknown = cannot_answer(answer) and not re.search(r"\d", answer)
        return Scored(value=0.0, detail="says that it cannot answer") if unknown else judge_code(reference, answer)
    return _in_the_end(question, reference, _essence(wanted, asked=question), answer)


def _cannot(why: str) -> Scored:
    return Scored(value=None, detail=f"no rule: {why}")


def _essence(wanted: Sequence[Token], *, asked: str) -> list[Token]:
    """Return a reference without what an answer may leave out: *because of*, *it* before a verb, *next*, *about*."""
    words = [str(t.value) for t in wanted]
    if len(words) > 1 and words[0] in ("because", "due"):
        return list(wanted[2:] if words[1] in ("of", "to") and len(words) > 2 else wanted[1:])
    if len(words) > 1 and words[0] in ("it", "he", "she", "they"):
        return list(wanted[1:])
    if len(words) == 2 and words[0] in ("on", "in") and rivals_of(words[1]):
        return list(wanted[1:])
    if len(words) == 2 and words[0] in _ADDED and "next" not in [str(t.value) for t in tokens(asked)]:
        return list(wanted[1:]) if rivals_of(words[1]) else list(wanted)
    if len(words) > 1 and words[0] in ("about", "around", "approximately", "roughly"):
        return list(wanted[1:])
    return list(wanted)


def _in_the_end(question: str, reference: str, wanted: Sequence[Token], answer: str) -> Scored:
    """Judge what an answer ends on where it corrects itself or says what is not so first."""
    fixed = corrected(answer)
    if fixed is None:
        return _said(question, wanted, reference, answer)
    before, after = fixed
    last = _said(question, wanted, reference, after)
    said_before, said_after = tokens(before), tokens(after)
    back = places(said_before, wanted) and not places(said_after, wanted)
    if last.value is None and back and len(said_after) <= 6 and not cannot_answer(after):
        new = [t for t in said_after if str(t.value) not in PLAIN and not any(t.same(a) for a in tokens(question))]
        if new and not turned(tokens(question), wanted, said_after):
            return Scored(value=0.0, detail=f"takes {reference!r} back")
    return last


def _said(question: str, wanted: Sequence[Token], reference: str, answer: str) -> Scored:
    said, asked = tokens(answer), tokens(question)
    if cannot_answer(answer) and not places(said, wanted):
        rest = [t for t in said if t.kind is not TokenKind.word and not (t.value == 1 and not t.written)]
        return (
            _cannot("says that it does not know, and more")
            if rest
            else Scored(value=0.0, detail="says that it cannot answer")
        )
    if amount_of(wanted) is not None:
        return judge_amount(question, wanted, answer)
    hits = _hits(question, wanted, reference, said)
    rivals = _rivals(question, wanted, said, {i for hit in hits for i in hit})
    if hits and (denied(said, hits) or _not_but(said, hits)):
        return Scored(value=0.0, detail=f"denies {reference!r}")
    if hits and rivals and offered_beside(said, hits, rivals):
        return Scored(value=0.0, detail=f"offers {reference!r} beside {said[rivals[0]].value!s}")
    affirmed = [hit for hit in hits if not negated(said, hit.start)]
    if hits and not affirmed:
        return _cannot(f"denies {reference!r}")
    why = turned(asked, wanted, said)
    if affirmed:
        return _affirmed(question, reference, wanted, answer, affirmed, rivals, why)
    if rivals and not why and _comparable(question, wanted, said, rivals):
        return Scored(value=0.0, detail=f"says {said[rivals[0]].value!s}, not {reference!r}")
    return _cannot(f"neither says {reference!r} nor plainly another answer of its kind")


def _affirmed(
    question: str, reference: str, wanted: Sequence[Token], answer: str, hits: Sequence[range], rivals: Sequence[int],
    why: str,
) -> Scored:  # fmt: skip
    said, asked = tokens(answer), tokens(question)
    if rivals and not _settled(answer, wanted) and not _contrast(asked, wanted, answer):
        return _cannot(f"says {reference!r} and {said[rivals[0]].value!s}")
    if why and not _contrast(asked, wanted, answer):
        return _cannot(f"says {reference!r}, but {why}")
    if not why and (elsewhere := _elsewhere(asked, wanted, said, hits, reference, answer)):
        return _cannot(f"says {reference!r}, but {elsewhere}")
    return Scored(value=1.0, detail=f"says {reference!r}")


def _hits(question: str, wanted: Sequence[Token], reference: str, said: Sequence[Token]) -> list[range]:
    """Return where an answer says the reference, or another name of it, or a name that sounds the same."""
    found = places(said, wanted)
    whole = " ".join(str(t.value) for t in wanted)
    for other, same in rivals_of(whole).items():
        if same:
            shorter = len(tokens(other)) < len(wanted)
            found += [
                at
                for at in places(said, tokens(other))
                if at not in found and not (shorter and not _alone(said, at.start))
            ]
    if all(t.kind is TokenKind.word for t in wanted) and plain(reference).strip()[:1].isupper():
        found += [at for at in _by_sound(said, wanted) if at not in found]
        who = re.search(r"\bwho\b", question, re.I) is not None
        if not found and who and 2 <= len(wanted) <= 3 and plain(reference).title() == plain(reference).strip():
            found = [at for at in _by_sound(said, wanted[-1:]) if _alone(said, at.start)]
    return _outermost(found)


def _not_but(said: Sequence[Token], hits: Sequence[range]) -> bool:
    """Whether an answer says *not* the reference *but* something else."""
    (hit, *others) = hits
    words = [str(t.value) for t in said]
    return (
        not others and words[max(hit.start - 1, 0) : hit.start] == ["not"] and words[hit.stop : hit.stop + 1] == ["but"]
    )


def _by_sound(said: Sequence[Token], wanted: Sequence[Token]) -> list[range]:
    keys = [sound_key(str(t.value)) for t in wanted]
    if min(map(len, keys), default=0) < 3:
        return []
    spoken = [sound_key(str(t.value)) if t.kind is TokenKind.word else "" for t in said]
    return [range(i, i + len(keys)) for i in range(len(said) - len(keys) + 1) if spoken[i : i + len(keys)] == keys]


def _alone(said: Sequence[Token], at: int) -> bool:
    """Whether no other name stands before a family name."""
    return at == 0 or said[at].apart or str(said[at - 1].value) in PLAIN


def _outermost(found: Sequence[range]) -> list[range]:
    kept = [a for a in found if not any(set(a) < set(b) for b in found)]
    return sorted(dict.fromkeys(kept), key=lambda hit: hit.start)


def _contrast(asked: Sequence[Token], wanted: Sequence[Token], answer: str) -> bool:
    """Whether an answer ends on the reference after *but*, with nothing else there: ``not A, but it is B``."""
    parts = _CONTRAST.split(plain(answer).lower())
    if len(parts) != 2 or len(sentences(answer)) != 1 or _ALL.search(parts[0]):
        return False
    after = tokens(parts[1])
    found = places(after, wanted)
    rest = [t for i, t in enumerate(after) if not any(i in hit for hit in found)]
    linked = any(t.value in ("is", "was", "are", "it's", "that's") for t in rest)
    known = all(
        str(t.value) in PLAIN or t.value in ("actually", "really") or any(t.same(a) for a in asked) for t in rest
    )
    return len(found) == 1 and linked and known and not negated(after, found[0].start)


def _elsewhere(
    asked: Sequence[Token], wanted: Sequence[Token], said: Sequence[Token], hits: Sequence[range], reference: str,
    answer: str,
) -> str:  # fmt: skip
    """Return why a reference that was said may belong to another statement, empty where it hardly can."""
    if any(t.kind in _COUNTS for t in wanted):
        later = [t for t in said[hits[-1].stop :] if t.kind in _COUNTS and not (t.value == 1 and not t.written)]
        if later:
            return "another number follows"
        counted = said[hits[-1].stop] if hits[-1].stop < len(said) else None
        if wanted[-1].kind is not TokenKind.number or counted is None or counted.kind is not TokenKind.word:
            return ""
        known = {"people", "times", "persons", "years", "different", "them", *PLAIN}
        fits = not asked or counted.apart or counted.value in known or any(counted.same(a) for a in asked)
        measured = is_unit(counted) and counted.value != "percent" and "many" not in {str(a.value) for a in asked}
        return "" if fits or measured else f"it counts {counted.value}"
    known = {str(t.value) for t in asked} | PLAIN
    covered = {i for hit in hits for i in hit}
    new = [i for i, t in enumerate(said) if i not in covered and t.value not in known and (t.value != 1 or t.written)]
    new = [i for i in new if not any(said[i].same(a) for a in (*asked, *wanted))]
    if len(new) > _NEW_WORDS:
        return f"{len(new)} other words stand around it"
    if not asked:
        return ""
    capitals = {w.lower() for w in re.findall(r"(?<![.!?] )(?<!^)\b([A-Z][a-z]+)", plain(answer))}
    if any(str(said[i].value) in capitals or said[i].kind is not TokenKind.word for i in new):
        return "another name or number stands beside it"
    proper = plain(reference).strip()[:1].isupper()
    for hit in hits:
        if proper and hit.start == 1 and 0 in new and not said[1].apart:
            return f"{said[0].value} stands before it"
        if hit.start == 0 and len(said) > hit.stop + 1 and _swapped(asked, said[hit.stop], said[hit.stop + 1]):
            return "the question asks whom, and this says who"
        if (
            not proper
            and hit.start - 1 in new
            and not said[hit.start].apart
            and said[hit.start - 1].value not in _QUALITIES
        ):
            return f"{said[hit.start - 1].value} stands before it"
        if hit.stop in new and not said[hit.stop].apart and not str(said[hit.stop].value).endswith(("ing", "ly")):
            return f"{said[hit.stop].value} stands after it"
    return ""


def _swapped(asked: Sequence[Token], link: Token, verb: Token) -> bool:
    """Whether ``Who is the woman calling?`` is answered by who calls: ``Her brother is calling``."""
    words = [str(t.value) for t in asked]
    linked = link.value in ("is", "was", "are", "were") and str(verb.value).endswith("ing")
    return linked and len(words) > 3 and words[0] in ("who", "whom", "what") and words[-1] == verb.value


def _comparable(question: str, wanted: Sequence[Token], said: Sequence[Token], rivals: Sequence[int]) -> bool:
    """Whether a rival number can be told apart from the reference: same unit, both whole, no digits run together."""
    numbers = [t for t in wanted if t.kind in (TokenKind.number, TokenKind.ordinal)]
    if any(t.kind is TokenKind.time for t in wanted):
        return len(rivals) == 1 and not _run_together(said, rivals[0])
    if not numbers:
        return True
    if any(t.same(n) for t in said for n in numbers) or len(rivals) > 1 or _run_together(said, rivals[0]):
        return False
    rival = said[rivals[0]]
    year = re.search(r"\byear\b|^when\b", question, re.I) is not None
    right = Fraction(numbers[0].value)
    if right > 1000 and right % 100 == rival.value:  # '98
        return False
    whole = Fraction(rival.value).denominator == 1 == right.denominator
    if (
        not year
        and not (whole and Fraction(rival.value) % 10)
        and rival.kind is TokenKind.number
        and rival.value != right
        and abs(Fraction(rival.value) - right) < abs(right) / 50
    ):
        return False  # rounded
    units = [t for t in wanted if t.kind is TokenKind.word]
    if units and len(said) > 1 and not all(any(t.same(u) for t in said) for u in units):
        return False
    after = said[rivals[0] + 1] if rivals[0] + 1 < len(said) else None
    if after is not None and after.value == "percent" and right.denominator != 1:
        return False
    return len(numbers) == 1


def _run_together(said: Sequence[Token], at: int) -> bool:
    around = [*said[max(at - 1, 0) : at], *said[at + 1 : at + 2]]
    return any(t.kind is TokenKind.number or t.value in ("oh", "o", "point") for t in around)


def _rivals(question: str, wanted: Sequence[Token], said: Sequence[Token], hits: set[int]) -> list[int]:
    """Return where the answer says something of the kind of the reference, other than it, affirmed, and new.

    Args:
        question: what was asked.
        wanted: the reference.
        said: the answer.
        hits: where the answer says the reference.
    """
    asked = tokens(question)
    offered = _alternatives(question) if all(any(a.same(w) for a in asked) for w in wanted) else []
    kinds = _kinds(wanted)
    named = {at.start for other in kinds for at in places(said, tokens(other)) if not set(at) & hits}
    out = []
    for i, token in enumerate(said):
        if i in hits or any(token.same(w) or alike(str(token.value), str(w.value)) for w in wanted) or negated(said, i):
            continue
        alternative = any(token.same(o) for o in offered)
        given = any(token.same(a) for a in asked) and not alternative
        if alternative or ((i in named or _counted_too(token, wanted)) and not given):
            out.append(i)
    return out


def _kinds(wanted: Sequence[Token]) -> list[str]:
    whole = " ".join(str(t.value) for t in wanted)
    names = [whole] if rivals_of(whole) else [str(t.value) for t in wanted if t.kind is TokenKind.word]
    return [other for name in names for other, same in rivals_of(name).items() if not same]


def _alternatives(question: str) -> list[Token]:
    """Return what a question that names its own answer offers: the words around *or*, or its names."""
    asked = tokens(question)
    around = [asked[j] for i in range(1, len(asked) - 1) if asked[i].value == "or" for j in (i - 1, i + 1)]
    names = [t for name in re.findall(r"\b[A-Z][a-z]+\b", plain(question)) for t in tokens(name)]
    return around or [t for t in names if t.value not in PLAIN and len(str(t.value)) > 2]


def _counted_too(token: Token, wanted: Sequence[Token]) -> bool:
    """Whether both are numbers; ``one`` and ``first`` are mostly no answer to how many: "the first one is"."""
    return (
        any(w.kind in _COUNTS for w in wanted) and token.kind in _COUNTS and (token.value != 1 or bool(token.written))
    )


def _settled(answer: str, wanted: Sequence[Token]) -> bool:
    """Whether an answer with rivals still ends on the reference: after *is*, *equals* or *answer*, and no *or*."""
    last = sentences(answer)[-1].lower() if sentences(answer) else ""
    if _EITHER.search(last):
        return False
    parts = re.split(r"\b(?:is|are|equals|makes|gives|so|answer|total|leaves|have|has)\b|=", last)
    ended = tokens(parts[-1])
    same = [t.same(w) for t, w in zip(ended, wanted, strict=False)]
    return len(parts) > 1 and same == [True] * len(wanted)
