"""Tables of the analysis as they are shown: readable headers and labels, the numbers as the tables print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaeval_tasks.analysis.table import Table
from vaeval_tasks.report.figures import row_shades
from vaeval_tasks.report.records import Grid
from vaeval_tasks.rubrics import BY_KEY

__all__ = ["grid", "sentences", "wide_grid"]

_HEADERS = {
    "ac2": "Gwet AC2",
    "ac2_se": "SE",
    "accuracy_ceiling": "Accuracy ceiling",
    "accuracy_high": "high",
    "accuracy_low": "low",
    "alpha": "Krippendorff α",
    "beta": "Position, log odds",
    "beta_se": "SE",
    "by": "Ranked",
    "cmos_delta": "CMOS Δ",
    "first_margin": "Lean to first",
    "icc": "ICC(1)",
    "judge_elo": "Judge Elo",
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
    "rho": "ρ",
    "sd": "SD",
    "share": "Of the ceiling",
    "spearman": "Spearman ρ",
    "spearman_high": "high",
    "spearman_low": "low",
    "split_half": "Split-half",
    "win_rate": "Win rate",
}


def _header(name: str) -> str:
    shown = _HEADERS.get(name)
    return shown if shown is not None else name[:1].upper() + name[1:].replace("_", " ")


def _text(cell: str) -> str:
    return BY_KEY[cell].label if cell in BY_KEY else cell


def sentences(notes: Sequence[str]) -> str:
    """Return notes as sentences, each with a capital and a full stop."""
    return " ".join(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes if note)


def grid(
    table: Table,
    columns: Sequence[str],
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
    shown = [c for c in columns if c in table.columns]
    at = [table.columns.index(c) for c in shown]
    shades = [row_shades([row.get(c) if c in shaded else None for c in shown]) for row in table.rows] if shaded else []
    return Grid(
        name=table.name,
        title=title or table.title,
        columns=tuple(_header(c) for c in shown),
        rows=tuple(tuple(_text(row[i]) for i in at) for row in table.cells()),
        shades=tuple(shades),
        numeric=tuple(any(isinstance(row.get(c), int | float) for row in table.rows) for c in shown),
        folded=folded,
        note=note if note is not None else sentences(table.notes),
    )


def wide_grid(
    table: Table,
    row: str,
    column: str,
    value: str,
    order: Sequence[str],
    *,
    title: str,
    extra: Mapping[str, str],
    note: str,
) -> Grid:
    """Return a long table with one column per entity, each cell ``value [low, high]``, shaded along the row.

    Args:
        table: with the columns named, and ``low`` and ``high``.
        row: the column that names a row.
        column: the column that names an entity.
        value: the column of the number.
        order: the entities, left to right.
        title: of the grid.
        extra: header to column of what else to show of a row, before the entities.
        note: under the grid.
    """
    places = {name: table.columns.index(name) for name in (row, column, value, "low", "high", *extra.values())}
    cells = [{name: printed[i] for name, i in places.items()} for printed in table.cells()]
    names = list(dict.fromkeys(c[row] for c in cells))
    text = {(c[row], c[column]): f"{c[value]} [{c['low']}, {c['high']}]" for c in cells}
    number = {(r[row], r[column]): r[value] for r in table.rows}
    first = {c[row]: c for c in reversed(cells)}
    return Grid(
        name=table.name,
        title=title,
        columns=(_header(row), *extra, *order),
        rows=tuple(
            (_text(n), *(first[n][c] for c in extra.values()), *(text.get((n, e), "–") for e in order)) for n in names
        ),
        shades=tuple(((None,) * (1 + len(extra)) + row_shades([number.get((n, e)) for e in order])) for n in names),
        note=note,
    )
