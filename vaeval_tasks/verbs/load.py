"""``load``: a look at ratings before they are ranked: what was found, checked as ``rank`` and ``mos`` check it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from vaeval_tasks.analysis.load.entities import Level, default_level
from vaeval_tasks.analysis.load.ratings import Ratings, load_ratings
from vaeval_tasks.analysis.mos.opinions import MosTable, load_mos
from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.stats import Comparisons
from vaeval_tasks.verbs.options import member
from vaeval_tasks.verbs.source import Columns, Data, Scores, Where, source_of

__all__ = ["LoadedData", "RatingKind", "RubricCount", "load"]


class RatingKind(StrEnum):
    """What people were asked."""

    ratings = "ratings"
    """Which of two responses, and by how much: -3 to 3."""
    mos = "mos"
    """How good one response is: 1 to 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricCount:
    """What there is of one rubric."""

    rubric: str
    n_entities: int
    n_ratings: int | float
    n_raters: int | None
    """None where the data do not name them."""
    n_prompts: int | None
    mean: float
    """The mean score; of comparisons, which have no better side, the mean distance from 0."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LoadedData(ShownResult):
    """Ratings that passed every check."""

    path: Path
    kind: RatingKind
    entities: tuple[str, ...]
    """The configurations, sorted by name."""
    level: Level
    """What is ranked unless ``by`` says otherwise."""
    rubrics: tuple[RubricCount, ...]
    notes: tuple[str, ...]
    """What the data do not tell, and what was left out."""
    found: Ratings | MosTable
    """The ratings themselves, as integer codes."""

    def tables(self) -> list[Table]:
        """Return what there is by rubric."""
        what = "comparisons" if self.kind is RatingKind.ratings else "opinion scores"
        title = f"{self.path}: {what} of {len(self.entities)} configurations"
        columns = tuple(RubricCount.__dataclass_fields__)
        rows = tuple(self._rows())
        shown = ", ".join(self.entities[:8]) + (", …" if len(self.entities) > 8 else "")
        notes = (shown, *self.notes)
        return [Table(name="found", title=title, columns=columns, rows=rows, digits={"mean": 2}, notes=notes)]

    def to_json(self) -> dict[str, Any]:
        """Return everything but the ratings themselves as plain values."""
        return {
            "rows": self._rows(),
            "kind": self.kind.value,
            "by": self.level.value,
            "entities": list(self.entities),
            "notes": list(self.notes),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [{name: getattr(one, name) for name in RubricCount.__dataclass_fields__} for one in self.rubrics]


def load(
    source: Data,
    *,
    kind: RatingKind | str | None = None,
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
) -> LoadedData:
    """Read and check ratings, and say what was found.

    Example::

        vaeval.load(frame, columns={"score": "rating"})     # shows counts by rubric, and what the data do not tell

    Args:
        source: as of :func:`vaeval_tasks.verbs.rank.rank`.
        kind: ``ratings`` (comparisons) or ``mos``; by default comparisons where there are any.
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

    Raises:
        InputError: a row is wrong (the message names row and column), or an option is.
        UnknownNameError: there is no such option value, rubric or column.
    """
    wanted = None if kind is None else member("kind", kind, RatingKind)
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
    opinions = read.holds_opinions() if wanted is None else wanted is RatingKind.mos
    return _loaded(load_mos(read) if opinions else load_ratings(read))


def _loaded(found: Ratings | MosTable) -> LoadedData:
    raters, prompts = True, True
    notes = list(found.notes)
    if isinstance(found, Ratings):
        raters, prompts = found.has_raters, found.has_prompts
        if missing := [what for what, named in (("raters", raters), ("prompts", prompts)) if not named]:
            told = " and ".join(missing)
            notes.append(f"{told} are not named: intervals cannot be clustered by them, agreement cannot be told")
        if found.side_note:
            notes.append(found.side_note)
    if left_out := found.rows_read - found.rows_kept:
        notes.append(f"{left_out} of {found.rows_read} rows are left out, as the options or the quality rules say")
    return LoadedData(
        path=found.path,
        kind=RatingKind.ratings if isinstance(found, Ratings) else RatingKind.mos,
        entities=found.data.entities,
        level=default_level(found.data.entities, found.configs),
        rubrics=tuple(_count(found, code, raters=raters, prompts=prompts) for code in range(len(found.data.rubrics))),
        notes=tuple(notes),
        found=found,
    )


def _count(found: Ratings | MosTable, code: int, *, raters: bool, prompts: bool) -> RubricCount:
    data = found.data
    rows = data.rubric == code
    score = np.asarray(data.score)[rows]
    if isinstance(data, Comparisons):  # whose sign tells the side only
        weight, entities, score = data.weight[rows], np.append(data.a[rows], data.b[rows]), np.abs(score)
    else:
        weight, entities = np.ones(len(score)), data.entity[rows]
    n = float(weight.sum())
    return RubricCount(
        rubric=data.rubrics[code],
        n_entities=len(np.unique(entities)),
        n_ratings=int(n) if n.is_integer() else n,
        n_raters=len(np.unique(data.rater[rows])) if raters else None,
        n_prompts=len(np.unique(data.prompt[rows])) if prompts else None,
        mean=float((score * weight).sum() / n),
    )
