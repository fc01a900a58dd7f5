"""Boards as tables: one rubric below the other, differences and the side effect."""

from __future__ import annotations

from typing import Any

from vaeval_tasks.analysis.rank.board import Board, BoardRow
from vaeval_tasks.analysis.table import Table, rank_range

__all__ = ["board_table", "board_tables", "rank_text"]

_DIGITS = {"elo": 1, "low": 1, "high": 1}


def rank_text(row: BoardRow) -> str | None:
    """Return the ranks an entity may hold: ``2`` or ``1-3``; None without intervals."""
    return rank_range(row.rank_low, row.rank_high) or None


def _row(row: BoardRow) -> dict[str, Any]:
    return {
        "rubric": row.rubric,
        "rank": rank_text(row),
        "entity": row.entity,
        "elo": row.elo,
        "low": row.low,
        "high": row.high,
        "n_ratings": row.n_ratings,
        "n_raters": row.n_raters,
        "n_prompts": row.n_prompts,
    }


def board_table(board: Board, name: str = "board", title: str | None = None) -> Table:
    """Return a board as a table, best first within each rubric."""
    unit = board.fits[0].unit.value
    return Table(
        name=name,
        title=title or f"{unit} by {board.level.value}: {board.method}",
        columns=("rubric", "rank", "entity", "elo", "low", "high", "n_ratings", "n_raters", "n_prompts"),
        rows=tuple(_row(row) for row in board.rows),
        digits=_DIGITS | ({"elo": 3, "low": 3, "high": 3} if unit != "Elo" else {}),
        notes=board.notes,
    )


def board_tables(board: Board) -> list[Table]:
    """Return the board, and the differences and side effects that were asked for."""
    out = [board_table(board)]
    if board.differences:
        rows = [{name: getattr(d, name) for name in d.__dataclass_fields__} for d in board.differences]
        out.append(
            Table(
                name="differences",
                title="Differences, a less b",
                columns=tuple(rows[0]),
                rows=tuple(rows),
                digits={"value": 1, "low": 1, "high": 1},
            )
        )
    if board.side:
        rows = [{name: getattr(s, name) for name in s.__dataclass_fields__} for s in board.side]
        out.append(
            Table(
                name="side",
                title="Advantage of the side shown first, log odds (a diagnostic; the board does not use it)",
                columns=tuple(rows[0]),
                rows=tuple(rows),
                digits={"n_ratings": 0},
            )
        )
    return out
