"""``mos``: mean opinion scores of single responses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vaeval_tasks.analysis.load.entities import Level, default_level
from vaeval_tasks.analysis.load.ratings import pick_rubrics
from vaeval_tasks.analysis.mos.opinions import load_mos, mos_rows, mos_summaries, mos_table
from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.stats import Draws, MosSummary
from vaeval_tasks.verbs.options import FEWEST_DRAWS, MOST_DRAWS, member, names_of, whole
from vaeval_tasks.verbs.source import Columns, Data, Scores, Where, source_of

__all__ = ["OpinionScores", "mos"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OpinionScores(ShownResult):
    """Mean opinion scores by rubric, best first."""

    level: Level
    summaries: tuple[MosSummary, ...]
    pooled: bool
    """Whether ratings were averaged at once; else each sample first."""
    seed: int
    notes: tuple[str, ...] = ()
    """How the ratings were read, where that was found and not told."""

    def tables(self) -> list[Table]:
        """Return the scores as a table."""
        return [mos_table(self.summaries, self.notes)]

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``vaeval mos --json`` prints."""
        averaged = "ratings" if self.pooled else "samples"
        return {
            "rows": mos_rows(self.summaries),
            "by": self.level.value,
            "averaged": averaged,
            "seed": self.seed,
            "notes": list(self.notes),
        }


def mos(
    source: Data,
    *,
    columns: Columns | None = None,
    scores: Scores | None = None,
    scale: str = "",
    bins: int = 0,
    where: Where | None = None,
    encoding: str = "auto",
    format: str = "",
    pattern: str = "",
    key: str | None = None,
    wide: str = "",
    duplicates: str = "error",
    any_rubric: bool = False,
    rubrics_file: str | None = None,
    raters: str | None = None,
    by: Level | str | None = None,
    rubric: str | Iterable[str] | None = None,
    pooled: bool = False,
    seed: int = 0,
    resamples: int = 1000,
) -> OpinionScores:
    """Return the mean opinion score of every entity, with its interval and distribution, as ``vaeval mos`` does.

    Example::

        vaeval.mos(frame, columns={"config": "system", "rater": "listener"}).to_pandas()

    Args:
        source: a frame, an Arrow table, columns, rows, the path of a file, or a run folder, with the columns prompt,
            config, rater, score (1 to 5), and optionally rubric. Messages count its rows from 1, as in a file.
        columns: see :func:`vaeval_tasks.verbs.rank.rank`, as for all that follow.
        scores: likewise.
        scale: likewise.
        bins: likewise.
        where: likewise.
        encoding: likewise.
        format: likewise.
        pattern: likewise.
        key: likewise.
        wide: likewise.
        duplicates: likewise.
        any_rubric: likewise.
        rubrics_file: likewise.
        raters: likewise.
        by: likewise.
        rubric: likewise.
        pooled: average over ratings at once; the default averages each sample first.
        seed: of everything drawn.
        resamples: of the bootstrap, 20 to 1,000,000.

    Raises:
        InputError: a row is wrong (the message names row and column), or an option is.
        UnknownNameError: there is no such option value, rubric or column.
    """
    draws = Draws(replicates=whole("resamples", resamples, FEWEST_DRAWS, MOST_DRAWS), seed=whole("seed", seed, 0))
    wanted = None if by is None else member("by", by, Level)
    rubrics = names_of("rubric", rubric)
    ratings = load_mos(
        source_of(
            source,
            columns=columns,
            scores=scores,
            scale=scale,
            bins=bins,
            where=where,
            encoding=encoding,
            format=format,
            pattern=pattern,
            key=key,
            wide=wide,
            duplicates=duplicates,
            any_rubric=any_rubric,
            rubrics_file=rubrics_file,
            raters=raters,
        )
    )
    level = wanted or default_level(ratings.data.entities, ratings.configs)
    chosen = pick_rubrics(ratings.data.rubrics, rubrics)
    found = mos_summaries(ratings.at(level), chosen, draws, pooled=pooled)
    return OpinionScores(level=level, summaries=found, pooled=bool(pooled), seed=draws.seed, notes=ratings.notes)
