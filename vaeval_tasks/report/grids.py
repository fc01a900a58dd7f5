"""Tables of the analysis as they are shown: readable headers and labels, the numbers as the tables print them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vaeval_tasks.analysis.table import Table
from vaeval_tasks.report.figures import row_shades
from vaeval_tasks.report.records import Grid
from vaeval_tasks.rubrics import BY_KEY
from vaeval_tasks.scoring.registry import response_metrics

__all__ = ["METRICS", "Shown", "grid", "sentences", "wide_grid"]

Shown = str | tuple[str, str, str]
"""A column, or the columns of a number and the two ends of its interval, which are shown as one."""

METRICS = {metric.key: metric.label for metric in response_metrics()}
"""How the metrics of our own verbs are called on the page."""
_WEIGHTED = re.compile(rf"\b({'|'.join(METRICS)})(?= [+-]\d)")

_HEADERS = {
    "ac2": "Gwet AC2",
    "ac2_se": "SE",
    "accuracy_ceiling": "Accuracy ceiling",
    "alpha": "Krippendorff α",
    "beta": "Position, log odds",
    "beta_se": "SE",
    "by": "Ranked",
    "cmos_delta": "CMOS Δ",
    "first_margin": "Lean to first",
    "icc": "ICC(1)",
    "judge_elo": "Judge’s Elo",
    "judge_n": "Judge’s ratings",
    "kendall": "Kendall τ",
    "mos_delta": "MOS Δ",
    "n_choices": "Choices",
    "n_entities": "Entities",
    "n_pairs": "Pairs",
    "n_prompts": "Prompts",
    "n_raters": "Raters",
    "n_ratings": "Ratings",
    "n_single": "Singles",
    "n_splits": "Splits",
    "n_units": "Units",
    "people_elo": "People’s Elo",
    "people_n": "People’s ratings",
    "rho": "ρ",
    "sd": "SD",
    "share": "Of the ceiling",
    "spearman": "Spearman ρ",
    "split_half": "Split-half",
    "win_rate": "Win rate",
}


def _header(name: str) -> str:
    shown = _HEADERS.get(name)
    return shown if shown is not None else name[:1].upper() + name[1:].replace("_", " ")


def _text(cell: str) -> str:
    """Return a cell with rubrics and metrics by their labels, those of a weighted sum (``mos +0.31``) too."""
    if cell in BY_KEY:
        return BY_KEY[cell].label
    return METRICS.get(cell) or _WEIGHTED.sub(lambda found: METRICS[found[1]], cell)


def _interval(value: str, low: str, high: str) -> str:
    """Return a number with its interval, which breaks, if at all, between the two."""
    return value if (low, high) == ("–", "–") else f"{value} [{low},\u00a0{high}]"


def sentences(notes: Sequence[str]) -> str:
    """Return notes as sentences, each with a capital and a full stop."""
    return " ".join(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes if note)


def grid(
    table: Table,
    columns: Sequence[Shown],
    *,
    title: str | None = None,
    shaded: Sequence[str] = (),
    note: str | None = None,
    folded: bool = False,
) -> Grid:
    """Return some columns of a table; cells are what the table prints.

    Args:
        table: of the analysis.
        columns: which, the first names the row; those the table does not have are passed over.
        title: instead of the table's own.
        shaded: columns that are shaded against each other along a row.
        note: instead of the table's own notes.
        folded: whether a reader has to unfold it.
    """
    wanted = [c if isinstance(c, tuple) else (c,) for c in columns]
    shown = [c for c in wanted if c[0] in table.columns]
    at = [[table.columns.index(name) for name in c] for c in shown]
    names = [c[0] for c in shown]
    shades = [row_shades([row.get(n) if n in shaded else None for n in names]) for row in table.rows] if shaded else []
    return Grid(
        name=table.name,
        title=title or table.title,
        columns=tuple(_header(name) for name in names),
        rows=tuple(
            tuple(_interval(*(row[j] for j in i)) if len(i) == 3 else _text(row[i[0]]) for i in at)
            for row in table.cells()
        ),
        shades=tuple(shades),
        numeric=tuple(any(isinstance(row.get(n), int | float) for row in table.rows) for n in names),
        folded=folded,
        note=note if note is not None else sentences(table.notes),
    )


def wide_grid(table: Table, *, row: str, column: str, value: str, order: Sequence[str], about: str) -> Grid:
    """Return a long table with one column per entity, each cell ``value [low, high]``, shaded along the row.

    Args:
        table: with the columns named, and ``low`` and ``high``.
        row: the column that names a row.
        column: the column that names an entity.
        value: the column of the number.
        order: the entities, left to right.
        about: the column of what else to say of a row, before the entities.
    """
    places = {name: table.columns.index(name) for name in (row, column, value, "low", "high", about)}
    cells = [{name: printed[i] for name, i in places.items()} for printed in table.cells()]
    first = {c[row]: c[about] for c in reversed(cells)}
    text = {(c[row], c[column]): _interval(c[value], c["low"], c["high"]) for c in cells}
    number = {(r[row], r[column]): r[value] for r in table.rows}
    names = list(dict.fromkeys(c[row] for c in cells))
    return Grid(
        name=table.name,
        title=table.title,
        columns=(_header(row), _header(about), *order),
        rows=tuple((_text(n), first[n], *(text.get((n, e), "–") for e in order)) for n in names),
        shades=tuple((None, None, *row_shades([number.get((n, e)) for e in order])) for n in names),
        note=sentences(table.notes),
    )
