"""MOS beside CMOS: tables A4 (overall), A5 (distributions), A6 (by difficulty), A7 (deltas), A10 (everything)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.load.source import DEGRADED, prompt_level
from vaeval_tasks.analysis.mos.opinions import MosTable, mos_rows
from vaeval_tasks.analysis.rank.board import Board
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.rubrics import BY_KEY
from vaeval_tasks.stats import Draws, margins, spearman

__all__ = ["table_a4", "table_a5", "table_a6", "table_a7", "table_a10"]

Rows = Sequence[Mapping[str, Any]]
_DIGITS = {"elo": 1, "elo_low": 1, "elo_high": 1, "mos": 2, "mos_low": 2, "mos_high": 2, "mos_n_ratings": 0}


def _beside(board: Board, mos: Rows) -> list[dict[str, Any]]:
    scores = {(row["rubric"], row["entity"]): row for row in mos}
    out = []
    for row in board.rows:
        other = scores.get((row.rubric, row.entity), {})
        out.append(
            {
                "family": BY_KEY[row.rubric].family.value if row.rubric in BY_KEY else "",
                "rubric": row.rubric,
                "model": row.entity,
                "elo": row.elo,
                "elo_low": row.low,
                "elo_high": row.high,
                "mos": other.get("mos"),
                "mos_low": other.get("low"),
                "mos_high": other.get("high"),
                "n_ratings": row.n_ratings,
                "n_raters": row.n_raters,
                "n_prompts": row.n_prompts,
                "mos_n_ratings": other.get("n_ratings"),
                "mos_n_raters": other.get("n_raters"),
                "mos_n_prompts": other.get("n_prompts"),
            }
        )
    return out


def _alike(rows: Rows) -> str:
    pairs = [(row["elo"], row["mos"]) for row in rows if row["mos"] is not None]
    rho = spearman([e for e, _ in pairs], [m for _, m in pairs]) if len(pairs) > 1 else None
    return "–" if rho is None else f"{rho:.3f}"


def table_a10(board: Board, mos: Rows) -> Table:
    """Return table A10: CMOS Elo and sample-averaged MOS per model for every rubric."""
    rows = _beside(board, mos)
    rubrics = list(dict.fromkeys(row["rubric"] for row in rows))
    agree = ", ".join(f"{r} {_alike([row for row in rows if row['rubric'] == r])}" for r in rubrics)
    return Table(
        name="A10",
        title="A10: CMOS Elo and sample-averaged MOS per model for every rubric",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits=_DIGITS,
        notes=(f"Spearman of Elo and MOS over models: {agree}",) if mos else ("no MOS ratings",),
    )


def table_a4(a10: Table) -> Table:
    """Return table A4: the overall rows of table A10.

    Raises:
        EstimationError: there are none, as the overall rubric has no finite ranking.
    """
    rows = tuple(row for row in a10.rows if row["rubric"] == "overall")
    if not rows:
        raise EstimationError("the overall rubric cannot be ranked, see the notes of the board")
    title = "A4: CMOS Elo and sample-averaged MOS per model, overall"
    return Table(name="A4", title=title, columns=a10.columns[2:], rows=rows, digits=_DIGITS)


def table_a5(mos: Rows) -> Table:
    """Return table A5: the distribution of overall MOS ratings of every model."""
    levels = [name for name in mos[0] if name.startswith("share_")]
    rows = [
        {
            "model": row["entity"],
            **{name.removeprefix("share_"): row[name] for name in levels},
            "n_ratings": row["n_ratings"],
            "n_raters": row["n_raters"],
            "n_prompts": row["n_prompts"],
        }
        for row in mos
        if row["rubric"] == "overall"
    ]
    return Table(
        name="A5",
        title="A5: distribution of overall MOS ratings, shares",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={"n_ratings": 0},
    )


def table_a6(found: MosTable, models: Sequence[str], draws: Draws) -> Table:
    """Return table A6: overall MOS of every model by difficulty, with the gap of the first two models."""
    data = found.at(Level.model)
    levels = np.array([prompt_level(found.prompt_info[p]) for p in found.prompts])
    overall = data.rubric == data.rubrics.index("overall")
    rows = []
    for level in [*sorted(set(levels) - {DEGRADED}), DEGRADED]:
        keep = overall & (levels[data.prompt] == level)
        if not keep.any():
            continue
        by_model = {row["entity"]: row for row in mos_rows(data.subset(keep), ["overall"], draws)}
        row: dict[str, Any] = {"difficulty": level}
        row.update({model: by_model.get(model, {}).get("mos") for model in models})
        first, second = (row[m] for m in models[:2]) if len(models) > 1 else (None, None)
        row["gap"] = None if first is None or second is None else second - first
        row.update({f"n {model}": by_model.get(model, {}).get("n_ratings", 0) for model in models})
        row["n_prompts"] = int((levels == level).sum())
        rows.append(row)
    return Table(
        name="A6",
        title=f"A6: overall MOS by difficulty; gap is {models[1]} less {models[0]}" if len(models) > 1 else "A6",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={**dict.fromkeys([*models, "gap"], 2), **{f"n {m}": 0 for m in models}},
    )


def table_a7(ratings: Ratings, mos: Rows, first: str, second: str, draws: Draws) -> Table:
    """Return table A7: the difference of two models in MOS, and their head-to-head CMOS, per rubric."""
    scores = {(row["rubric"], row["entity"]): row["mos"] for row in mos}
    data = ratings.at(Level.model)
    either = [data.entity_code(first), data.entity_code(second)]
    data = data.subset(np.isin(data.a, either) & np.isin(data.b, either) & (data.a != data.b))
    present = [data.rubrics[i] for i in np.unique(data.rubric)]
    rows = []
    for m in margins(restrict(data, present), first, second, draws):
        a, b = scores.get((m.rubric, first)), scores.get((m.rubric, second))
        rows.append(
            {
                "family": BY_KEY[m.rubric].family.value if m.rubric in BY_KEY else "",
                "rubric": m.rubric,
                "mos_delta": None if a is None or b is None else a - b,
                "cmos_delta": m.margin,
                "low": m.interval.low,
                "high": m.interval.high,
                "win_rate": m.win_rate,
                "n_ratings": m.n_ratings,
                "n_raters": m.n_raters,
                "n_prompts": m.n_prompts,
            }
        )
    return Table(
        name="A7",
        title=f"A7: {first} less {second}, in MOS and in head-to-head CMOS",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={"mos_delta": 2, "cmos_delta": 2, "low": 2, "high": 2, "win_rate": 2, "n_ratings": 0},
    )
