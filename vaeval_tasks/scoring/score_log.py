"""The scores of a run folder: appended to ``scores.jsonl`` as they are made, compacted into ``scores.parquet``."""

from __future__ import annotations

from collections.abc import Iterable

from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Score

__all__ = ["ScoreLog"]


class ScoreLog:
    """The scores of a run by (response, metric, signature). One process at a time writes them.

    Args:
        run: the run folder; one of 0.1.0, which has the table only, is read as well.
    """

    def __init__(self, run: RunDir) -> None:
        self.run = run
        self._scores = {(s.response_id, s.metric, s.signature): s for s in run.scores()}
        self._fresh: list[Score] = []

    def get(self, response_id: str, metric: str, signature: str) -> Score | None:
        """Return a score, None where there is none."""
        return self._scores.get((response_id, metric, signature))

    def add(self, scores: Iterable[Score]) -> None:
        """Take scores, in the place of earlier ones; :meth:`flush` keeps them."""
        for score in scores:
            self._scores[score.response_id, score.metric, score.signature] = score
            self._fresh.append(score)

    def flush(self) -> None:
        """Append what was added to the log, durably."""
        if self._fresh:
            self.run.append("scores", *self._fresh)
            self._fresh.clear()

    def compact(self) -> None:
        """Write the table from the log, where that holds something new."""
        self.flush()
        rows = [self._scores[key] for key in sorted(self._scores)]
        if rows and (not self.run.has("scores") or self.run.read("scores") != rows):
            self.run.write("scores", rows, made_by="vaeval score", inputs=["responses"])
