"""What the analysing verbs read from: a data frame, rows, a file or a run folder, and how it is to be taken."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from vaeval_tasks.analysis.load.source import Duplicates, Source
from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.sheets import frame_sheet
from vaeval_tasks.verbs.options import member, pairs_of, whole

__all__ = ["RATER_KINDS", "Columns", "Data", "Scores", "Where", "rater_kind", "run_folder", "source_of"]

Data: TypeAlias = Any
"""A pandas or polars frame or another that speaks Arrow; an Arrow table; a mapping of a column's name to its cells; a
list of mappings; the path of a file; a run folder (its path, or a ``RunDir``)."""
Columns: TypeAlias = Mapping[str, str]
"""Our name to theirs: ``{"a": "left", "score": "rating"}``."""
Scores: TypeAlias = Mapping[Any, int | float | str]
"""Words for scores: ``{"a": 1, "b": -1, "same": 0, "skip": "drop"}``."""
Where: TypeAlias = Mapping[str, Any] | Iterable[tuple[str, Any]]
"""Fields and their values: ``{"level": ["L1", "L2"]}``; several values: any of them; several fields: all of them."""

RATER_KINDS = ("human", "simulated", "judge")


def run_folder(run: str | os.PathLike[str] | RunDir) -> RunDir:
    """Return a run folder, given as such or by its path.

    Raises:
        InputError: there is no such folder.
    """
    return run if isinstance(run, RunDir) else RunDir.existing(Path(run))


def rater_kind(value: str | None, known: Sequence[str] = RATER_KINDS) -> str:
    """Return the kind of raters wanted, empty for the only kind there is.

    Raises:
        UnknownNameError: there is no such kind.
    """
    if value is not None and value not in known:
        raise UnknownNameError("kind of rater", str(value), known, where="raters")
    return value or ""


def source_of(
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
    key: str | os.PathLike[str] | None = None,
    wide: str = "",
    duplicates: str = "error",
    any_rubric: bool = False,
    rubrics_file: str | os.PathLike[str] | None = None,
    raters: str | None = None,
) -> Source:
    """Return a source as the analysis takes it.

    Args:
        source: see :data:`Data`.
        columns: see :data:`Columns`.
        scores: see :data:`Scores`.
        scale: of the scores, ``0..100`` or ``1..5:0.5``; ``100..0``: the low end prefers ``a``, or is best.
        bins: comparisons are put on so many levels; 0: on those of their scale.
        where: see :data:`Where`; of a run: category, level, difficulty, condition; of other data: any column.
        encoding: of a text file; found where none is named.
        format: the tool whose export it is; found by the columns where none is named; ``plain``: nobody's.
        pattern: of an export, a regular expression that takes systems and prompts out of the names of its items.
        key: of an export that does not name its systems, a table with the columns item, and a, b or config.
        wide: a regular expression; columns that are called so hold ratings, and its named groups say of what.
        duplicates: ``error``, ``last`` or ``keep``: of a second rating by one rater of the same thing.
        any_rubric: take rubric names that are not of the study's twelve.
        rubrics_file: questions of one's own: YAML, a list of key and optionally label, text, group.
        raters: ``human``, ``simulated`` or ``judge``, where a run holds several kinds; they are never mixed.

    Raises:
        InputError: the data are none of these, or an option is not what it must be.
        UnknownNameError: an option has an unknown value.
    """
    given = None
    if isinstance(source, RunDir):
        path = source.root
    elif isinstance(source, str | os.PathLike):
        path = Path(source)
    else:
        given = frame_sheet(source)
        path = given.path
    wanted = [
        (str(name), str(value))
        for name, values in pairs_of("where", where)
        for value in (values if isinstance(values, list | tuple | set | frozenset) else [values])
    ]
    return Source(
        path=path,
        given=given,
        columns={str(ours): str(theirs) for ours, theirs in pairs_of("columns", columns)},
        words={"" if word is None else str(word).strip(): str(score) for word, score in pairs_of("scores", scores)},
        where=tuple(wanted),
        encoding=str(encoding),
        format=str(format),
        pattern=str(pattern),
        scale=str(scale),
        bins=whole("bins", bins, 0),
        key=None if key is None else Path(key),
        wide=str(wide),
        duplicates=member("duplicates", duplicates, Duplicates),
        any_rubric=bool(any_rubric),
        rubrics_path=None if rubrics_file is None else Path(rubrics_file),
        rater_kind=rater_kind(raters),
    )
