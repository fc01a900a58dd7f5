"""Load comparative ratings: checked, canonical (``a < b``), as integer codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.load.entities import Level, entity_names
from vaeval_tasks.analysis.load.fields import Names, constant, counts, flags, scores
from vaeval_tasks.analysis.load.scale import COMPARED, binned
from vaeval_tasks.analysis.load.source import Duplicates, Source
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.rubrics import STUDY, Questions
from vaeval_tasks.stats.comparisons import Comparisons, comparisons
from vaeval_tasks.store.schema import ModelConfig, Prompt, Rater
from vaeval_tasks.store.sheets import Sheet

__all__ = ["COLUMNS", "Ratings", "load_ratings", "pick_rubrics", "restrict", "unique_rows"]

COLUMNS = ("prompt", "a", "b", "rater", "rubric", "score", "count", "left_is_a")
"""What a plain file may hold. ``rubric``, ``count`` and ``left_is_a`` may be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """Comparative ratings of configurations, one a row, positive where ``a`` is preferred."""

    path: Path
    data: Comparisons
    """Entities are configurations, sorted by name; every row has ``a < b``."""
    prompts: tuple[str, ...]
    """Names of the prompt codes of ``data``."""
    raters: tuple[str, ...]
    """Names of the rater codes of ``data``."""
    configs: dict[str, ModelConfig] = field(default_factory=dict)
    prompt_info: dict[str, Prompt] = field(default_factory=dict)
    rater_info: dict[str, Rater] = field(default_factory=dict)
    side_note: str = ""
    """Why the side effect cannot be looked at, empty if it can."""
    rows_read: int = 0
    rows_kept: int = 0
    """Rows of the source, and those of them that were taken as ratings; 0 where none was read."""
    notes: tuple[str, ...] = ()
    """How the source was read, where that was found and not told."""
    questions: Questions = STUDY
    """What the rubrics are called, and their groups."""

    @property
    def has_raters(self) -> bool:
        """False for a table of counts that does not name them."""
        return self.data.raters_named

    @property
    def has_prompts(self) -> bool:
        """False for a table of counts that does not name them."""
        return self.data.prompts_named

    def at(self, level: Level) -> Comparisons:
        """Return the comparisons with configurations pooled to models, voices or thinking levels."""
        names = entity_names(self.data.entities, self.configs, level, self.path)
        return self.data.relabel(names)

    def subset(self, keep: NDArray[np.bool_]) -> Ratings:
        """Return the rows where ``keep`` is true, without the configurations that are left without a row."""
        return replace(
            self,
            data=self.data.subset(keep).used(),
            prompts=tuple(self.prompts[i] for i in np.unique(self.data.prompt[keep])),
            raters=tuple(self.raters[i] for i in np.unique(self.data.rater[keep])),
        )


def _orientation(source: Source, sheet: Sheet, canonical: bool) -> tuple[NDArray[np.int64], str]:
    """Return +1 where ``a`` of the file was shown first, and why that is not known if it is not."""
    if source.has(sheet, "left_is_a"):
        column = source.column(sheet, "left_is_a")
        if column.values == (None,):
            return np.zeros(sheet.rows, dtype=np.int64), "the file does not keep the side"
        return np.where(flags(column, sheet.path), 1, -1), ""
    if canonical:
        return np.zeros(sheet.rows, dtype=np.int64), "every row has a < b: the file does not keep the order shown"
    return np.ones(sheet.rows, dtype=np.int64), ""


def unique_rows(
    keep: NDArray[np.int64], columns: list[Names], rule: Duplicates, sheet: Sheet, what: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Apply the rule for a second rating of one thing to the kept row numbers, and say what it did.

    Args:
        keep: row numbers, from 0.
        columns: what makes two ratings the same one.
        rule: what to do then.
        sheet: the file, for messages.
        what: the columns in words.

    Raises:
        InputError: there is a second one and the rule is ``error``.
    """
    key = np.zeros(len(keep), dtype=np.int64)
    for column in columns:
        key = key * max(len(column.names), 1) + column.codes[keep]
    order = np.argsort(key, kind="stable")
    again = key[order][1:] == key[order][:-1]
    n = int(again.sum())
    if rule is Duplicates.error and n:
        second = int(order[1:][again].min())
        first = int(np.argmax(key == key[second]))
        said = (
            f"the same {what} as row {keep[first] + 1} ({n} of {len(keep)} rows repeat another); "
            "--duplicates last takes the last of them, --duplicates keep takes all"
        )
        raise InputError(said, path=sheet.path, row=int(keep[second]) + 1)
    repeats = f"{n} of {len(keep)} ratings repeat the {what} of another"
    if rule is Duplicates.keep:
        return keep, (f"{repeats}: all are kept",) if n else ()
    return np.sort(keep[order[np.append(~again, True)]]), (f"{repeats}: the last is taken",) if n else ()


def _sides(source: Source, sheet: Sheet, entering: NDArray[np.bool_]) -> tuple[Names, Names]:
    """Return the columns a and b coded over the same sorted names.

    A run's traps play one clip twice; they are not among the rows that enter.

    Raises:
        InputError: a row that enters compares a configuration with itself.
    """
    first, second = source.identifiers(sheet, "a"), source.identifiers(sheet, "b")
    names = tuple(sorted(set(first.names) | set(second.names)))
    coded = [
        Names(names=names, codes=np.array([names.index(n) for n in side.names])[side.codes]) for side in (first, second)
    ]
    same = (coded[0].codes == coded[1].codes) & entering
    if same.any():
        row = int(np.argmax(same))
        said = f"a and b are both {names[coded[0].codes[row]]!r}; a pair has two different ones"
        raise InputError(said, path=sheet.path, row=row + 1, field=source.name(sheet, "b"))
    return coded[0], coded[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """The two configurations of every row in canonical order."""

    low: Names
    high: Names
    sign: NDArray[np.int64]
    """-1 where the file names the larger one first, so that its score turns round."""
    side: NDArray[np.int64]
    """+1 where the file's ``a`` was shown first, -1 where ``b`` was, 0 where that is not known."""
    side_note: str


def _pairs(source: Source, sheet: Sheet, entering: NDArray[np.bool_]) -> _Pairs:
    a, b = _sides(source, sheet, entering)
    swap = a.codes > b.codes
    side, side_note = _orientation(source, sheet, canonical=not swap.any())
    return _Pairs(
        low=Names(names=a.names, codes=np.minimum(a.codes, b.codes)),
        high=Names(names=a.names, codes=np.maximum(a.codes, b.codes)),
        sign=np.where(swap, -1, 1),
        side=side,
        side_note=side_note,
    )


def load_ratings(source: Source, table: str = "ratings") -> Ratings:
    """Read, check and canonicalise the ratings of a run folder or a plain file.

    A file with a ``count`` column is a table of counts and may leave out ``rater`` and ``prompt``.

    Args:
        source: where from.
        table: of a run folder: people's ratings, or ``judge_ratings``.

    Raises:
        InputError: see the module; the message names file, row and column.
        UnknownNameError: an unknown rubric, or a renaming or filter of an unknown column.
    """
    source.check_columns(COLUMNS)
    source, sheet = source.opened(table)
    counted = source.has(sheet, "count")
    known = {ours: source.has(sheet, ours) or not counted for ours in ("prompt", "rater")}
    prompt, rater = (
        source.identifiers(sheet, x) if known[x] else constant("all", sheet.rows) for x in ("prompt", "rater")
    )
    scored = scores(source.column(sheet, "score"), sheet.path, COMPARED, source.declared, source.words)
    rubric = source.rubrics(sheet)
    weight = counts(source.column(sheet, "count"), sheet.path) if counted else np.ones(sheet.rows)
    entering = source.kept(sheet, prompt if known["prompt"] else None, rater if known["rater"] else None)
    pair = _pairs(source, sheet, entering)
    rows = np.flatnonzero(entering & ~np.isnan(scored.scores) & (weight > 0))
    if len(rows) == 0:
        raise InputError("no rating is left", path=sheet.path)
    repeated: tuple[str, ...] = ()
    if not counted:
        columns = [rater, prompt, pair.low, pair.high, rubric]
        rows, repeated = unique_rows(rows, columns, source.duplicates, sheet, "rater, pair and rubric")
    present = np.unique(rubric.codes[rows])
    code, reach = binned(scored.scale.codes(scored.scores[rows]), scored.scale.reach, source.bins)
    data = comparisons(
        entities=pair.low.names,
        rubrics=rubric.present(rows),
        rubric=np.searchsorted(present, rubric.codes[rows]),
        a=pair.low.codes[rows],
        b=pair.high.codes[rows],
        rater=rater.codes[rows] if known["rater"] else None,
        prompt=prompt.codes[rows] if known["prompt"] else None,
        score=pair.sign[rows] * code,
        weight=weight[rows],
        side=(pair.sign * pair.side)[rows],
        scale=reach,
    )
    return Ratings(
        path=source.path,
        data=data.used(),
        prompts=prompt.present(rows),
        raters=rater.present(rows),
        configs=source.configs,
        prompt_info=source.prompts,
        rater_info=source.raters,
        side_note=pair.side_note,
        rows_read=sheet.rows,
        rows_kept=len(rows),
        notes=(*sheet.notes, *scored.notes, *repeated),
        questions=source.questions,
    )


def pick_rubrics(names: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the wanted rubrics of those there are; all of them if none is named.

    Raises:
        UnknownNameError: a wanted one is not among the ratings.
    """
    for name in wanted:
        if name not in names:
            raise UnknownNameError("rubric", name, names, where="--rubric")
    return tuple(name for name in names if not wanted or name in wanted)


def restrict(data: Comparisons, rubrics: Sequence[str]) -> Comparisons:
    """Return the rows of some rubrics, in that order, without the entities that are left without a row.

    Raises:
        UnknownNameError: there is no such rubric.
    """
    table = np.full(len(data.rubrics), -1)
    for i, name in enumerate(rubrics):
        table[data.rubric_code(name)] = i
    kept = data.subset(table[data.rubric] >= 0)
    return replace(kept, rubrics=tuple(rubrics), rubric=table[kept.rubric]).used()
