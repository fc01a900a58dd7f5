"""Where an analysis reads from: a run folder or a plain file, and how its columns are to be taken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.load.column_names import likely_column
from vaeval_tasks.analysis.load.fields import Names, constant, flags, identifiers, rubric_names
from vaeval_tasks.analysis.load.scale import Scale, parse_scale
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.rubrics import STUDY, Questions
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Condition, ModelConfig, PairKind, Prompt, Rater, RaterKind
from vaeval_tasks.store.sheets import Column, Sheet, read_sheet
from vaeval_tasks.store.tables import from_row

if TYPE_CHECKING:
    from vaeval_tasks.analysis.load.exports import Export, Hints

__all__ = ["DEGRADED", "PLAIN", "Duplicates", "Source", "configs_of", "prompt_level"]

DEGRADED = "Degraded"
PLAIN = "plain"
"""The format of a file in our own columns."""
_ALIASES = {"prompt": "prompt_id", "rater": "rater_id", "config": "config_id"}


class Duplicates(StrEnum):
    """What to do with a second rating by one rater of one pair and rubric."""

    error = "error"
    last = "last"
    keep = "keep"


def _expression(option: str, text: str) -> re.Pattern[str]:
    """Return a regular expression.

    Raises:
        InputError: it is none.
    """
    try:
        return re.compile(text)
    except re.error as error:
        raise InputError(f"{option} is no regular expression ({error}): {text}") from None


def _key(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a key tells of every item.

    Raises:
        InputError: it cannot be read, or has no column item.
    """
    sheet = read_sheet(path, "auto")
    if "item" not in sheet.names:
        raise InputError(f"a key has a column item; there are {', '.join(sheet.names)}", path=path, field="item")
    return {row.text("item"): dict(row.cells) for row in sheet.records(sheet.names, required=("item",))}


def prompt_level(prompt: Prompt) -> str:
    """Return the row of Table 1 a prompt counts in: its difficulty, or ``Degraded``."""
    return prompt.difficulty if prompt.condition is Condition.clean and prompt.difficulty else DEGRADED


def configs_of(run: RunDir) -> dict[str, ModelConfig]:
    """Return the configurations of a run by id, from ``configs.yaml``; none where there is no such file.

    Names are all that an analysis needs, so what a provider takes on the wire is not looked at.

    Raises:
        InputError: the file is not as it must be.
    """
    path = run.root / "configs.yaml"
    if not path.is_file():
        return {}
    import yaml  # here: a plain file needs none

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise InputError(f"cannot be read as YAML ({' '.join(str(error).split())})", path=path) from None
    rows = content.get("configurations") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("must hold a list of configurations", path=path, field="configurations")
    names = set(ModelConfig.__dataclass_fields__)
    found = [
        from_row(ModelConfig, {k: v for k, v in row.items() if k in names}, path=path, number=i)
        for i, row in enumerate(rows, 1)
    ]
    return {c.config_id: c for c in found}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A run folder, a plain file or rows that were handed over, and how to read them."""

    path: Path
    given: Sheet | None = None
    """Rows that a program handed over in the place of a file; ``path`` is then what messages call them."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Our name to the file's name: ``{"a": "left"}``."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Score words to scores, or to ``drop``."""
    where: tuple[tuple[str, str], ...] = ()
    """(field, value): values of one field are alternatives, fields must all hold."""
    encoding: str = "auto"
    format: str = ""
    """The tool whose export it is; empty: found by the columns; ``plain``: nobody's."""
    pattern: str = ""
    """Takes parts out of an item's name, see ``exports``."""
    key: Path | None = None
    """A table of what an export does not tell of its items."""
    wide: str = ""
    """Headers that match it hold ratings, see ``wide``; empty: a row is a rating."""
    scale: str = ""
    """Of the scores, as ``--scale`` takes it; empty: found."""
    bins: int = 0
    """Comparisons are put on so many levels; 0: on those of their scale."""
    duplicates: Duplicates = Duplicates.error
    any_rubric: bool = False
    rubrics_path: Path | None = None
    """A table of questions of one's own."""
    rater_kind: str = ""
    """``human``, ``simulated`` or ``judge``; empty: the only kind there is."""

    @cached_property
    def questions(self) -> Questions:
        """The questions that the ratings may be of: one's own where they are named, else the study's twelve."""
        if self.rubrics_path is None:
            return STUDY
        from vaeval_tasks.analysis.load.own_questions import read_questions  # here: few bring their own

        return read_questions(self.rubrics_path)

    @cached_property
    def declared(self) -> Scale | None:
        """The scale of the scores as it was named; of a run the usual one."""
        return parse_scale(self.scale) if self.scale else None

    @cached_property
    def run(self) -> RunDir | None:
        """The run folder, or None for a plain file."""
        return RunDir.existing(self.path) if self.given is None and self.path.is_dir() else None

    def sheet(self, table: str) -> Sheet:
        """Read the plain file, or a table of the run.

        Raises:
            InputError: it is missing or cannot be read.
        """
        if self.given is not None:
            return self._long(self.given)
        if self.run is None:
            return self._file
        if not self.run.has(table):
            raise InputError(f"the run has no {table}; it has no file {table}.parquet", path=self.path)
        return read_sheet(self.run.path(table))

    @cached_property
    def _file(self) -> Sheet:
        """The plain file, read once: standard input cannot be read again."""
        return self._long(read_sheet(self.path, self.encoding))

    def _long(self, sheet: Sheet) -> Sheet:
        """Return a wide file with a row for every rating; another as it is."""
        if not self.wide:
            return sheet
        from vaeval_tasks.analysis.load.wide import long_rows  # here: few files are wide

        return long_rows(sheet, _expression("--wide", self.wide))

    def holds_opinions(self) -> bool:
        """Whether the source holds opinion scores of single responses and no comparisons.

        Raises:
            InputError: it is missing or cannot be read.
        """
        if self.run is not None:
            return self.run.has("mos") and not self.run.has("ratings")
        sheet = self.sheet("ratings")
        export = self._export(sheet, opinions=False)
        if export is not None and export.opinions is not None:
            return export.opinions
        return self.has(sheet, "config") and not (self.has(sheet, "a") or self.has(sheet, "b"))

    def opened(self, table: str) -> tuple[Source, Sheet]:
        """Read the plain file, or a table of the run, and an export of another tool in our terms.

        Returns:
            How what was read is to be taken, and the rows. What was found and not told is in the sheet's notes.

        Raises:
            InputError: it is missing or cannot be read.
            UnknownNameError: there is no such format.
        """
        sheet = self.sheet(table)
        if self.run is not None or table not in ("ratings", "mos"):
            return self, sheet
        export = self._export(sheet, opinions=table == "mos")
        if export is None:
            return self, sheet
        if export.opinions is not None and export.opinions != (table == "mos"):
            what = (
                "opinion scores of single responses; use vaeval mos"
                if export.opinions
                else "comparisons; use vaeval rank"
            )
            raise InputError(f"an export of {export.label} holds {what}", path=sheet.path)
        try:
            reading = export.read(sheet, self._hints(opinions=table == "mos"))
        except (AttributeError, IndexError, KeyError, TypeError):  # nested otherwise than the tool nests it
            said = f"is not as {export.label} writes its exports; --format plain reads it as it stands"
            raise InputError(said, path=sheet.path) from None
        found = replace(
            self,
            columns={**reading.columns, **self.columns},
            words={**reading.words, **self.words},
            scale=self.scale or reading.scale,
            any_rubric=self.any_rubric or self.rubrics_path is None,
        )
        said = "; ".join((f"read as an export of {export.label}", *reading.notes))
        return found, Sheet(reading.sheet.path, reading.sheet.table, (*reading.sheet.notes, said))

    def _export(self, sheet: Sheet, *, opinions: bool) -> Export | None:
        """Return the export that a file is, as named or found; None for a file in our own terms."""
        from vaeval_tasks.analysis.load import exports  # here: a run and our own columns need none

        if self.format and self.format != PLAIN:
            return exports.named_export(self.format)
        ours = ("config",) if opinions else ("a", "b")
        if self.format == PLAIN or self.columns or self.wide or all(self.has(sheet, name) for name in (*ours, "score")):
            return None
        return exports.found_export(sheet)

    def _hints(self, *, opinions: bool) -> Hints:
        from vaeval_tasks.analysis.load.exports import Hints

        pattern = _expression("--pattern", self.pattern) if self.pattern else None
        return Hints(opinions=opinions, pattern=pattern, key=_key(self.key) if self.key else {})

    def name(self, sheet: Sheet, ours: str) -> str:
        """Return what the file calls a column: as renamed, as is, or as in our own tables."""
        if ours in self.columns:
            return self.columns[ours]
        return _ALIASES[ours] if ours not in sheet.names and _ALIASES.get(ours) in sheet.names else ours

    def has(self, sheet: Sheet, ours: str) -> bool:
        """Whether the file has a column of ours."""
        return self.name(sheet, ours) in sheet.names

    def column(self, sheet: Sheet, ours: str) -> Column:
        """Return a column of ours.

        Raises:
            InputError: it is missing; the message says what is there, what may be meant, and the option that maps it.
        """
        theirs = self.name(sheet, ours)
        if theirs in sheet.names:
            return sheet.column(theirs)
        likely = likely_column(theirs if ours in self.columns else ours, sheet.names)
        told = f"--columns {ours}={likely}" if likely else f"--columns {ours}=NAME"
        said = f"the column is missing; there are {', '.join(sheet.names)}; name it with {told}"
        raise InputError(said, path=sheet.path, field=theirs)

    def check_columns(self, known: tuple[str, ...]) -> None:
        """Refuse a renaming of a column we do not have.

        Raises:
            UnknownNameError: ``--columns`` names one that is not known.
        """
        for ours in self.columns:
            if ours not in known:
                raise UnknownNameError("column", ours, known, where="--columns")

    @cached_property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts of the run by id; none for a plain file."""
        return {p.prompt_id: p for p in self.run.read("prompts")} if self.run and self.run.has("prompts") else {}

    @cached_property
    def raters(self) -> dict[str, Rater]:
        """The raters of the run by id; none for a plain file."""
        return {r.rater_id: r for r in self.run.read("raters")} if self.run and self.run.has("raters") else {}

    @cached_property
    def configs(self) -> dict[str, ModelConfig]:
        """The configurations of the run by id; none for a plain file."""
        return configs_of(self.run) if self.run else {}

    def kept(self, sheet: Sheet, prompt: Names | None, rater: Names | None) -> NDArray[np.bool_]:
        """Return which rows enter: used, of the main kind, by the wanted raters, and as ``where`` says.

        Raises:
            InputError: raters of several kinds, or a filter that leaves nothing.
        """
        keep = np.ones(sheet.rows, dtype=bool)
        if self.run is not None:
            if "use" in sheet.names:
                keep &= flags(sheet.column("use"), sheet.path)
            if "kind" in sheet.names:
                kind = sheet.column("kind")
                keep &= np.array([value == PairKind.main for value in kind.values])[kind.codes]
        if rater is not None and self.raters:
            keep &= self._of_kind(rater, keep)
        wanted: dict[str, set[str]] = {}
        for name, value in self.where:
            wanted.setdefault(name, set()).add(value)
        for name, values in wanted.items():
            keep &= self._where(sheet, prompt, name, values)
        if not keep.any():
            said = ", ".join(f"{name}={value}" for name, value in self.where)
            raise InputError(f"no row is left{f' with {said}' if said else ''}", path=sheet.path)
        return keep

    def _of_kind(self, rater: Names, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        kinds = [self.raters[name].kind if name in self.raters else RaterKind.human for name in rater.names]
        present = sorted({kinds[code] for code in np.unique(rater.codes[keep])})
        if not present:
            raise InputError("no rating is left to analyse", path=self.path)
        if self.rater_kind and self.rater_kind not in present:
            raise UnknownNameError("kind of rater", self.rater_kind, present, where=str(self.path))
        if not self.rater_kind and len(present) > 1:
            said = f"holds ratings by {' and '.join(present)} raters, which are never mixed; name one with --raters"
            raise InputError(said, path=self.path)
        return np.array([kind == (self.rater_kind or present[0]) for kind in kinds])[rater.codes]

    def _where(self, sheet: Sheet, prompt: Names | None, name: str, values: set[str]) -> NDArray[np.bool_]:
        if self.run is None:
            if name not in sheet.names:
                raise UnknownNameError("field", name, sheet.names, where="--where")
            column = sheet.column(name)
            texts, codes = [str(v) for v in column.values], column.codes
        else:
            known = {"prompt_id", "category", "difficulty", "condition", "level", "script"}
            if name not in known:
                raise UnknownNameError("field", name, known, where="--where")
            if prompt is None or not self.prompts:
                raise InputError("--where needs prompts.parquet in the run", path=self.path)
            texts = [self._field(p, name) for p in prompt.names]
            codes = prompt.codes
        for value in sorted(values):
            if value not in texts:
                raise UnknownNameError(name, value, set(texts), where="--where")
        return np.array([text in values for text in texts])[codes]

    def _field(self, prompt_id: str, name: str) -> str:
        prompt: Any = self.prompts.get(prompt_id)
        if prompt is None:
            raise InputError(f"{prompt_id!r} is rated but not in prompts.parquet", path=self.path)
        return prompt_level(prompt) if name == "level" else str(getattr(prompt, name))

    def identifiers(self, sheet: Sheet, ours: str) -> Names:
        """Return one of the identifier columns.

        Raises:
            InputError: it is missing or a cell is wrong.
        """
        return identifiers(self.column(sheet, ours), sheet.path)

    def rubrics(self, sheet: Sheet) -> Names:
        """Return the column of rubrics; all ``overall`` where there is none.

        Raises:
            UnknownNameError: a name is none of the study's, and ``any_rubric`` is off.
        """
        if not self.has(sheet, "rubric"):
            return constant("overall", sheet.rows)
        return rubric_names(
            self.column(sheet, "rubric"), sheet.path, any_rubric=self.any_rubric, questions=self.questions
        )
