"""What it costs to write the scores of 2,000 and of 15,561 responses: bytes written and CPU seconds, and their ratio.

Run: python tests/benchmarks/score_log.py.

The scorers cost nothing, so what is left is the score log and its compaction. The limit of the ratio is 8 (there are
7.8 times as many responses). 0.1.0 wrote the table whole for every batch: 47 times the bytes, 38 times the seconds.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.scoring.scores import score_responses, scoring_jobs
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus

SIZES = (2_000, 15_561)


class Judge:
    """Says at once that every answer is good."""

    signature = "judge|model:none"

    def judge(self, items: Any) -> list[Scored]:
        """Return 1 for each item."""
        return [Scored(value=1.0, detail="[Good]") for _ in items]


def written() -> int:
    """Return the bytes that this process has written so far (Linux)."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["wchar"])


def cost(n: int) -> tuple[int, float]:
    """Score n responses in a fresh run folder and return bytes and CPU seconds."""
    scorers = Scorers(judge=Judge(), speech=None, recogniser=None, speaker=None, emotion=None)
    task = "speaking_safety"
    items = [Item(item_id=f"i{i:05d}", task=task) for i in range(n)]
    responses = [
        Response(
            response_id=f"i{i:05d}.0123456789abcdef",
            prompt_id=f"i{i:05d}",
            config_id="m/d/d",
            task=task,
            status=ResponseStatus.ok,
            text="I would rather not.",
        )
        for i in range(n)
    ]
    work = scoring_jobs(responses, items)
    with tempfile.TemporaryDirectory() as folder:
        before, began = written(), time.process_time()
        score_responses(RunDir(Path(folder)), work, scorers)
        return written() - before, time.process_time() - began


def main() -> None:
    """Measure both sizes and print."""
    cost(100)  # imports and caches
    (small, quick), (large, slow) = (cost(n) for n in SIZES)
    for n, (size, seconds) in zip(SIZES, ((small, quick), (large, slow)), strict=True):
        print(f"{n:6d} responses: {size / 1e6:6.2f} MB written, {seconds:6.2f} CPU s")
    print(f"ratio: {large / small:.2f} in bytes, {slow / quick:.2f} in CPU seconds (limit 8)")


if __name__ == "__main__":
    main()
