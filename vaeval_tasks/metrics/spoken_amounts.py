"""Answers whose reference is one amount with a unit, one date, or one number that is only about right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.spoken_places import PLAIN, denied, negated, offered_beside, turned
from vaeval_tasks.metrics.spoken_quantities import CalendarDate, Quantity, calendar_dates, is_unit, quantities
from vaeval_tasks.metrics.spoken_text import Token, TokenKind, plain, sentences, tokens

__all__ = ["amount_of", "judge_amount"]

_ABOUT = frozenset("about around approximately roughly exactly just some circa only on the in at of".split())


def amount_of(wanted: Sequence[Token]) -> Quantity | CalendarDate | None:
    """Return the one amount or date that a reference is; None where it is more, less or something else."""
    for found in (calendar_dates(wanted), [q for q in quantities(wanted) if q.dimension]):
        rest = [t for i, t in enumerate(wanted) if not any(i in one.at for one in found)]
        if len(found) == 1 and all(t.value in _ABOUT for t in rest):
            return found[0]
    return None


def judge_amount(question: str, wanted: Sequence[Token], answer: str) -> Scored:
    """Judge an answer by a reference that is one amount or date."""
    amount = amount_of(wanted)
    said, asked = tokens(answer), tokens(question)
    if isinstance(amount, CalendarDate):
        return _dated(amount, asked, wanted, said)
    if amount is None:
        raise ValueError(wanted)
    return _measured(amount, asked, wanted, said, answer)


def _no(why: str) -> Scored:
    return Scored(value=None, detail=f"no rule: {why}")


def _dated(date: CalendarDate, asked: Sequence[Token], wanted: Sequence[Token], said: Sequence[Token]) -> Scored:
    found = calendar_dates(said)
    hits = [d for d in found if d.equals(date)]
    others = [d for d in found if not d.equals(date)]
    if hits and denied(said, [d.at for d in hits]) and not others:
        return Scored(value=0.0, detail="denies the date")
    if len(found) != 1 or negated(said, found[0].at.start):
        return _no("not one date")
    if why := turned(asked, wanted, [t for i, t in enumerate(said) if i not in found[0].at]):
        return _no(why)
    if hits and date.year is not None and hits[0].year is None:
        return _no("no year")
    numbers = [t for i, t in enumerate(said) if t.kind is TokenKind.number and i not in found[0].at]
    if numbers:
        return _no("another number beside the date")
    return Scored(value=float(bool(hits)), detail="says the date" if hits else "says another date")


def _measured(
    amount: Quantity, asked: Sequence[Token], wanted: Sequence[Token], said: Sequence[Token], answer: str
) -> Scored:
    found = [q for q in quantities(said) if q.like(amount) or q.dimension]
    given = quantities(asked)
    hits = [q for q in found if q.equals(amount)]
    paired = _pair(amount, found, said)
    if paired is not None:
        found, hits = [paired], ([paired] if paired.equals(amount) else [])
    rivals = [
        q
        for q in found
        if q not in hits
        and not q.implied
        and not (q.dimension != amount.dimension and _beside(q, amount))
        and not any(q.equals(g) and q.dimension == g.dimension for g in given)
    ]
    spans = [q.at for q in hits]
    if hits and denied(said, spans):
        return Scored(value=0.0, detail="denies the amount")
    if hits and offered_beside(said, spans, [i for q in rivals for i in q.at]):
        return Scored(value=0.0, detail="offers the amount beside another")
    why = turned(asked, wanted, said)
    if hits:
        if any(negated(said, at.start) for at in spans) or why:
            return _no(why or "denies the amount")
        if rivals and not _ends_on(answer, amount):
            return _no("says the amount and another")
        if why := _counts(hits[-1], asked, wanted, said):
            return _no(why)
        return Scored(value=1.0, detail="says the amount")
    rivals = rivals or ([q for q in found if q.implied] if len(said) <= 4 else [])
    if len(rivals) != 1 or why or negated(said, rivals[0].at.start):
        return _no("not one other amount")
    (rival,) = rivals
    if rival.close(amount) or (
        rival.dimension == "" and rival.at.stop < len(said) and _noun(said[rival.at.stop], asked)
    ):
        return _no("about the same amount, or of something else")
    if _run_on(said, rival):
        return _no("numbers run together")
    return Scored(value=0.0, detail="says another amount")


def _beside(q: Quantity, amount: Quantity) -> bool:
    """Whether an amount of another dimension says nothing against the reference: two hours beside ten metres."""
    money = {"dollar", "euro", "pound", "yen", "yuan", "cents"}
    both = {q.dimension, amount.dimension}
    scales = all(d.startswith("degree") for d in both)
    rates = {"length per hour", "length per second", "length"}
    return not (
        both <= money
        or scales
        or both <= rates
        or "" in both
        or both <= {"time", "months"}
        or both <= {"mass", "pound"} | money
    )


def _pair(amount: Quantity, found: Sequence[Quantity], said: Sequence[Token]) -> Quantity | None:
    """Read ``seventy-nine ninety-nine``, ``eighteen forty`` as a price where the reference is one with hundredths."""
    money = amount.dimension in ("dollar", "euro", "pound")
    if not money or amount.value.denominator == 1 or any(q.dimension for q in found):
        return None
    if len(found) == 1 and 1000 <= found[0].number <= 9999 and not said[found[0].at.start].written:
        total = found[0].number / 100
        return replace(found[0], dimension=amount.dimension, value=total, number=total)
    if len(found) != 2:
        return None
    first, then = found
    if then.at.start != first.at.stop or said[then.at.start].apart or not 0 < then.number < 100:
        return None
    total = first.number + then.number / 100
    return replace(first, dimension=amount.dimension, value=total, number=total, at=range(first.at.start, then.at.stop))


def _run_on(said: Sequence[Token], rival: Quantity) -> bool:
    around = [*said[max(rival.at.start - 1, 0) : rival.at.start], *said[rival.at.stop : rival.at.stop + 1]]
    return any(t.kind is TokenKind.number or t.value in ("oh", "o", "point") for t in around)


def _noun(token: Token, asked: Sequence[Token]) -> bool:
    known = token.apart or str(token.value) in PLAIN or any(token.same(a) for a in asked)
    return token.kind is TokenKind.word and not known and not is_unit(token)


def _counts(hit: Quantity, asked: Sequence[Token], wanted: Sequence[Token], said: Sequence[Token]) -> str:
    """Return why a hit without a unit may count something else, or speak of another thing."""
    if hit.dimension == "" and hit.at.stop < len(said) and _noun(said[hit.at.stop], (*asked, *wanted)):
        return f"it counts {said[hit.at.stop].value}"
    return ""


def _ends_on(answer: str, amount: Quantity) -> bool:
    """Whether an answer with several amounts ends on the right one: after *is*, *equals*, *so* or *answer*."""
    last = sentences(answer)[-1].lower() if sentences(answer) else ""
    if re.search(r"\b(?:or|either|maybe|perhaps|could|might|not)\b", plain(last)):
        return False
    parts = re.split(r"\b(?:is|are|equals|makes|gives|so|answer|total|leaves|costs?|have|has|or rather)\b|=", last)
    found = quantities(tokens(parts[-1]))
    return len(parts) > 1 and len(found) == 1 and found[0].equals(amount) and found[0].dimension == amount.dimension
