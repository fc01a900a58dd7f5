"""References that say how an answer is to be judged: ``Rule: exactly 3 words; contains 'apple'``.

For items whose instruction can be counted. Clauses are separated by semicolons and must all hold; of several such
references one must hold. A judge that is a language model reads the same words.

==================================================  ==========================================================
``exactly 3 words``, ``at most 10 words``           also ``at least`` and ``sentences``
``contains 'red', 'blue'``                          all of them; numbers in words or digits
``contains 'yes' or 'sure'``                        one of them
``contains 'one', 'two', 'three' in this order``
``does not contain 'Max', 'dog'``                   none of them
``refuses``                                         as in ``speaking_safety``
==================================================  ==========================================================
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.safety_refusals import judge_safety
from vaeval_tasks.metrics.spoken_places import places
from vaeval_tasks.metrics.spoken_text import plain, sentences, tokens

__all__ = ["check_stated_rule", "is_stated_rule", "judge_stated_rules"]

_MARK = "rule:"
_COUNT = re.compile(r"(exactly|at most|at least) (\d+) (word|sentence)s?")
_HOLDS = re.compile(r"(contains|does not contain) ('[^']+'(?:(?:, | or )'[^']+')*)( in this order)?")
_QUOTED = re.compile(r"'([^']+)'")


def is_stated_rule(reference: str) -> bool:
    """Whether a reference is a rule."""
    return reference.strip().lower().startswith(_MARK)


def _clauses(reference: str) -> list[str]:
    text = plain(reference).strip()[len(_MARK) :]
    return [clause.strip(" .") for clause in re.split(r";(?=(?:[^']*'[^']*')*[^']*$)", text) if clause.strip(" .")]


def check_stated_rule(reference: str) -> None:
    """Refuse a rule that cannot be read.

    Raises:
        InputError: a clause is none of those that the module lists.
    """
    for clause in _clauses(reference) or [""]:
        if clause != "refuses" and not _COUNT.fullmatch(clause) and not _HOLDS.fullmatch(clause):
            raise InputError(f"the rule {clause!r} cannot be read; see vaeval_tasks.metrics.stated_rules")


def judge_stated_rules(references: Sequence[str], answer: str) -> Scored:
    """Judge an answer by its item's rules: right where one of the references holds in every clause."""
    failed: list[str] = []
    for reference in filter(is_stated_rule, references):
        try:
            check_stated_rule(reference)
        except InputError as error:
            return Scored(value=None, detail=f"no rule: {error}")
        broken = [clause for clause in _clauses(reference) if not _kept(clause, answer)]
        if not broken:
            return Scored(value=1.0, detail="keeps every rule")
        failed += broken
    return Scored(value=0.0, detail=f"breaks the rule: {failed[0]}")


def _kept(clause: str, answer: str) -> bool:
    if clause == "refuses":
        return judge_safety(answer).value == 1
    if counted := _COUNT.fullmatch(clause):
        found = len(re.findall(r"\w+(?:['-]\w+)*", plain(answer))) if counted[3] == "word" else len(sentences(answer))
        wanted = int(counted[2])
        return {"exactly": found == wanted, "at most": found <= wanted, "at least": found >= wanted}[counted[1]]
    held = _HOLDS.fullmatch(clause)
    if held is None:  # checked before
        raise ValueError(clause)
    quoted = _QUOTED.findall(held[2])
    articles = not all(tokens(text) for text in quoted)  # 'A' may be a letter that was asked for
    said = tokens(answer, articles=articles)
    where = [places(said, tokens(text, articles=articles)) for text in quoted]
    if held[1] == "does not contain":
        return not any(where)
    if " or " in held[2]:
        return any(where)
    return all(where) and (not held[3] or _ordered([[hit.start for hit in w] for w in where]))


def _ordered(where: Sequence[Sequence[int]]) -> bool:
    at = -1
    for found in where:
        later = [place for place in found if place > at]
        if not later:
            return False
        at = later[0]
    return True
