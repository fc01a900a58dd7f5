"""Do the three ranking engines agree? Spearman correlation of their ratings, per rubric and level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.stats import Engine, fit_all, spearman

__all__ = ["engine_table"]


def engine_table(ratings: Ratings, rubrics: Sequence[str], levels: Sequence[Level]) -> Table:
    """Return the Spearman correlation of each two engines' ratings of the entities."""
    rows: list[dict[str, Any]] = []
    for level in levels:
        data = restrict(ratings.at(level), rubrics)
        fits = {engine: fit_all(data, engine=engine) for engine in Engine}
        for i, rubric in enumerate(data.rubrics):
            row: dict[str, Any] = {"rubric": rubric, "by": level.value, "n_entities": len(data.entities)}
            for a, b in combinations(Engine, 2):
                row[f"{a.value} ~ {b.value}"] = spearman(fits[a][i].ratings, fits[b][i].ratings)
            rows.append(row)
    return Table(
        name="engines",
        title="Spearman correlation of the ranking engines",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={},
    )
