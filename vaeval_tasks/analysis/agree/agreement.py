"""Inter-rater agreement (table A2) and split-half reliability (table A3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.rank.board import rankable
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.rubrics import BY_KEY, Family
from vaeval_tasks.stats import Agreement, Comparisons, Orientation, Progress, SplitHalf, Weights, agreement, split_half

__all__ = ["agreement_rows", "agreement_table", "split_half_rows", "split_half_table"]


def _groups(rubrics: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the rubrics and, before its rubrics, each family that has two or more of them."""
    out: list[tuple[str, tuple[str, ...]]] = []
    for family in Family:
        inside = tuple(r for r in rubrics if r in BY_KEY and BY_KEY[r].family is family)
        if len(inside) > 1:
            out.append((family.value, inside))
        out += [(r, (r,)) for r in inside]
    return out + [(r, (r,)) for r in rubrics if r not in BY_KEY]


def _row(name: str, found: Agreement) -> dict[str, Any]:
    reasons = [c.reason for c in (found.alpha, found.icc, found.ac) if c.reason]
    return {
        "rubric": name,
        "alpha": found.alpha.value,
        "icc": found.icc.value,
        "ac2": found.ac.value,
        "ac2_se": found.ac.se,
        "n_units": found.n_units,
        "n_single": found.n_single,
        "n_ratings": found.n_ratings,
        "n_raters": found.n_raters,
        "n_prompts": found.n_prompts,
        "reason": "; ".join(dict.fromkeys(reasons)),
    }


def agreement_rows(
    ratings: Ratings,
    rubrics: Sequence[str],
    *,
    orientation: Orientation = Orientation.mirrored,
    weights: Weights = Weights.quadratic,
) -> list[dict[str, Any]]:
    """Return Krippendorff's alpha, ICC(1) and Gwet's AC2 for every rubric and every family of rubrics.

    A unit is a prompt, a pair of configurations and a rubric, with two ratings or more.
    """
    data = ratings.data
    found = [
        (name, agreement(data, inside, orientation=orientation, weights=weights)) for name, inside in _groups(rubrics)
    ]
    return [_row(name, a) for name, a in found]


def agreement_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return table A2."""
    return Table(
        name="A2",
        title="A2: inter-rater agreement (Krippendorff's alpha, ICC(1), Gwet's AC2)",
        columns=tuple(rows[0]) if rows else ("rubric",),
        rows=tuple(rows),
        digits={},
    )


def _split_row(level: Level, found: SplitHalf) -> dict[str, Any]:
    return {
        "family": BY_KEY[found.rubric].family.value if found.rubric in BY_KEY else "",
        "rubric": found.rubric,
        "by": level.value,
        "rho": found.mean,
        "sd": found.sd,
        "n_splits": found.n_splits,
        "n_undefined": found.n_undefined,
        "n_entities": found.n_entities,
        "n_raters": found.n_raters,
        "reason": found.reason,
    }


def _unranked_row(level: Level, data: Comparisons, rubric: str, splits: int, reason: str) -> dict[str, Any]:
    """Return the row of a rubric whose full data have no finite ranking: null, with the reason."""
    counted = SplitHalf(
        rubric=rubric,
        mean=None,
        sd=None,
        n_splits=0,
        n_undefined=splits,
        ridged=0,
        n_entities=len(data.entities),
        n_raters=data.n_raters,
        reason=reason,
    )
    return _split_row(level, counted)


def split_half_rows(
    ratings: Ratings,
    rubrics: Sequence[str],
    levels: Sequence[Level],
    *,
    splits: int,
    seed: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Return the split-half Spearman correlation per rubric, at each level (it depends on how many entities there are).

    Where a rubric's ratings have no finite ranking its row is null with the reason.

    Args:
        ratings: the loaded ratings.
        rubrics: which rubrics.
        levels: configurations (as published) and others.
        splits: random halves of the raters.
        seed: of the splits.
        threads: at most this many.
        progress: told how many splits are done.
    """
    rows = []
    for level in levels:
        able = rankable(ratings, level, rubrics)
        found = {}
        for group in able.groups:
            data = restrict(ratings.at(level), group)
            for half in split_half(data, splits=splits, seed=seed, threads=threads, progress=progress):
                found[half.rubric] = _split_row(level, half)
        for one in able.unranked:
            data = restrict(ratings.at(level), [one.rubric])
            found[one.rubric] = _unranked_row(level, data, one.rubric, splits, one.reason)
        rows += [found[rubric] for rubric in rubrics]
    return rows


def split_half_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return table A3."""
    return Table(
        name="A3",
        title="A3: split-half Spearman correlation of the ranking",
        columns=tuple(rows[0]) if rows else ("rubric",),
        rows=tuple(rows),
        digits={},
    )
