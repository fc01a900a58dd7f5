"""MOS beside CMOS: tables A4 (overall), A5 (distributions), A6 (by difficulty), A7 (deltas), A10 (everything)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.load.source import DEGRADED, prompt_level
from vaeval_tasks.analysis.mos.opinions import MosTable, mos_summaries
from vaeval_tasks.analysis.rank.board import Board, BoardRow
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.rubrics import family_of
from vaeval_tasks.stats import Draws, Margin, MosSummary, margins, spearman
from vaeval_tasks.store.schema import MOS_LEVELS

__all__ = [
    "DifficultyMos",
    "EloBesideMos",
    "MosByDifficulty",
    "RivalDelta",
    "RivalDeltas",
    "deltas_title",
    "difficulties_title",
    "elo_beside_mos",
    "mos_by_difficulty",
    "rival_deltas",
    "table_a4",
    "table_a5",
    "table_a6",
    "table_a7",
    "table_a10",
]

_DIGITS = {"elo": 1, "elo_low": 1, "elo_high": 1, "mos": 2, "mos_low": 2, "mos_high": 2, "mos_n_ratings": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class EloBesideMos:
    """One entity on one rubric, side by side and one response at a time."""

    cmos: BoardRow
    mos: MosSummary | None
    """None where nobody scored it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifficultyMos:
    """Overall MOS on the prompts of one difficulty."""

    difficulty: str
    n_prompts: int
    by_model: Mapping[str, MosSummary]
    gap: float | None
    """The second model's MOS less the first's."""

    def mean(self, model: str) -> float | None:
        """Return a model's MOS, None where it has none."""
        return self.by_model[model].mean if model in self.by_model else None

    def n_ratings(self, model: str) -> int:
        """Return how many ratings a model has."""
        return int(self.by_model[model].coverage.n_ratings) if model in self.by_model else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MosByDifficulty:
    """Overall MOS of every model by difficulty."""

    models: tuple[str, ...]
    """The two whose gap is told come first."""
    rows: tuple[DifficultyMos, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalDelta:
    """How far the first of two models is ahead on one rubric, in both ways of asking."""

    mos_delta: float | None
    margin: Margin


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalDeltas:
    """Two models set against each other on every rubric."""

    first: str
    second: str
    rows: tuple[RivalDelta, ...]


def elo_beside_mos(board: Board, mos: Sequence[MosSummary]) -> tuple[EloBesideMos, ...]:
    """Return every row of a board with the MOS of the same entity on the same rubric."""
    scores = {(found.rubric, found.entity): found for found in mos}
    return tuple(EloBesideMos(cmos=row, mos=scores.get((row.rubric, row.entity))) for row in board.rows)


def _row(one: EloBesideMos) -> dict[str, Any]:
    row, mos = one.cmos, one.mos
    return {
        "family": family_of(row.rubric),
        "rubric": row.rubric,
        "model": row.entity,
        "elo": row.elo,
        "elo_low": row.low,
        "elo_high": row.high,
        "mos": mos.mean if mos else None,
        "mos_low": mos.interval.low if mos else None,
        "mos_high": mos.interval.high if mos else None,
        "n_ratings": row.n_ratings,
        "n_raters": row.n_raters,
        "n_prompts": row.n_prompts,
        "mos_n_ratings": int(mos.coverage.n_ratings) if mos else None,
        "mos_n_raters": mos.coverage.n_raters if mos else None,
        "mos_n_prompts": mos.coverage.n_prompts if mos else None,
    }


def _alike(found: Sequence[EloBesideMos]) -> str:
    pairs = [(one.cmos.elo, one.mos.mean) for one in found if one.mos and one.mos.mean is not None]
    rho = spearman([e for e, _ in pairs], [m for _, m in pairs]) if len(pairs) > 1 else None
    return "–" if rho is None else f"{rho:.3f}"


def table_a10(found: Sequence[EloBesideMos]) -> Table:
    """Return table A10: CMOS Elo and sample-averaged MOS per model for every rubric."""
    rows = [_row(one) for one in found]
    rubrics = dict.fromkeys(one.cmos.rubric for one in found)
    agree = ", ".join(f"{r} {_alike([one for one in found if one.cmos.rubric == r])}" for r in rubrics)
    scored = any(one.mos for one in found)
    return Table(
        name="A10",
        title="A10: CMOS Elo and sample-averaged MOS per model for every rubric",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits=_DIGITS,
        notes=(f"Spearman of Elo and MOS over models: {agree}",) if scored else ("no MOS ratings",),
    )


def table_a4(found: Sequence[EloBesideMos]) -> Table:
    """Return table A4: the overall rows of table A10.

    Raises:
        EstimationError: there are none, as the overall rubric has no finite ranking.
    """
    rows = tuple(_row(one) for one in found if one.cmos.rubric == "overall")
    if not rows:
        raise EstimationError("the overall rubric cannot be ranked, see the notes of the board")
    title = "A4: CMOS Elo and sample-averaged MOS per model, overall"
    return Table(name="A4", title=title, columns=tuple(rows[0])[2:], rows=rows, digits=_DIGITS)


def table_a5(mos: Sequence[MosSummary]) -> Table:
    """Return table A5: the distribution of overall MOS ratings of every model."""
    rows = [
        {
            "model": found.entity,
            **{
                str(level): share
                for level, share in zip(MOS_LEVELS, found.distribution or (None,) * len(MOS_LEVELS), strict=True)
            },
            "n_ratings": int(found.coverage.n_ratings),
            "n_raters": found.coverage.n_raters,
            "n_prompts": found.coverage.n_prompts,
        }
        for found in mos
        if found.rubric == "overall"
    ]
    return Table(
        name="A5",
        title="A5: distribution of overall MOS ratings, shares",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={"n_ratings": 0},
    )


def mos_by_difficulty(found: MosTable, models: Sequence[str], draws: Draws) -> MosByDifficulty:
    """Return overall MOS of every model by difficulty, with the gap of the first two models."""
    data = found.at(Level.model)
    levels = np.array([prompt_level(found.prompt_info[p]) for p in found.prompts])
    overall = data.rubric == data.rubrics.index("overall")
    rows = []
    for level in [*sorted(set(levels) - {DEGRADED}), DEGRADED]:
        keep = overall & (levels[data.prompt] == level)
        if not keep.any():
            continue
        by_model = {one.entity: one for one in mos_summaries(data.subset(keep), ["overall"], draws)}
        first, second = (by_model[m].mean if m in by_model else None for m in models[:2])
        rows.append(
            DifficultyMos(
                difficulty=str(level),
                n_prompts=int((levels == level).sum()),
                by_model=by_model,
                gap=None if first is None or second is None else second - first,
            )
        )
    return MosByDifficulty(models=tuple(models), rows=tuple(rows))


def difficulties_title(found: MosByDifficulty) -> str:
    """Return the title of table A6."""
    return f"A6: overall MOS by difficulty; gap is {found.models[1]} less {found.models[0]}"


def table_a6(found: MosByDifficulty) -> Table:
    """Return table A6: overall MOS of every model by difficulty."""
    models = found.models
    rows = [
        {
            "difficulty": one.difficulty,
            **{m: one.mean(m) for m in models},
            "gap": one.gap,
            **{f"n {m}": one.n_ratings(m) for m in models},
            "n_prompts": one.n_prompts,
        }
        for one in found.rows
    ]
    return Table(
        name="A6",
        title=difficulties_title(found),
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={**dict.fromkeys([*models, "gap"], 2), **{f"n {m}": 0 for m in models}},
    )


def rival_deltas(ratings: Ratings, mos: Sequence[MosSummary], first: str, second: str, draws: Draws) -> RivalDeltas:
    """Return the difference of two models in MOS, and their head-to-head CMOS, per rubric."""
    scores = {(found.rubric, found.entity): found.mean for found in mos}
    data = ratings.at(Level.model)
    either = [data.entity_code(first), data.entity_code(second)]
    data = data.subset(np.isin(data.a, either) & np.isin(data.b, either) & (data.a != data.b))
    present = [data.rubrics[i] for i in np.unique(data.rubric)]
    rows = []
    for m in margins(restrict(data, present), first, second, draws):
        a, b = scores.get((m.rubric, first)), scores.get((m.rubric, second))
        rows.append(RivalDelta(mos_delta=None if a is None or b is None else a - b, margin=m))
    return RivalDeltas(first=first, second=second, rows=tuple(rows))


def _delta_row(one: RivalDelta) -> dict[str, Any]:
    m = one.margin
    return {
        "family": family_of(m.rubric),
        "rubric": m.rubric,
        "mos_delta": one.mos_delta,
        "cmos_delta": m.margin,
        "low": m.interval.low,
        "high": m.interval.high,
        "win_rate": m.win_rate,
        "n_ratings": m.n_ratings,
        "n_raters": m.n_raters,
        "n_prompts": m.n_prompts,
    }


def deltas_title(found: RivalDeltas) -> str:
    """Return the title of table A7."""
    return f"A7: {found.first} less {found.second}, in MOS and in head-to-head CMOS"


def table_a7(found: RivalDeltas) -> Table:
    """Return table A7: two models set against each other, per rubric."""
    rows = [_delta_row(one) for one in found.rows]
    return Table(
        name="A7",
        title=deltas_title(found),
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={"mos_delta": 2, "cmos_delta": 2, "low": 2, "high": 2, "win_rate": 2, "n_ratings": 0},
    )
