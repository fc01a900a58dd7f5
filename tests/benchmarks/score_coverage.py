"""How often nominal 95 % intervals of scores hold the truth. Run: python tests/benchmarks/score_coverage.py.

Answers are right with probability p; of right and wrong ones a share is heard; MOS is skewed, the modified WER has many
zeros, and both are worse together. Documents of several items share their difficulty. Prints the share of intervals
that hold the truth, per number of items, for content, speech, consistency and the product, and for the mean of 8 tasks.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vaeval_tasks.scoring.combine import ItemScores, TaskScores, combine, group_scores
from vaeval_tasks.scoring.suite import FAMILIES

SIZES = (5, 10, 20, 50, 100, 500)
NAMES = ("content", "speech", "consistency", "score")
MOS, WER, SIMILARITY = (15.0, 5.0), (0.6, 5.4), (12.0, 8.0)
"""Beta shapes of (MOS - 1) / 4, of a modified WER that is not 0, and of similarity."""
CLEAN = 0.4
"""Share of answers with a modified WER of 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the simulated model and data are like."""

    right: float
    heard: float = 1.0
    judged: float = 1.0
    per_document: int = 1
    task: str = "speaking_safety"

    @property
    def truth(self) -> dict[str, float]:
        """The expected factors and score on scales to 100."""
        speech = self.heard * 20 * (1 + 4 * MOS[0] / sum(MOS))
        consistency = self.heard * 100 * (1 - (1 - CLEAN) * WER[0] / sum(WER))
        weight = self.heard * SIMILARITY[0] / sum(SIMILARITY) if self.task == "speaking_roleplay" else 1.0
        content = 100 * self.right * weight
        return {
            "content": content,
            "speech": speech,
            "consistency": consistency,
            "score": content * speech * consistency / 1e4,
        }

    def items(self, n: int, rng: np.random.Generator) -> list[ItemScores]:
        """Draw the answers to n items."""
        documents = np.arange(n) // self.per_document
        chance = np.full(n, self.right)
        if self.per_document > 1:  # difficulty of documents: a beta with this mean, correlation 0.25 within
            chance = rng.beta(3 * self.right, 3 * (1 - self.right), documents[-1] + 1)[documents]
        right, heard = rng.random(n) < chance, rng.random(n) < self.heard
        judged = rng.random(n) < self.judged
        # one number of how garbled an answer is moves both
        garbled = rng.random(n)
        mos = 1 + 4 * np.where(garbled < 0.5, *(np.sort(rng.beta(*MOS, (2, n)), axis=0)[k] for k in (1, 0)))
        clean = rng.random(n) < np.where(garbled < 0.5, 2 * CLEAN * 0.7, 2 * CLEAN * 0.3)
        wer = np.where(clean, 0.0, rng.beta(*WER, n))
        similarity = rng.beta(*SIMILARITY, n)
        return [
            ItemScores(
                values={
                    "content": float(right[i]) if judged[i] else None,
                    "audible": float(heard[i]),
                    "mos": float(mos[i]) if heard[i] else None,
                    "wer": float(wer[i]) if heard[i] else None,
                    "similarity": float(similarity[i]) if heard[i] else None,
                },
                document=str(documents[i]),
            )
            for i in range(n)
        ]


WORLDS = (
    *(World(right=p, heard=a) for p in (0.05, 0.3, 0.6, 0.95) for a in (1.0, 0.98, 0.9)),
    *(World(right=p, heard=0.98, judged=0.95) for p in (0.3, 0.9)),
    *(World(right=p, heard=0.98, per_document=4) for p in (0.3, 0.8)),
    *(World(right=p, heard=0.98, task="speaking_roleplay") for p in (0.3, 0.8)),
)


def held(found: TaskScores, truth: dict[str, float]) -> Iterator[bool]:
    """Tell for each of :data:`NAMES` whether its interval holds the truth."""
    for name in NAMES:
        estimate = found.unrounded if name == "score" else found.factors[name]
        yield estimate is not None and estimate.low - 1e-9 <= truth[name] <= estimate.high + 1e-9


def task_coverage(world: World, n: int, studies: int, rng: np.random.Generator) -> np.ndarray:
    """Return the shares for :data:`NAMES`."""
    rows = [list(held(combine(world.task, world.items(n, rng)), world.truth)) for _ in range(studies)]
    return np.asarray(rows, dtype=float).mean(axis=0)


def family_coverage(n: int, studies: int, rng: np.random.Generator) -> float:
    """Return the share for the family of 8 tasks, of which each is another model's world."""
    members = FAMILIES["speaking"]
    levels = np.linspace(0.1, 0.95, len(members))
    worlds = {task: World(right=float(p), heard=0.98, task=task) for task, p in zip(members, levels, strict=True)}
    truth = float(np.mean([world.truth["score"] for world in worlds.values()]))
    hits = 0
    for _ in range(studies):
        group = group_scores({task: combine(task, world.items(n, rng)) for task, world in worlds.items()})["speaking"]
        hits += group.low is not None and group.high is not None and group.low <= truth <= group.high
    return hits / studies


def main() -> None:
    """Simulate, count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    args = parser.parse_args()
    print(f"{args.studies} studies a cell (error {100 * math.sqrt(0.05 * 0.95 / args.studies):.1f} %); nominal 95 %")
    print(f"{'':44}n " + " ".join(f"{name:>11}" for name in NAMES) + "   family")
    for n in SIZES:
        rows = []
        for number, world in enumerate(WORLDS):
            rows.append(task_coverage(world, n, args.studies, np.random.default_rng([n, number])))
            about = f"p {world.right:g} heard {world.heard:g} judged {world.judged:g} documents of {world.per_document}"
            role = " role" if world.task == "speaking_roleplay" else ""
            print(f"{about + role:42}{n:4}" + "".join(f"{100 * x:11.1f} " for x in rows[-1]))
            sys.stdout.flush()
        family = family_coverage(n, args.studies // 4, np.random.default_rng([n, 99]))
        print(
            f"{'all of them':42}{n:4}"
            + "".join(f"{100 * x:11.1f} " for x in np.mean(rows, axis=0))
            + f"{100 * family:8.1f}"
        )


if __name__ == "__main__":
    main()
