"""Which of several tasks suits a rater best: a pure function of what the rater has heard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vaeval_tasks.store.schema import PairKind

__all__ = ["Heard", "History", "Offer", "ranked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One task the rater has now or has done, in the order taken."""

    task_id: str
    prompt_id: str
    a: str
    b: str | None
    kind: PairKind
    left_is_a: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One task that could be given, and the side it would be shown on."""

    task_id: str
    prompt_id: str
    a: str
    b: str | None
    left_is_a: bool


@dataclass(frozen=True, slots=True)
class History:
    """What one rater has heard, oldest first."""

    heard: tuple[Heard, ...] = ()

    def since_check(self) -> int:
        """Return how many tasks were taken since the last trap or gold task; training does not count."""
        counted = [h for h in self.heard if h.kind is not PairKind.train]
        for n, task in enumerate(reversed(counted)):
            if task.kind in (PairKind.trap, PairKind.gold):
                return n
        return len(counted)

    def repeatable(self, gap: int) -> dict[tuple[str, str, str | None], Heard]:
        """Return the main tasks taken at least ``gap`` tasks ago, by (prompt, a, b)."""
        old = self.heard[: max(0, len(self.heard) - gap)]
        return {(h.prompt_id, h.a, h.b): h for h in old if h.kind is PairKind.main}

    def count(self) -> int:
        """Return how many tasks count towards the rater's quota: all but training."""
        return sum(h.kind is not PairKind.train for h in self.heard)


def ranked(offers: Sequence[Offer], history: History) -> list[Offer]:
    """Return the offers, the best for this rater first.

    The costs, in order of weight: the prompt was heard before; how often the rater has met the two
    configurations; how unevenly they have been on the rater's left. Equal costs keep their order.
    Source: ``collect.md`` 5.2, where the same greedy rule gave no repeated prompt in 16,380 tasks.
    """
    prompts = {h.prompt_id for h in history.heard}
    met = Counter(c for h in history.heard for c in _configs(h))
    left = Counter(_left(h) for h in history.heard)

    def cost(offer: Offer) -> tuple[int, float]:
        side = sum(
            (2 * left[c] - met[c]) * (1 if c == _left(offer) else -1) for c in _configs(offer) if offer.b is not None
        )
        return (offer.prompt_id in prompts, sum(met[c] for c in _configs(offer)) + 0.25 * side)

    return sorted(offers, key=cost)


def _configs(task: Heard | Offer) -> Iterable[str]:
    return (task.a,) if task.b is None else (task.a, task.b)


def _left(task: Heard | Offer) -> str | None:
    return task.a if task.left_is_a else task.b
