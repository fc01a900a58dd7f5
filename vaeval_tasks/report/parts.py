"""The parts of the board that have a shape of their own, read from the tables of the analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vaeval_tasks.analysis.table import Table
from vaeval_tasks.report.records import (
    Estimate,
    MarginGroup,
    MarginRow,
    Opinion,
    RubricPage,
    Slice,
    Standing,
    Tree,
)
from vaeval_tasks.rubrics import BY_KEY, RUBRICS, Rubric

__all__ = ["margin_groups", "rubric_pages", "tree_of"]

Rows = Sequence[Mapping[str, Any]]


def _estimate(row: Mapping[str, Any], value: str) -> Estimate:
    return Estimate(value=row[value], low=row.get("low"), high=row.get("high"), reason=row.get("reason") or "")


def _standing(row: Mapping[str, Any]) -> Standing:
    return Standing(
        entity=row["entity"],
        elo=_estimate(row, "elo"),
        rank=row["rank"] or "",
        n_ratings=row["n_ratings"],
        n_raters=row["n_raters"],
        n_prompts=row["n_prompts"],
    )


def _opinions(rows: Rows, order: Sequence[str]) -> tuple[Opinion, ...]:
    found = {
        row["entity"]: Opinion(
            entity=row["entity"],
            mean=_estimate(row, "mos"),
            shares=tuple(row[f"share_{i}"] for i in range(1, 6)) if row["share_1"] is not None else (),
            n_ratings=int(row["n_ratings"]),
        )
        for row in rows
    }
    return tuple(found[entity] for entity in order if entity in found)


def _slices(rows: Rows, entities: Sequence[str]) -> tuple[Slice, ...]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["field"], row["slice"]), []).append(row)
    out = []
    for (field, value), inside in groups.items():
        placed = {row["entity"]: _standing(row) for row in inside if row.get("entity")}
        missing = Estimate(value=None, reason="not rated here")
        standings = tuple(placed.get(e, Standing(entity=e, elo=missing)) for e in entities) if placed else ()
        out.append(
            Slice(
                group=field,
                value=value.replace("_", " ") if field == "condition" else value,
                n_ratings=inside[0]["slice_ratings"],
                standings=standings,
                reason=inside[0].get("reason") or "",
            )
        )
    return tuple(out)


def _of(table: Table | None, rubric: Rubric) -> Rows:
    return [row for row in table.rows if row["rubric"] == rubric.key] if table is not None else []


def _why_unranked(board: Table, rubric: Rubric) -> str:
    """Return the board's note on a rubric that it leaves out; without one, there are no ratings."""
    about = f"rubric {rubric.key!r}: "
    told = next((note.removeprefix(about) for note in board.notes if note.startswith(about)), "")
    return f"Not ranked: {told}." if told else "Nobody was asked this question."


def rubric_pages(tables: Mapping[str, Table], entities: Sequence[str]) -> tuple[RubricPage, ...]:
    """Return a page for each of the 12 rubrics, with the reason where it was not rated.

    Args:
        tables: of the study, by name: ``board``, and if there are ``mos`` and ``board_slices``.
        entities: best overall first.
    """
    pages = []
    for rubric in RUBRICS:
        standings = tuple(_standing(row) for row in _of(tables["board"], rubric))
        pages.append(
            RubricPage(
                rubric=rubric,
                standings=standings,
                opinions=_opinions(_of(tables.get("mos"), rubric), [s.entity for s in standings]),
                slices=_slices(_of(tables.get("board_slices"), rubric), entities) if standings else (),
                reason="" if standings else _why_unranked(tables["board"], rubric),
            )
        )
    return tuple(pages)


def margin_groups(table: Table | None, order: Iterable[str]) -> tuple[MarginGroup, ...]:
    """Return the head-to-head margins of two voices or thinking levels, model by model."""
    groups: dict[tuple[str, str, str], list[MarginRow]] = {}
    for row in table.rows if table is not None else ():
        groups.setdefault((row["model"], row["a"], row["b"]), []).append(
            MarginRow(
                rubric=BY_KEY[row["rubric"]],
                margin=_estimate(row, "margin"),
                significant=None if row["low"] is None else row["mark"] != "n.s.",
                win_rate=row["win_rate"],
                n_ratings=int(row["n_ratings"]),
            )
        )
    place = {model: i for i, model in enumerate(order)}
    ordered = sorted(groups, key=lambda key: place.get(key[0], len(place)))
    return tuple(MarginGroup(model=m, first=a, second=b, rows=tuple(groups[m, a, b])) for m, a, b in ordered)


def tree_of(clusters: Table, tree: Table) -> Tree:
    """Return the dendrogram of the tables ``rubric_clusters`` and ``rubric_tree``."""
    keys = [row["rubric"] for row in clusters.rows]
    number = {key: i for i, key in enumerate(keys)} | {str(i + 1): len(keys) + i for i in range(len(tree.rows))}
    return Tree(
        labels=tuple(BY_KEY[key].label for key in keys),
        groups=tuple(row["group"] - 1 for row in clusters.rows),
        merges=tuple((number[row["first"]], number[row["second"]], row["distance"]) for row in tree.rows),
    )
