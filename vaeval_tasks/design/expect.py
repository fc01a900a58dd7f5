"""What an attentive rater answers: the expectation of a trap or gold pair, and gold pairs from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.design.plan import stratum
from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.rubrics import rubric
from vaeval_tasks.store.schema import CMOS_MAX, Pair, PairKind, Prompt
from vaeval_tasks.store.sheets import read_sheet

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
    for row in read_sheet(path).records(fields, required=fields):
        prompt_id = row.one_of("prompt_id", "prompt", prompts)
        first, second = (row.one_of(side, "configuration", configs) for side in ("a", "b"))
        if first == second:
            raise row.error("a gold pair needs two configurations", "b")
        try:
            expected = [expectation(text) for text in row.texts("expect")]
        except VaevalError as error:
            raise row.error(str(error), "expect") from None
        if not expected:
            raise row.error("names no rubric:low:high", "expect")
        if first > second:
            expected = [Expectation(e.rubric, -e.high, -e.low) for e in expected]
        a, b = sorted((first, second))
        pairs.append(
            Pair(
                pair_id=f"w{wave}-gold-file-{row.number:05d}",
                prompt_id=prompt_id,
                a=a,
                b=b,
                kind=PairKind.gold,
                wave=wave,
                slots=slots,
                left_is_a=row.number % 2 == 1,
                stratum=stratum(prompts[prompt_id]),
                expect=tuple(f"{e.rubric or '*'}:{e.low}:{e.high}" for e in expected),
            )
        )
    return pairs
