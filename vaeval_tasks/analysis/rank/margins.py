"""Margins between the two voices, or two thinking levels, of one model, in CMOS points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from vaeval_tasks.analysis.load.entities import Level, entity_names
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.rubrics import BY_KEY
from vaeval_tasks.stats import Draws, Margin, margins

__all__ = ["ModelMargin", "head_to_head_table", "margin_table", "model_margins"]

THINKING_ORDER = ("none", "minimal", "low", "default", "medium", "high", "xhigh")
"""From least to most; a margin is that of the higher level over the lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMargin:
    """How far one voice (or thinking level) of a model is ahead of another in direct comparisons."""

    model: str
    margin: Margin


def _ordered(names: Sequence[str], level: Level) -> list[str]:
    """Return the variants of a model: voices as configured, thinking levels from the highest down."""
    if level is Level.voice:
        return list(names)
    known = {name: i for i, name in enumerate(THINKING_ORDER)}
    return sorted(names, key=lambda name: -known.get(name.rpartition("/")[2], len(known)))


def model_margins(ratings: Ratings, level: Level, rubrics: Sequence[str], draws: Draws) -> list[ModelMargin]:
    """Return the margins between the voices or thinking levels of each model that has two or more.

    All rows between the two enter: voices are pooled over thinking levels and the other way round.

    Args:
        ratings: the loaded ratings.
        level: ``Level.voice`` or ``Level.thinking``.
        rubrics: which rubrics.
        draws: the bootstrap plan.
    """
    entities = ratings.data.entities
    models = np.array(entity_names(entities, ratings.configs, Level.model, ratings.path))
    variants = entity_names(entities, ratings.configs, level, ratings.path)
    order = [c for c in ratings.configs if c in entities] or list(entities)
    out = []
    for model in dict.fromkeys(models[entities.index(c)] for c in order):
        within = dict.fromkeys(variants[entities.index(c)] for c in order if models[entities.index(c)] == model)
        both = (models[ratings.data.a] == model) & (models[ratings.data.b] == model)
        if len(within) < 2 or not both.any():
            continue
        present = set(np.unique(ratings.data.rubric[both]))
        asked = [r for r in rubrics if ratings.data.rubric_code(r) in present]
        data = restrict(ratings.data.subset(both).relabel(variants), asked)
        for a, b in combinations(_ordered([w for w in within if w in data.entities], level), 2):
            out += [ModelMargin(model=str(model), margin=m) for m in margins(data, a, b, draws)]
    return out


def _row(m: Margin) -> dict[str, Any]:
    return {
        "rubric": m.rubric,
        "family": BY_KEY[m.rubric].family.value if m.rubric in BY_KEY else "",
        "margin": m.margin,
        "low": m.interval.low,
        "high": m.interval.high,
        "mark": "" if m.significant or m.significant is None else "n.s.",
        "win_rate": m.win_rate,
        "wins": m.wins,
        "losses": m.losses,
        "ties": m.ties,
        "n_ratings": m.n_ratings,
        "n_raters": m.n_raters,
        "n_prompts": m.n_prompts,
        "reason": m.reason or m.interval.reason,
    }


_DIGITS = {"margin": 2, "low": 2, "high": 2, "win_rate": 2, "wins": 0, "losses": 0, "ties": 0, "n_ratings": 0}


def margin_table(name: str, title: str, found: Sequence[ModelMargin]) -> Table:
    """Return margins as a table with an n.s. mark where the interval holds 0."""
    rows = [
        {"model": f.model, "a": f.margin.a.rpartition("/")[2], "b": f.margin.b.rpartition("/")[2], **_row(f.margin)}
        for f in found
    ]
    columns = tuple(rows[0]) if rows else ("model", "a", "b", "rubric", "margin", "low", "high")
    return Table(name=name, title=title, columns=columns, rows=tuple(rows), digits=_DIGITS)


def head_to_head_table(ratings: Ratings, models: Sequence[str], rubrics: Sequence[str], draws: Draws) -> Table:
    """Return margin and win rate (ties excluded) of every two models that were compared, per rubric.

    Args:
        ratings: the loaded ratings.
        models: the models, best first.
        rubrics: which rubrics.
        draws: the bootstrap plan.
    """
    data = restrict(ratings.at(Level.model), rubrics)
    rows = [{"a": a, "b": b, **_row(m)} for a, b in combinations(models, 2) for m in margins(data, a, b, draws)]
    return Table(
        name="head_to_head",
        title="Margins between models, a less b in CMOS points, and win rates without ties",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits=_DIGITS,
    )
