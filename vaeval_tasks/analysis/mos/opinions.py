"""Mean opinion scores of single responses: loading, and every entity's summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vaeval_tasks.analysis.load.entities import Level, entity_names
from vaeval_tasks.analysis.load.fields import scores
from vaeval_tasks.analysis.load.ratings import unique_rows
from vaeval_tasks.analysis.load.scale import RATED
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import InputError
from vaeval_tasks.rubrics import STUDY, Questions
from vaeval_tasks.stats import Draws, MosRatings, MosSummary, mos, mos_ratings
from vaeval_tasks.store.schema import ModelConfig, Prompt

__all__ = ["MOS_COLUMNS", "MosTable", "load_mos", "mos_rows", "mos_summaries", "mos_table"]

MOS_COLUMNS = ("prompt", "config", "rater", "rubric", "score")
"""What a plain file of MOS ratings holds. ``rubric`` may be left out."""
_MOST_SHARES = 11
"""The share of every level is told where there are no more of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MosTable:
    """Ratings of single responses."""

    path: Path
    data: MosRatings
    """Entities are configurations, sorted by name."""
    prompts: tuple[str, ...]
    raters: tuple[str, ...]
    configs: dict[str, ModelConfig]
    prompt_info: dict[str, Prompt]
    rows_read: int
    rows_kept: int
    """Rows of the source, and those of them that were taken as ratings."""
    notes: tuple[str, ...] = ()
    """How the source was read, where that was found and not told."""
    questions: Questions = STUDY
    """What the rubrics are called, and their groups."""

    def at(self, level: Level) -> MosRatings:
        """Return the ratings with configurations pooled to models, voices or thinking levels."""
        return self.data.relabel(entity_names(self.data.entities, self.configs, level, self.path))


def load_mos(source: Source) -> MosTable:
    """Read and check the MOS ratings of a run folder or a plain file.

    Raises:
        InputError: the message names file, row and column.
        UnknownNameError: an unknown rubric, or a renaming or filter of an unknown column.
    """
    source.check_columns(MOS_COLUMNS)
    source, sheet = source.opened("mos")
    prompt, config, rater = (source.identifiers(sheet, name) for name in ("prompt", "config", "rater"))
    scored = scores(source.column(sheet, "score"), sheet.path, RATED, source.declared, source.words)
    score = scored.scale.low + scored.scale.high - scored.scores if scored.scale.turned else scored.scores
    rubric = source.rubrics(sheet)
    rows = np.flatnonzero(source.kept(sheet, prompt, rater) & ~np.isnan(score))
    if len(rows) == 0:
        raise InputError("no rating is left", path=sheet.path)
    columns = [rater, prompt, config, rubric]
    rows, repeated = unique_rows(rows, columns, source.duplicates, sheet, "rater, response and rubric")
    entities = tuple(sorted(config.present(rows)))
    to_entity = np.array([entities.index(n) if n in entities else -1 for n in config.names])
    present = np.unique(rubric.codes[rows])
    return MosTable(
        path=source.path,
        data=mos_ratings(
            entities=entities,
            entity=to_entity[config.codes[rows]],
            score=score[rows],
            rater=rater.codes[rows],
            prompt=prompt.codes[rows],
            rubrics=rubric.present(rows),
            rubric=np.searchsorted(present, rubric.codes[rows]),
            levels=scored.scale.levels,
        ),
        prompts=prompt.present(rows),
        raters=rater.present(rows),
        configs=source.configs,
        prompt_info=source.prompts,
        rows_read=sheet.rows,
        rows_kept=len(rows),
        notes=(*sheet.notes, *scored.notes, *repeated),
        questions=source.questions,
    )


def _row(found: MosSummary) -> dict[str, Any]:
    levels = found.levels if len(found.levels) <= _MOST_SHARES else ()
    shares = found.distribution or (None,) * len(levels)
    return {
        "rubric": found.rubric,
        "entity": found.entity,
        "mos": found.mean,
        "low": found.interval.low,
        "high": found.interval.high,
        "n_ratings": int(found.coverage.n_ratings),
        "n_raters": found.coverage.n_raters,
        "n_prompts": found.coverage.n_prompts,
        "n_samples": found.n_samples,
        **{f"share_{level:g}": share for level, share in zip(levels, shares, strict=False)},
        "reason": found.reason or found.interval.reason,
    }


def mos_summaries(
    data: MosRatings, rubrics: Sequence[str], draws: Draws, *, pooled: bool = False
) -> tuple[MosSummary, ...]:
    """Return every entity's MOS, interval and distribution per rubric, best first.

    Args:
        data: the ratings, pooled to the entities wanted.
        rubrics: which rubrics.
        draws: the bootstrap plan.
        pooled: average over ratings at once instead of over the samples.
    """
    keep = np.isin(data.rubric, [data.rubrics.index(r) for r in rubrics])
    found = mos(data.subset(keep), draws, pooled=pooled)
    by_rubric = [[s for s in found if s.rubric == rubric] for rubric in rubrics]
    return tuple(s for group in by_rubric for s in sorted(group, key=lambda s: (-(s.mean or 0), s.entity)))


def mos_rows(found: Sequence[MosSummary]) -> list[dict[str, Any]]:
    """Return the summaries as plain values."""
    return [_row(summary) for summary in found]


def _ends(found: Sequence[MosSummary]) -> str:
    levels = found[0].levels if found else RATED.levels
    return "1 (bad) to 5 (excellent)" if levels == RATED.levels else f"{levels[0]:g} to {levels[-1]:g}"


def mos_table(found: Sequence[MosSummary], notes: tuple[str, ...] = ()) -> Table:
    """Return the summaries as a table, with what is to be said of the ratings below it."""
    rows = mos_rows(found)
    return Table(
        name="mos",
        title=f"Mean opinion score, {_ends(found)}, 95 % intervals",
        columns=tuple(rows[0]) if rows else ("rubric", "entity", "mos"),
        rows=tuple(rows),
        digits={"mos": 2, "low": 2, "high": 2, "n_ratings": 0},
        notes=notes,
    )
