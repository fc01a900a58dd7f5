"""The sections that are made of plain tables, and what a reader should take from each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vaeval_tasks.analysis.table import Table
from vaeval_tasks.report.grids import METRICS, Shown, grid, sentences, wide_grid
from vaeval_tasks.report.parts import tree_of
from vaeval_tasks.report.records import Grid, Section
from vaeval_tasks.rubrics import BY_KEY

__all__ = ["sections"]

Tables = Mapping[str, Table]
_N = ("n_ratings", "n_raters", "n_prompts")
_MOST_COLUMNS = 60


def _grids(*found: Grid | None) -> tuple[Grid, ...]:
    return tuple(g for g in found if g is not None)


def _groups(tables: Tables) -> Section | None:
    if "rubric_clusters" not in tables:
        return None
    found = tables["rubric_clusters"]
    tree = tree_of(found, tables["rubric_tree"]) if "rubric_tree" in tables else None
    blocks = grid(
        tables["A8"], ("group", "rho", "n_pairs"), title="Mean correlation of rubrics within and across groups"
    )
    return Section(
        key="groups",
        title="Rubric groups",
        lead="Rubrics grouped by what is left of their profiles once overall quality is taken out. "
        + sentences(found.notes),
        tree=tree,
        grids=(grid(found, ("rubric", "group", "family"), note="", folded=tree is not None), blocks),
    )


def _split_half(table: Table) -> Grid:
    """Return table A3 with a row per rubric and two columns per level."""
    levels = list(dict.fromkeys(row["by"] for row in table.rows))
    at = {name: table.columns.index(name) for name in ("rubric", "by", "rho", "sd", "n_splits", "n_raters")}
    cells = [{name: printed[i] for name, i in at.items()} for printed in table.cells()]
    found = {(c["rubric"], c["by"]): c for c in cells}
    entities = {row["by"]: row["n_entities"] for row in table.rows}
    rows = []
    for key in dict.fromkeys(c["rubric"] for c in cells):
        pairs = [found[key, level][name] for level in levels for name in ("rho", "sd")]
        first = found[key, levels[0]]
        rows.append((BY_KEY[key].label if key in BY_KEY else key, *pairs, first["n_splits"], first["n_raters"]))
    heads = [head for level in levels for head in (f"ρ, {entities[level]} {level}s", "SD")]
    return Grid(
        name=table.name,
        title="Split-half correlation of the ranking (Spearman)",
        columns=("Rubric", *heads, "Splits", "Raters"),
        rows=tuple(rows),
    )


def _agreement(tables: Tables) -> Section:
    a3 = tables.get("A3")
    return Section(
        key="agreement",
        title="Agreement",
        lead="Single raters differ a good deal; the ranking that they make together is what has to be stable. "
        "Split-half compares the rankings by two random halves of the raters.",
        grids=_grids(
            grid(
                tables["A2"], ("rubric", "alpha", "icc", "ac2", "n_units", "n_single", *_N), title="Agreement of raters"
            ),
            _split_half(a3) if a3 is not None else None,
            grid(
                tables["engines"],
                tables["engines"].columns,
                title="Do other ranking methods agree? (Spearman)",
                folded=True,
            )
            if "engines" in tables
            else None,
        ),
    )


def _mos(tables: Tables, entities: Sequence[str]) -> Section | None:
    if "A7" not in tables and "A6" not in tables:
        return None
    a6, a7 = tables.get("A6"), tables.get("A7")
    return Section(
        key="mos",
        title="MOS and CMOS",
        lead="Asked about one response at a time, people answer another question than side by side.",
        grids=_grids(
            grid(a7, ("rubric", "mos_delta", ("cmos_delta", "low", "high"), "win_rate", *_N)) if a7 else None,
            grid(a6, a6.columns) if a6 and len(a6.columns) < _MOST_COLUMNS else None,
        ),
    )


def _scores(tables: Tables, entities: Sequence[str]) -> Section | None:
    if "scores" not in tables:
        return None
    table, board = tables["scores"], tables["board"].rows
    counted = {row["metric"]: 0 for row in table.rows}
    for row in table.rows:
        counted[row["metric"]] += row["n_scored"]
    people = {row["entity"]: row for row in board if row["rubric"] == board[0]["rubric"]}
    label = BY_KEY[board[0]["rubric"]].label if board[0]["rubric"] in BY_KEY else board[0]["rubric"]
    # a word joiner on both sides of the dash, so that a range does not break
    ranks = {e: (people[e]["rank"] or "–").replace("-", "\u2060–\u2060") for e in entities}
    places = tuple(f"{people[e]['elo']:.0f} (rank\u00a0{ranks[e]})" for e in entities)
    shown = wide_grid(table, row="metric", column="entity", value="mean", order=entities, about="better")
    return Section(
        key="scores",
        title="Automatic scores",
        lead="Metrics of the same responses, beside people’s ranking. Models are in the order of people’s preference; "
        "shading compares along a row.",
        grids=(
            replace(
                shown,
                rows=((f"People: {label[:1].lower()}{label[1:]}, Elo", "higher", *places), *shown.rows),
                shades=((None,) * len(shown.columns), *shown.shades),
                note="Scored responses: " + ", ".join(f"{METRICS.get(m, m)} {n}" for m, n in counted.items()) + ".",
            ),
        ),
    )


_RHO: Shown = ("spearman", "spearman_low", "spearman_high")
_ACCURACY: Shown = ("accuracy", "accuracy_low", "accuracy_high")


def _predictors(tables: Tables) -> Section | None:
    if "predictors" not in tables:
        return None
    table, combined = tables["predictors"], tables["predictors_combined"]
    held: tuple[Shown, ...] = (
        "rubric", "metrics", _RHO, "split_half", "ceiling", "share", _ACCURACY, "accuracy_ceiling", "n_choices",
    )  # fmt: skip
    each: tuple[Shown, ...] = (
        "rubric", "metric", "better", _RHO, ("kendall", "kendall_low", "kendall_high"), _ACCURACY, "calibration_error",
        "n_choices", "n_systems", "n_scored",
    )  # fmt: skip
    return Section(
        key="predictors",
        title="Predictors",
        lead="Which metric may stand in for people, and for what? " + " ".join(table.notes[:-1]),
        grids=(
            grid(combined, held),
            grid(table, each, note=sentences(table.notes[-1:]), folded=True),
        ),
    )


def _judges(tables: Tables) -> Section | None:
    if "judge" not in tables:
        return None
    columns: tuple[Shown, ...] = (
        "rubric", "judge", _ACCURACY, "accuracy_ceiling", "spearman", "first_margin", "flips", "beta", "beta_se",
        "n_choices", "n_pairs", "n_ratings",
    )  # fmt: skip
    boards: tuple[Shown, ...] = (
        "rubric", "judge", "entity", ("people_elo", "people_low", "people_high"), "people_n",
        ("judge_elo", "judge_low", "judge_high"), "judge_n",
    )  # fmt: skip
    return Section(
        key="judges",
        title="Judge models",
        lead="Chat models that heard the same pairs in both orders. They are not people, and no rating of theirs is in "
        "any other number on this page.",
        grids=(grid(tables["judge"], columns), grid(tables["judge_board"], boards, folded=True)),
    )


def _comments(tables: Tables, entities: Sequence[str]) -> Section | None:
    if "A9" not in tables:
        return None
    table = tables["A9"]
    models = [e for e in entities if e in table.columns]
    return Section(
        key="comments",
        title="Comments",
        lead="What people wrote about single responses: the share of each model’s comments that mention a theme. "
        "Shading compares along a row; themes overlap.",
        grids=(grid(table, ("theme", *models), shaded=models),),
    )


def _panel(tables: Tables) -> Section | None:
    found = [grid(tables[name], tables[name].columns) for name in ("A1", "prompts") if name in tables]
    if not found:
        return None
    return Section(key="panel", title="Panel", grids=tuple(found))


def sections(tables: Tables, entities: Sequence[str]) -> tuple[Section, ...]:
    """Return the sections that the tables can fill.

    Args:
        tables: by name.
        entities: best overall first.
    """
    found = (
        _groups(tables),
        _agreement(tables),
        _mos(tables, entities),
        _scores(tables, entities),
        _predictors(tables),
        _judges(tables),
        _comments(tables, entities),
        _panel(tables),
    )
    return tuple(s for s in found if s is not None)
