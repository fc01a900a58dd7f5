"""Margins between the two voices, or two thinking levels, of one model, in CMOS points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from vaeval_tasks.analysis.load.entities import Level, config_parts, entity_names
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.rubrics import family_of
from vaeval_tasks.stats import Draws, Margin, margins

__all__ = ["ModelMargin", "head_to_head", "head_to_head_table", "margin_table", "model_margins"]

THINKING_ORDER = ("none", "minimal", "low", "default", "medium", "high", "xhigh")
"""From least to most; a margin is that of the higher level over the lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMargin:
    """How far one voice (or thinking level) of a model is ahead of another in direct comparisons."""

    model: str
    first: str
    """The voice or thinking level that the margin is in favour of."""
    second: str
    margin: Margin


def _ordered(variants: Mapping[str, str], level: Level) -> list[str]:
    """Return the entities of a model's variants: voices as configured, thinking levels from the highest down."""
    if level is Level.voice:
        return list(variants)
    known = {name: i for i, name in enumerate(THINKING_ORDER)}
    return sorted(variants, key=lambda entity: -known.get(variants[entity], len(known)))


def model_margins(ratings: Ratings, level: Level, rubrics: Sequence[str], draws: Draws) -> tuple[ModelMargin, ...]:
    """Return the margins between the voices or thinking levels of each model that has two or more.

    All rows between the two enter: voices are pooled over thinking levels and the other way round.

    Args:
        ratings: the loaded ratings.
        level: ``Level.voice`` or ``Level.thinking``.
        rubrics: which rubrics.
        draws: the bootstrap plan.
    """
    entities = ratings.data.entities
    parts = config_parts(entities, ratings.configs, ratings.path)
    models = np.array([p.model for p in parts])
    names = entity_names(entities, ratings.configs, level, ratings.path)
    shown = {n: p.voice if level is Level.voice else p.thinking for n, p in zip(names, parts, strict=True)}
    order = [c for c in ratings.configs if c in entities] or list(entities)
    out: list[ModelMargin] = []
    for model in dict.fromkeys(models[entities.index(c)] for c in order):
        within = dict.fromkeys(names[entities.index(c)] for c in order if models[entities.index(c)] == model)
        both = (models[ratings.data.a] == model) & (models[ratings.data.b] == model)
        if len(within) < 2 or not both.any():
            continue
        present = set(np.unique(ratings.data.rubric[both]))
        asked = [r for r in rubrics if ratings.data.rubric_code(r) in present]
        data = restrict(ratings.data.subset(both).relabel(names), asked)
        present_ones = {w: shown[w] for w in within if w in data.entities}
        for a, b in combinations(_ordered(present_ones, level), 2):
            found = margins(data, a, b, draws)
            out += [ModelMargin(model=str(model), first=shown[a], second=shown[b], margin=m) for m in found]
    return tuple(out)


def _row(m: Margin) -> dict[str, Any]:
    return {
        "rubric": m.rubric,
        "family": family_of(m.rubric),
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
    rows = [{"model": f.model, "a": f.first, "b": f.second, **_row(f.margin)} for f in found]
    columns = tuple(rows[0]) if rows else ("model", "a", "b", "rubric", "margin", "low", "high")
    return Table(name=name, title=title, columns=columns, rows=tuple(rows), digits=_DIGITS)


def head_to_head(ratings: Ratings, models: Sequence[str], rubrics: Sequence[str], draws: Draws) -> tuple[Margin, ...]:
    """Return margin and win rate (ties excluded) of every two models that were compared, per rubric.

    Args:
        ratings: the loaded ratings.
        models: the models, best first.
        rubrics: which rubrics.
        draws: the bootstrap plan.
    """
    data = restrict(ratings.at(Level.model), rubrics)
    return tuple(m for a, b in combinations(models, 2) for m in margins(data, a, b, draws))


def head_to_head_table(found: Sequence[Margin]) -> Table:
    """Return the margins between models as a table."""
    rows = [{"a": m.a, "b": m.b, **_row(m)} for m in found]
    return Table(
        name="head_to_head",
        title="Margins between models, a less b in CMOS points, and win rates without ties",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits=_DIGITS,
    )
