"""Plain tables of the page, made from records: a column is a head and what it shows of a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from vaeval_tasks.analysis.predict.pairs import Accuracy
from vaeval_tasks.analysis.predict.system_scores import Correlation
from vaeval_tasks.report.figures import row_shades
from vaeval_tasks.report.records import Cell, Figure, Grid, GridColumn
from vaeval_tasks.stats import Interval

__all__ = ["Shown", "figure_of", "grid", "sentences"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Generic[T]):
    """A column of a plain table: its head and what it shows of a record."""

    head: str
    of: Callable[[T], Cell]
    digits: int | None = None


def figure_of(value: float | None, interval: Interval | Correlation | Accuracy | None, reason: str = "") -> Figure:
    """Return a number with its interval."""
    if interval is None:
        return Figure(value=value, reason=reason)
    return Figure(value=value, low=interval.low, high=interval.high, reason=reason or interval.reason)


def grid(
    name: str,
    title: str,
    records: Iterable[T],
    shown: Sequence[Shown[T]],
    *,
    note: str = "",
    folded: bool = False,
    shaded: bool = False,
) -> Grid:
    """Return records as a plain table; the first column names the row.

    Args:
        name: of the table of the analysis that holds the same records.
        title: above it.
        records: one a row.
        shown: the columns.
        note: below it.
        folded: whether a reader has to unfold it.
        shaded: whether the numbers of a row are shaded against each other.
    """
    rows = [tuple(column.of(record) for column in shown) for record in records]
    numbers = [[_number(cell) for cell in row] for row in rows]
    return Grid(
        name=name,
        title=title,
        columns=tuple(
            GridColumn(head=column.head, digits=column.digits, numeric=not any(isinstance(row[i], str) for row in rows))
            for i, column in enumerate(shown)
        ),
        rows=tuple(rows),
        shades=tuple(row_shades(row) for row in numbers) if shaded else (),
        folded=folded,
        note=note,
    )


def _number(cell: Cell) -> float | None:
    if isinstance(cell, Figure):
        return cell.value
    return cell if isinstance(cell, int | float) and not isinstance(cell, bool) else None


def sentences(*notes: str) -> str:
    """Return notes as sentences, each with a capital and a full stop."""
    return " ".join(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes if note)
