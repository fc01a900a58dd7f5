"""Every published table of a study, from one run folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from vaeval_tasks.analysis.agree.agreement import agreement_rows, agreement_table, split_half_rows, split_half_table
from vaeval_tasks.analysis.agree.rubric_groups import (
    cluster_table,
    clusters,
    correlation_table,
    published_pool,
    tree_table,
)
from vaeval_tasks.analysis.comments.lexicon import load_lexicon
from vaeval_tasks.analysis.comments.themes import load_comments, theme_rows
from vaeval_tasks.analysis.load.entities import Level, default_level, tells_models
from vaeval_tasks.analysis.load.ratings import Ratings, load_ratings
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.mos.mos_tables import table_a4, table_a5, table_a6, table_a7, table_a10
from vaeval_tasks.analysis.mos.opinions import MosTable, load_mos, mos_rows, mos_table
from vaeval_tasks.analysis.pool import pool_table, prompt_table
from vaeval_tasks.analysis.rank.board import Board, rank_able
from vaeval_tasks.analysis.rank.board_tables import board_table
from vaeval_tasks.analysis.rank.engines import engine_table
from vaeval_tasks.analysis.rank.margins import head_to_head_table, margin_table, model_margins
from vaeval_tasks.analysis.rank.slices import slice_table
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import Draws, Progress, RankSettings, RubricClusters

__all__ = ["StudyTables", "study_tables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTables:
    """The tables that could be made, and why others could not."""

    tables: tuple[Table, ...]
    missing: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Study:
    """What the tables are made from."""

    source: Source
    ratings: Ratings
    mos: MosTable | None
    draws: Draws
    splits: int
    progress: Progress | None

    @property
    def rubrics(self) -> tuple[str, ...]:
        return self.ratings.data.rubrics

    @property
    def top(self) -> Level:
        """Models, or configurations where their names tell no models."""
        return default_level(self.ratings.data.entities, self.ratings.configs)

    @property
    def levels(self) -> tuple[Level, ...]:
        return tuple(dict.fromkeys((Level.config, self.top)))

    @property
    def headline(self) -> str:
        return "overall" if "overall" in self.rubrics else self.rubrics[0]


def _a9(study: _Study, models: Sequence[str]) -> Table:
    """Return table A9: theme rates in percent, a column a model."""
    comments = load_comments(study.source)
    found = theme_rows(comments, load_lexicon(), study.top, study.draws)
    themes = dict.fromkeys(row["theme"] for row in found)
    cells = {(row["theme"], row["entity"]): row for row in found}
    rows = []
    for theme in themes:
        row: dict[str, Any] = {"theme": theme}
        for model in models:
            cell = cells.get((theme, model), {})
            for name, key in ((model, "rate"), (f"{model} low", "low"), (f"{model} high", "high")):
                row[name] = None if cell.get(key) is None else 100 * cell[key]
        rows.append(row)
    sizes = {row["entity"]: (row["n_comments"], row["n_raters"], row["n_prompts"]) for row in found}
    counts = "; ".join(
        f"{m} {sizes[m][0]:.0f} comments, {sizes[m][1]} raters, {sizes[m][2]} prompts" for m in models if m in sizes
    )
    return Table(
        name="A9",
        title="A9: theme mention rate by model, percent of its comments, 95 % intervals",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={c: 1 for c in rows[0] if c != "theme"},
        notes=(counts,),
    )


def _a1(study: _Study) -> Table:
    mos = study.mos.raters if study.mos else ()
    return pool_table(list(study.source.raters.values()), study.ratings.raters, mos)


def _a3(study: _Study) -> Table:
    rows = split_half_rows(
        study.ratings,
        study.rubrics,
        study.levels,
        splits=study.splits,
        seed=study.draws.seed,
        progress=study.progress,
    )
    return split_half_table(rows)


def _a6(study: _Study, models: Sequence[str]) -> Table:
    if study.mos is None:
        raise ValueError("table A6 needs MOS ratings")
    return table_a6(study.mos, models, study.draws)


def _margins(study: _Study, level: Level, name: str, title: str) -> Table:
    return margin_table(name, title, model_margins(study.ratings, level, study.rubrics, study.draws))


def _clusters(study: _Study) -> RubricClusters:
    return clusters(
        study.ratings,
        [r for r in study.rubrics if r != "overall"],
        level=study.top,
        k=2,
        draws=study.draws,
        halves=500,
        pool=published_pool(study.ratings.at(study.top).entities),
    )


def _board(study: _Study, level: Level, settings: RankSettings) -> Board:
    """Return the board of the rubrics that have a finite estimate; see :func:`rank_able`."""
    return rank_able(study.ratings, level=level, rubrics=study.rubrics, settings=settings, progress=study.progress)


def _order(study: _Study, board: Callable[[], Board]) -> list[str]:
    """Return the entities, best first where the headline rubric can be ranked."""
    try:
        ranked = [row.entity for row in board().rows if row.rubric == study.headline]
    except EstimationError:
        ranked = []
    return ranked or list(study.ratings.at(study.top).entities)


def _rivals(order: Sequence[str], mos: Sequence[dict[str, Any]]) -> list[str]:
    """Return the models with the one people prefer first and the one with the best MOS second (if it is another)."""
    best = [row["entity"] for row in mos if row["rubric"] == "overall" and row["entity"] in order][:1]
    return list(dict.fromkeys([order[0], *best, *order[1:]]))


def study_tables(
    source: Source, *, resamples: int, splits: int, seed: int, progress: Progress | None = None
) -> StudyTables:
    """Make every published table of a run.

    Args:
        source: the run folder.
        resamples: of every bootstrap.
        splits: rater halves of table A3; 0 leaves it out.
        seed: of everything drawn.
        progress: told of replicates and splits as they are done.

    Raises:
        InputError: the run has no ratings, or a table is not as it must be.
    """
    ratings = load_ratings(source)
    run = source.run
    study = _Study(
        source=source,
        ratings=ratings,
        mos=load_mos(source) if run is not None and run.has("mos") else None,
        draws=Draws(replicates=resamples, seed=seed),
        splits=splits,
        progress=progress,
    )
    wanted = _wanted(study)
    made: list[Table] = []
    missing = {name: reason for name, (reason, _) in wanted.items() if reason}
    for name, (_, make) in wanted.items():
        try:
            made += [make()] if name not in missing else []
        except EstimationError as error:
            missing[name] = str(error)
    return StudyTables(tables=tuple(made), missing=missing)


def _wanted(study: _Study) -> dict[str, tuple[str, Callable[[], Table]]]:
    """Return each table's name, why it cannot be made (empty if it can), and how to make it."""
    source, ratings, rubrics, draws = study.source, study.ratings, study.rubrics, study.draws
    settings = RankSettings(resamples=draws.replicates, seed=draws.seed)
    board = cache(lambda: _board(study, study.top, settings))
    order = _order(study, board)
    mos = mos_rows(study.mos.at(study.top), study.mos.data.rubrics, draws) if study.mos else []
    models = _rivals(order, mos)
    a10 = cache(lambda: table_a10(board(), mos))
    no_mos = "" if any(row["rubric"] == "overall" for row in mos) else "no MOS ratings of the overall rubric"
    no_prompts = "" if source.prompts else "the run has no prompts"
    no_comments = "" if source.run is not None and source.run.has("comments") else "the run has no comments"
    named = tells_models(ratings.data.entities, ratings.configs)
    plain = "" if named else "the names of the configurations tell no models and voices"
    few = plain or ("" if study.top is Level.model and len(models) > 1 else "there is one model")
    groups = cache(lambda: _clusters(study))
    return {
        "A1": ("" if source.raters else "the run has no raters", lambda: _a1(study)),
        "A2": ("", lambda: agreement_table(agreement_rows(ratings, rubrics))),
        "A3": ("" if study.splits else "--splits is 0", lambda: _a3(study)),
        "A4": (no_mos, lambda: table_a4(a10())),
        "A5": (no_mos, lambda: table_a5(mos)),
        "A6": (no_mos or no_prompts or few, lambda: _a6(study, models)),
        "A7": (no_mos or few, lambda: table_a7(ratings, mos, models[0], models[1], draws)),
        "A8": ("", lambda: correlation_table(ratings, rubrics)),
        "A9": (no_comments, lambda: _a9(study, order)),
        "A10": ("", a10),
        "mos": ("" if mos else "the run has no MOS ratings", lambda: mos_table(mos)),
        "board": ("", lambda: board_table(board())),
        "board_config": ("", lambda: board_table(_board(study, Level.config, settings), name="board_config")),
        "board_slices": (no_prompts, lambda: slice_table(ratings, rubrics, study.top, settings)),
        "voice_margin": (plain, lambda: _margins(study, Level.voice, "voice_margin", "Margins between voices")),
        "thinking": (
            plain,
            lambda: _margins(study, Level.thinking, "thinking", "Margins of higher over lower thinking"),
        ),
        "head_to_head": (few, lambda: head_to_head_table(ratings, order, rubrics, draws)),
        "engines": ("", lambda: engine_table(ratings, rubrics, study.levels)),
        "rubric_clusters": ("", lambda: cluster_table(groups())),
        "rubric_tree": ("", lambda: tree_table(groups())),
        "prompts": (no_prompts, lambda: prompt_table(list(source.prompts.values()))),
    }
