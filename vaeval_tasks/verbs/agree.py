"""``agree``: inter-rater agreement and split-half reliability, and judge models beside people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vaeval_tasks.analysis.agree.agreement import (
    LevelSplitHalf,
    RubricAgreement,
    agreement_rows,
    agreement_table,
    agreements,
    split_half_rows,
    split_half_table,
    split_halves,
)
from vaeval_tasks.analysis.agree.judged import JudgeView, judge_tables, judge_views, load_judged
from vaeval_tasks.analysis.agree.opinion_agreement import opinion_agreements, opinion_split_halves
from vaeval_tasks.analysis.load.entities import Level, default_level
from vaeval_tasks.analysis.load.ratings import load_ratings, pick_rubrics
from vaeval_tasks.analysis.mos.opinions import MosTable, load_mos
from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError, InputError
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.stats import Draws, Metric, Orientation, Weights
from vaeval_tasks.verbs.options import MOST_DRAWS, member, names_of, whole
from vaeval_tasks.verbs.source import Columns, Data, Scores, Where, source_of

__all__ = ["RaterAgreement", "agree"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RaterAgreement(ShownResult):
    """How far raters agree, and how stable the ranking is."""

    rubrics: tuple[RubricAgreement, ...]
    """Krippendorff's alpha, ICC(1) and Gwet's AC2 of every rubric and family."""
    split_half: tuple[LevelSplitHalf, ...]
    """Empty without splits."""
    judges: tuple[JudgeView, ...]
    """Judge models beside people; empty where none rated the run."""
    notes: tuple[str, ...] = ()
    """How the ratings were read, where that was found and not told."""

    def tables(self) -> list[Table]:
        """Return agreement, split halves and judges as tables."""
        halves = [split_half_table(self.split_half)] if self.split_half else []
        return [agreement_table(self.rubrics, self.notes), *halves, *judge_tables(self.judges)]

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``vaeval agree --json`` prints."""
        judges = {table.name: list(table.rows) for table in judge_tables(self.judges)}
        return {
            "rows": agreement_rows(self.rubrics),
            "split_half": split_half_rows(self.split_half),
            **judges,
            "notes": list(self.notes),
        }


def agree(
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
    rubric: str | Iterable[str] | None = None,
    orientation: Orientation | str = Orientation.mirrored,
    metric: Metric | str = Metric.interval,
    weights: Weights | str = Weights.quadratic,
    splits: int = 20_000,
    seed: int = 0,
    progress: bool = True,
) -> RaterAgreement:
    """Return how far raters agree and how stable the ranking is, as ``vaeval agree`` does.

    Where judge models rated the run too (``vaeval judge``), each is set beside people.

    Example::

        found = vaeval.agree("ratings.csv", splits=2000)
        found.to_pandas()                     # alpha, icc, ac2 by rubric
        found.to_pandas("split_half")

    Args:
        source: as of :func:`vaeval_tasks.verbs.rank.rank` or, of opinion scores, :func:`vaeval_tasks.verbs.mos.mos`;
            raters and prompts must be named.
        columns: see there, as for all that follow.
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
        rubric: likewise.
        orientation: which side's sign a score takes: ``mirrored``, ``presented`` or ``by-id``.
        metric: Krippendorff's, by what the scores are: ``interval``, ``ordinal``, ``nominal`` or ``ratio``.
        weights: Gwet's: ``quadratic``, ``linear``, ``ordinal`` or ``identity`` (AC1).
        splits: random halves of the raters, up to 1,000,000; 0: none.
        seed: of the splits.
        progress: show a bar on a terminal or in a notebook.

    Raises:
        InputError: a row is wrong (the message names row and column), or an option is.
        UnknownNameError: there is no such option value, rubric or column.
        EstimationError: the data do not say who rated what.
    """
    sign, weighted = member("orientation", orientation, Orientation), member("weights", weights, Weights)
    distance = member("metric", metric, Metric)
    splits, seed = whole("splits", splits, 0, MOST_DRAWS), whole("seed", seed, 0)
    rubrics = names_of("rubric", rubric)
    read = source_of(
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
    if read.holds_opinions():
        return _of_opinions(load_mos(read), rubrics, distance, weighted, splits, seed, progress)
    if distance is Metric.ratio:
        raise InputError("metric ratio needs scores with a true zero and none below; comparisons have both signs")
    ratings = load_ratings(read)
    if not ratings.has_raters or not ratings.has_prompts:
        raise EstimationError(f"{ratings.path}: agreement needs to know who rated what; the file names no raters")
    chosen = pick_rubrics(ratings.data.rubrics, rubrics)
    found = agreements(ratings, chosen, orientation=sign, metric=distance, weights=weighted)
    level = default_level(ratings.data.entities, ratings.configs)
    levels = _levels(level)
    halves: tuple[LevelSplitHalf, ...] = ()
    if splits:
        with progress_bar(splits * len(levels), "split halves", "split", shown=progress) as bar:
            halves = split_halves(ratings, chosen, levels, splits=splits, seed=seed, progress=bar.update)
    judged = read.run is not None and read.run.has("judge_ratings")
    views = judge_views(ratings, load_judged(read), chosen, level, Draws(seed=seed)) if judged else ()
    return RaterAgreement(rubrics=found, split_half=halves, judges=tuple(views), notes=ratings.notes)


def _levels(level: Level) -> list[Level]:
    """Return what split halves are told of: configurations, and models where the names tell them."""
    return [Level.config, *([level] if level is Level.model else [])]


def _of_opinions(
    table: MosTable, rubrics: tuple[str, ...], metric: Metric, weights: Weights, splits: int, seed: int, progress: bool
) -> RaterAgreement:
    chosen = pick_rubrics(table.data.rubrics, rubrics)
    levels = _levels(default_level(table.data.entities, table.configs))
    halves: tuple[LevelSplitHalf, ...] = ()
    if splits:
        total = splits * len(levels) * len(table.data.rubrics)
        with progress_bar(total, "split halves", "split", shown=progress) as bar:
            halves = opinion_split_halves(table, chosen, levels, splits=splits, seed=seed, progress=bar.update)
    found = opinion_agreements(table, chosen, metric=metric, weights=weights)
    return RaterAgreement(rubrics=found, split_half=halves, judges=(), notes=table.notes)
