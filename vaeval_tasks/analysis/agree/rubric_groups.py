"""Which rubrics measure the same: clustering (with its reliability) and correlations (table A8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import Ratings, restrict
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError, UnknownNameError
from vaeval_tasks.rubrics import BY_KEY, STUDY, Family, Questions
from vaeval_tasks.stats import (
    Block,
    Comparisons,
    Draws,
    Progress,
    RubricClusters,
    block_means,
    bootstrap,
    cluster_rubrics,
    fit_all,
    rater_halves,
    rubric_correlations,
)

__all__ = [
    "CORRELATION_NOTE",
    "PUBLISHED_POOL",
    "GroupCorrelation",
    "cluster_json",
    "cluster_notes",
    "cluster_table",
    "clusters",
    "correlation_table",
    "group_correlations",
    "published_pool",
    "tree_table",
]

PUBLISHED_POOL: Mapping[str, tuple[str, ...]] = {"GPT-Realtime": ("GPT-Realtime 2.1", "GPT-Realtime 2.0")}
"""Models that the study clusters as one family."""

CORRELATION_NOTE = "over sessions that answer both rubrics; uncentred, so that the order of a and b does not matter"
LEXICAL = ("response_quality", "instruction_following", "reasoning")
"""The content half of Technical Quality (table A8); the rest of it is its audio half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCorrelation:
    """How far the rubrics of one group, or of two groups with each other, say the same (table A8)."""

    block: Block
    rubrics: tuple[str, ...]
    """The rubrics of the group; none where two groups are set against each other."""

    @property
    def name(self) -> str:
        """The group, or both."""
        first, second = self.block.first, self.block.second
        return first if first == second else f"{first} x {second}"


def published_pool(entities: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the published pooling where all its models are among the entities, else none."""
    return {name: members for name, members in PUBLISHED_POOL.items() if set(members) <= set(entities)}


def _pooled(data: Comparisons, pool: Mapping[str, tuple[str, ...]]) -> Comparisons:
    """Fit some models as one entity."""
    name_of = {member: name for name, members in pool.items() for member in members}
    for member in name_of:
        if member not in data.entities:
            raise UnknownNameError("model", member, data.entities, where="--pool")
    return data.relabel([name_of.get(e, e) for e in data.entities])


def clusters(
    ratings: Ratings,
    rubrics: Sequence[str],
    *,
    level: Level,
    k: int,
    draws: Draws,
    halves: int,
    pool: Mapping[str, tuple[str, ...]],
    threads: int | None = None,
    progress: Progress | None = None,
) -> RubricClusters:
    """Cluster the rubrics by their residual profiles, with reproduction, chance and split-half rates.

    Args:
        ratings: the loaded ratings.
        rubrics: which rubrics (the study leaves the overall question out).
        level: whose strengths make the profiles.
        k: how many groups.
        draws: the bootstrap plan.
        halves: random halves of the raters.
        pool: entities to be fitted as one, by the name of the whole.
        threads: at most this many.
        progress: told how many bootstrap replicates are done.

    Raises:
        EstimationError: too few rubrics or entities.
        UnknownNameError: ``pool`` names an entity that there is not.
    """
    if len(rubrics) < max(k, 2):
        raise EstimationError(f"{len(rubrics)} rubrics cannot form {k} groups")
    data = _pooled(restrict(ratings.at(level), rubrics), pool)
    fits = fit_all(data)
    strengths = [f.strengths for f in fits]
    if data.n_raters < 2 or data.n_prompts < 2:
        found = cluster_rubrics(strengths, data.rubrics, k=k)
        return replace(found, reason="one rater or one prompt: nothing tells how the groups would vary")
    resamples = bootstrap(data, draws, fits=fits, threads=threads, progress=progress)
    split = rater_halves(data, splits=halves, seed=draws.seed, threads=threads) if halves else None
    return cluster_rubrics(strengths, data.rubrics, k=k, replicates=resamples.strengths, halves=split)


def cluster_table(found: RubricClusters, questions: Questions = STUDY) -> Table:
    """Return each rubric with its group, and the family that it was asked in."""
    rows = [
        {"rubric": name, "group": label + 1, "family": questions.family_of(name)}
        for name, label in zip(found.rubrics, found.labels, strict=True)
    ]
    return Table(
        name="rubric_clusters",
        title=f"Rubric groups, k = {found.k}",
        columns=("rubric", "group", "family"),
        rows=tuple(sorted(rows, key=lambda r: (r["group"], r["rubric"]))),
        digits={},
        notes=cluster_notes(found),
    )


def cluster_notes(found: RubricClusters) -> tuple[str, ...]:
    """Return in words how far to trust the groups."""
    notes = (
        f"reproduced in {_share(found.reproduction)} of {found.replicates} resamples (chance {_share(found.chance)})",
        f"adjusted Rand index of rater halves {_number(found.rand_mean)} over {found.halves} splits",
        f"first component holds {found.axis_share:.1%} of the profiles",
    )
    return (*notes, found.reason) if found.reason else notes


def tree_table(found: RubricClusters) -> Table:
    """Return the dendrogram: each merge with its parts (rubrics, or the number of an earlier merge) and distance."""
    names = [*found.rubrics, *(str(i) for i in range(1, len(found.tree) + 1))]
    rows = [
        {"merge": i, "first": names[int(a)], "second": names[int(b)], "distance": float(d), "rubrics": int(n)}
        for i, (a, b, d, n) in enumerate(found.tree, 1)
    ]
    return Table(
        name="rubric_tree",
        title="Rubrics joined by average linkage of 1 - corrected similarity",
        columns=("merge", "first", "second", "distance", "rubrics"),
        rows=tuple(rows),
        digits={},
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def cluster_json(found: RubricClusters) -> dict[str, Any]:
    """Return the clustering as plain values."""
    return {
        "rows": [{"rubric": name, "group": label + 1} for name, label in zip(found.rubrics, found.labels, strict=True)],
        "k": found.k,
        "reproduction": found.reproduction,
        "chance": found.chance,
        "adjusted_rand": found.rand_mean,
        "adjusted_rand_sd": found.rand_sd,
        "resamples": found.replicates,
        "halves": found.halves,
        "axis_share": found.axis_share,
        "similarity": found.similarity,
        "tree": found.tree,
        "reason": found.reason,
    }


def group_correlations(ratings: Ratings, rubrics: Sequence[str]) -> tuple[GroupCorrelation, ...]:
    """Return the mean pairwise correlation of the rubrics within the groups and across the two halves."""
    data = restrict(ratings.data, [r for r in rubrics if r in BY_KEY and BY_KEY[r].family is not Family.overall])
    found = rubric_correlations(data)
    families = [str(BY_KEY[r].family) for r in data.rubrics]
    halves = [
        f if f == Family.humanness.value else f"{f} - {'lexical' if r in LEXICAL else 'audio'}"
        for r, f in zip(data.rubrics, families, strict=True)
    ]
    blocks: dict[tuple[str, str], Block] = {}
    for block in (*block_means(found, families), *block_means(found, halves)):
        blocks.setdefault((block.first, block.second), block)
    return tuple(
        GroupCorrelation(block=b, rubrics=_members(b, data.rubrics, families, halves)) for b in blocks.values()
    )


def correlation_table(found: Sequence[GroupCorrelation]) -> Table:
    """Return table A8."""
    rows = [
        {"group": g.name, "rubrics": ", ".join(g.rubrics), "rho": g.block.mean, "n_pairs": g.block.n_pairs}
        for g in found
    ]
    return Table(
        name="A8",
        title="A8: mean pairwise correlation of rubrics within and across groups",
        columns=("group", "rubrics", "rho", "n_pairs"),
        rows=tuple(rows),
        digits={"rho": 2},
        notes=(CORRELATION_NOTE,),
    )


def _members(block: Block, rubrics: Sequence[str], families: Sequence[str], halves: Sequence[str]) -> tuple[str, ...]:
    if block.first != block.second:
        return ()
    return tuple(r for r, f, h in zip(rubrics, families, halves, strict=True) if block.first in (f, h))
