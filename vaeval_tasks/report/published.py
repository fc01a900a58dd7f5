"""Ready-made figures as a board: a file of Elo and MOS rows that somebody else computed.

The columns are::

    family,rubric,model,cmos_elo,cmos_elo_lo,cmos_elo_hi,mos,mos_lo,mos_hi

``rubric`` is one of the 12 keys or labels; ``family`` is read over (the rubric has one). The MOS columns, and
``n_ratings``, ``n_raters`` and ``n_prompts``, may be left out or blank. Ranks are ranges where intervals overlap: all
that can be said without the ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.report.records import BoardPage, Download, Figure, Opinion, PlacedEntity, RubricPage
from vaeval_tasks.rubrics import BY_KEY, KEYS, RUBRICS, Rubric
from vaeval_tasks.store.sheets import Sheet, SheetRow, read_sheet

__all__ = ["COLUMNS", "RankRange", "overlap_ranks", "published_board"]

COLUMNS = ("rubric", "model", "cmos_elo", "cmos_elo_lo", "cmos_elo_hi")
_MOS = ("mos", "mos_lo", "mos_hi")
_COUNTS = ("n_ratings", "n_raters", "n_prompts")
_NEED_RATINGS = (
    "Slices by category, difficulty and condition",
    "Voices and thinking levels",
    "Rubric groups",
    "Agreement",
    "Automatic scores",
    "Comments and raters",
)
_BY_LABEL = {r.label.lower(): r for r in RUBRICS}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    rubric: Rubric
    model: str
    elo: Figure
    mos: Figure
    counts: tuple[int | None, ...]


def _estimate(row: SheetRow, names: Sequence[str]) -> Figure:
    value, low, high = (row.real(name) for name in names)
    if value is not None and low is not None and high is not None and not low <= value <= high:
        raise row.error(f"{value:g} is outside of its interval [{low:g}, {high:g}]", names[0])
    return Figure(value=value, low=low, high=high, reason="" if value is not None else "not given")


def _row(row: SheetRow) -> _Row:
    label = row.text("rubric")
    known = _BY_LABEL.get(label.lower()) or BY_KEY[row.one_of("rubric", "rubric", [*KEYS, *(r.label for r in RUBRICS)])]
    return _Row(
        rubric=known,
        model=row.text("model"),
        elo=_estimate(row, COLUMNS[2:]),
        mos=_estimate(row, _MOS),
        counts=tuple(row.count(name) for name in _COUNTS),
    )


def _rows(sheet: Sheet) -> list[_Row]:
    rows = sheet.records((*sheet.names, *COLUMNS), required=COLUMNS[:3], present=COLUMNS)
    out: dict[tuple[str, str], _Row] = {}
    for row in rows:
        made = _row(row)
        if (made.rubric.key, made.model) in out:
            raise row.error(f"{made.model!r} has a second row for {made.rubric.label!r}", "model")
        out[made.rubric.key, made.model] = made
    return list(out.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRange:
    """The ranks that intervals allow."""

    low: int
    """The best of them."""
    high: int


def overlap_ranks(rows: Sequence[Figure], index: int) -> RankRange | None:
    """Return the ranks of one figure among all that its and their intervals allow; None without every interval."""
    own = rows[index]
    if own.low is None or own.high is None or any(r.low is None or r.high is None for r in rows):
        return None
    above = sum(r.low > own.high for r in rows if r.low is not None)
    below = sum(r.high < own.low for r in rows if r.high is not None)
    return RankRange(low=1 + above, high=len(rows) - below)


def _page(rubric: Rubric, rows: list[_Row]) -> RubricPage:
    if not rows:
        return RubricPage(rubric=rubric, standings=(), reason="The file has no row for this rubric.")
    rows = sorted(rows, key=lambda row: -(row.elo.value or 0.0))
    elos = [row.elo for row in rows]
    standings = []
    for i, row in enumerate(rows):
        ratings, raters, prompts = row.counts
        ranks = overlap_ranks(elos, i)
        standings.append(
            PlacedEntity(
                entity=row.model,
                elo=row.elo,
                rank_low=ranks.low if ranks else None,
                rank_high=ranks.high if ranks else None,
                n_ratings=ratings,
                n_raters=raters,
                n_prompts=prompts,
            )
        )
    opinions = tuple(Opinion(entity=row.model, mean=row.mos) for row in rows)
    return RubricPage(
        rubric=rubric,
        standings=tuple(standings),
        opinions=opinions if any(o.mean.value is not None for o in opinions) else (),
    )


def published_board(path: str | Path, *, title: str = "Preference board") -> BoardPage:
    """Return the board of a file of ready-made figures.

    Raises:
        InputError: a column is missing, or a cell is wrong.
        UnknownNameError: a rubric is none of the 12.
    """
    path = Path(path)
    sheet = read_sheet(path)
    rows = _rows(sheet)
    pages = tuple(_page(rubric, [row for row in rows if row.rubric == rubric]) for rubric in RUBRICS)
    first = next(page for page in pages if page.standings)
    left_out = [(part, "Needs the ratings themselves; the file holds ready-made figures.") for part in _NEED_RATINGS]
    if not any(page.opinions for page in pages):
        left_out.insert(0, ("Mean opinion scores", f"{path.name} has no MOS figures."))
    return BoardPage(
        title=title,
        summary=(f"{len(first.standings)} models", f"{sum(bool(p.standings) for p in pages)} rubrics"),
        notices=(
            f"Drawn from the ready-made figures of {path.name}, not from ratings: numbers of ratings are shown only "
            "where the file gives them, and ranks are ranges wherever intervals overlap.",
        ),
        pages=pages,
        computed=False,
        entities=tuple(s.entity for s in first.standings),
        left_out=tuple(left_out),
        method=(("Figures", f"{path.name}, as given: Elo, MOS and 95 % intervals are not computed here."),),
        downloads=(Download(name=path.stem, title="The figures as given", rows=len(rows), csv=sheet.csv_text()),),
    )
