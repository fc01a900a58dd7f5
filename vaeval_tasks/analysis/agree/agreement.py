"""Inter-rater agreement (table A2) and split-half reliability (table A3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.rank.board import rankable
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.rubrics import Questions
from vaeval_tasks.stats import (
    Agreement,
    Comparisons,
    Metric,
    Orientation,
    Progress,
    SplitHalf,
    Weights,
    agreement,
    split_half,
)

__all__ = [
    "LevelSplitHalf",
    "RubricAgreement",
    "agreement_rows",
    "agreement_table",
    "agreements",
    "rubric_groups",
    "split_half_rows",
    "split_half_table",
    "split_halves",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricAgreement:
    """How far raters agree on a rubric, or on all rubrics of a family."""

    name: str
    """The rubric's key, or the family's name."""
    found: Agreement

    @property
    def reason(self) -> str:
        """Why a coefficient is None, empty if none is."""
        reasons = [c.reason for c in (self.found.alpha, self.found.icc, self.found.ac) if c.reason]
        return "; ".join(dict.fromkeys(reasons))


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSplitHalf:
    """How far the rankings by two halves of the raters agree on a rubric, at one level."""

    level: Level
    half: SplitHalf
    family: str = ""
    """The rubric's."""


def rubric_groups(rubrics: Sequence[str], questions: Questions) -> list[tuple[str, tuple[str, ...]]]:
    """Return the rubrics and, before its rubrics, each family that has two or more of them."""
    out: list[tuple[str, tuple[str, ...]]] = []
    for family in questions.families:
        inside = tuple(r for r in rubrics if questions.family_of(r) == family)
        if len(inside) > 1:
            out.append((family, inside))
        out += [(r, (r,)) for r in inside]
    return out + [(r, (r,)) for r in rubrics if not questions.family_of(r)]


def _row(row: RubricAgreement) -> dict[str, Any]:
    found = row.found
    return {
        "rubric": row.name,
        "alpha": found.alpha.value,
        "icc": found.icc.value,
        "ac2": found.ac.value,
        "ac2_se": found.ac.se,
        "n_units": found.n_units,
        "n_single": found.n_single,
        "n_ratings": found.n_ratings,
        "n_raters": found.n_raters,
        "n_prompts": found.n_prompts,
        "reason": row.reason,
    }


def agreements(
    ratings: Ratings,
    rubrics: Sequence[str],
    *,
    orientation: Orientation = Orientation.mirrored,
    metric: Metric = Metric.interval,
    weights: Weights = Weights.quadratic,
) -> tuple[RubricAgreement, ...]:
    """Return Krippendorff's alpha, ICC(1) and Gwet's AC2 for every rubric and every family of rubrics.

    A unit is a prompt, a pair of configurations and a rubric, with two ratings or more.
    """
    data = ratings.data
    return tuple(
        RubricAgreement(
            name=name, found=agreement(data, inside, orientation=orientation, metric=metric, weights=weights)
        )
        for name, inside in rubric_groups(rubrics, ratings.questions)
    )


def agreement_rows(found: Sequence[RubricAgreement]) -> list[dict[str, Any]]:
    """Return the coefficients as plain values."""
    return [_row(row) for row in found]


def agreement_table(found: Sequence[RubricAgreement], notes: tuple[str, ...] = ()) -> Table:
    """Return table A2, with what is to be said of the ratings below it."""
    rows = agreement_rows(found)
    return Table(
        name="A2",
        title="A2: inter-rater agreement (Krippendorff's alpha, ICC(1), Gwet's AC2)",
        columns=tuple(rows[0]) if rows else ("rubric",),
        rows=tuple(rows),
        digits={},
        notes=notes,
    )


def _split_row(row: LevelSplitHalf) -> dict[str, Any]:
    found = row.half
    return {
        "family": row.family,
        "rubric": found.rubric,
        "by": row.level.value,
        "rho": found.mean,
        "sd": found.sd,
        "rho_full": found.stepped_up,
        "n_splits": found.n_splits,
        "n_undefined": found.n_undefined,
        "n_entities": found.n_entities,
        "n_raters": found.n_raters,
        "reason": found.reason,
    }


def _unranked(data: Comparisons, rubric: str, splits: int, reason: str) -> SplitHalf:
    """Return the record of a rubric whose full data have no finite ranking: null, with the reason."""
    return SplitHalf(
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


def split_halves(
    ratings: Ratings,
    rubrics: Sequence[str],
    levels: Sequence[Level],
    *,
    splits: int,
    seed: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[LevelSplitHalf, ...]:
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
    out: list[LevelSplitHalf] = []
    for level in levels:
        able = rankable(ratings, level, rubrics)
        found: dict[str, SplitHalf] = {}
        for group in able.groups:
            data = restrict(ratings.at(level), group)
            for half in split_half(data, splits=splits, seed=seed, threads=threads, progress=progress):
                found[half.rubric] = half
        for one in able.unranked:
            data = restrict(ratings.at(level), [one.rubric])
            found[one.rubric] = _unranked(data, one.rubric, splits, one.note)
        out += [
            LevelSplitHalf(level=level, half=found[rubric], family=ratings.questions.family_of(rubric))
            for rubric in rubrics
        ]
    return tuple(out)


def split_half_rows(found: Sequence[LevelSplitHalf]) -> list[dict[str, Any]]:
    """Return the correlations as plain values."""
    return [_split_row(row) for row in found]


def split_half_table(found: Sequence[LevelSplitHalf]) -> Table:
    """Return table A3."""
    rows = split_half_rows(found)
    return Table(
        name="A3",
        title="A3: split-half Spearman correlation of the ranking",
        columns=tuple(rows[0]) if rows else ("rubric",),
        rows=tuple(rows),
        digits={},
        notes=("rho_full is the reliability of all raters by Spearman and Brown, 2r/(1+r); rho is that of a half",),
    )
