"""Score a run with a judge that kills its own process when it is asked for a batch of that number.

python killed_pass.py RUN BATCH: each question that the judge is asked is a line of RUN/asked.txt, before it answers.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.scoring.scores import score_responses, scoring_jobs
from vaeval_tasks.store.run import RunDir


class Judge:
    """Writes down what it is asked; 0 batches: lives on."""

    signature = "judge"

    def __init__(self, notes: Path, dies_at: int) -> None:
        self.notes, self.dies_at, self.batches = notes, dies_at, 0

    def judge(self, items: list[JudgeItem]) -> list[Scored]:
        self.batches += 1
        if self.batches == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with self.notes.open("a") as file:
            file.writelines(f"{item.question}\n" for item in items)
        return [Scored(value=1.0) for _ in items]


def main(root: Path, dies_at: int) -> Any:
    """Score everything in a run folder."""
    run = RunDir(root)
    judge = Judge(root / "asked.txt", dies_at)
    scorers = Scorers(judge=judge, speech=None, recogniser=None, speaker=None, emotion=None)
    return score_responses(run, scoring_jobs(run.responses(), run.items()), scorers)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
