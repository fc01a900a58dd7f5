"""What an attentive rater answers: the expectation of a trap or gold pair, and gold pairs from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.design.plan import stratum
from vaeval_tasks.errors import InputError, UnknownNameError, VaevalError
from vaeval_tasks.rubrics import rubric
from vaeval_tasks.store.rows import field_list, read_rows
from vaeval_tasks.store.schema import CMOS_MAX, Pair, PairKind, Prompt

__all__ = ["ALIKE", "Expectation", "expectation", "gold_from_file", "wins"]

ALIKE = "*:-1:1"
"""Both sides are the same clip: nothing stronger than 'slightly better' on any rubric (as P.808's CCR trap)."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The answers to one rubric (None: to every rubric) that count as attentive, both ends included."""

    rubric: str | None
    low: int
    high: int

    def met(self, key: str, score: int) -> bool | None:
        """Whether an answer is as expected; None where the rubric is not the one in question."""
        if self.rubric not in (None, key):
            return None
        return self.low <= score <= self.high


def expectation(text: str) -> Expectation:
    """Read ``rubric:low:high``, the form in which :class:`~vaeval_tasks.store.schema.Pair` keeps it.

    Raises:
        InputError: it has another form, or the bounds are not within -3..3.
        UnknownNameError: there is no such rubric.
    """
    key, *bounds = text.split(":")
    try:
        low, high = map(int, bounds)
    except ValueError:
        raise InputError(f"expected rubric:low:high, got {text!r}") from None
    if not -CMOS_MAX <= low <= high <= CMOS_MAX:
        raise InputError(f"expected rubric:low:high with -3 <= low <= high <= 3, got {text!r}")
    return Expectation(None if key == "*" else rubric(key).key, low, high)


def wins(better: str, worse: str, key: str) -> str:
    """Return the expectation that ``better`` wins by 2 or more on rubric ``key``, in the pair's sign."""
    return f"{key}:2:3" if better < worse else f"{key}:-3:-2"


def gold_from_file(
    path: str | Path, prompts: Mapping[str, Prompt], configs: frozenset[str], *, slots: int, wave: int
) -> list[Pair]:
    """Read gold pairs with answers that an expert agreed on.

    A row has ``prompt_id``, ``a``, ``b`` and ``expect`` (``rubric:low:high``, several with ``;``). ``a`` and
    ``b`` may stand in any order: a score is positive when the ``a`` of the row is preferred.

    Raises:
        InputError: a row is malformed, or names the same configuration twice.
        UnknownNameError: a row names a prompt, configuration or rubric that is not in the run.
    """
    fields = ("prompt_id", "a", "b", "expect")
    pairs = []
    for number, row in enumerate(read_rows(path, fields, required=fields), 1):
        where = f"{path}, row {number}"
        if row["prompt_id"] not in prompts:
            raise UnknownNameError("prompt", str(row["prompt_id"]), prompts, where=where)
        for side in ("a", "b"):
            if row[side] not in configs:
                raise UnknownNameError("configuration", str(row[side]), configs, where=where)
        try:
            expected = [expectation(text) for text in field_list(row["expect"], path=path, row=number, field="expect")]
        except VaevalError as error:
            raise InputError(str(error), path=path, row=number, field="expect") from None
        if row["a"] > row["b"]:
            expected = [Expectation(e.rubric, -e.high, -e.low) for e in expected]
        a, b = sorted((row["a"], row["b"]))
        if a == b:
            raise InputError("a gold pair needs two configurations", path=path, row=number)
        pairs.append(
            Pair(
                pair_id=f"w{wave}-gold-file-{number:05d}",
                prompt_id=row["prompt_id"],
                a=a,
                b=b,
                kind=PairKind.gold,
                wave=wave,
                slots=slots,
                left_is_a=number % 2 == 1,
                stratum=stratum(prompts[row["prompt_id"]]),
                expect=tuple(f"{e.rubric or '*'}:{e.low}:{e.high}" for e in expected),
            )
        )
    return pairs
