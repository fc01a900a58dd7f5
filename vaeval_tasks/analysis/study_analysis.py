"""Everything that is said of one run: each part computed once, when it is first asked for, or the reason why not.

``vaeval tables`` writes the parts and ``vaeval report`` draws them; both take the records from here, so that they
cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from vaeval_tasks.analysis.agree.agreement import (
    LevelSplitHalf,
    RubricAgreement,
    agreement_table,
    agreements,
    split_half_table,
    split_halves,
)
from vaeval_tasks.analysis.agree.judged import JudgeView, judge_tables, judge_views, load_judged
from vaeval_tasks.analysis.agree.rubric_groups import (
    GroupCorrelation,
    cluster_table,
    clusters,
    correlation_table,
    group_correlations,
    published_pool,
    tree_table,
)
from vaeval_tasks.analysis.comments.lexicon import load_lexicon
from vaeval_tasks.analysis.comments.themes import ThemeRate, load_comments, model_theme_table, theme_rates
from vaeval_tasks.analysis.load.entities import Level, default_level, tells_models
from vaeval_tasks.analysis.load.measured import MeasuredMetric, load_measured
from vaeval_tasks.analysis.load.ratings import Ratings, load_ratings
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.mos.mos_tables import (
    EloBesideMos,
    MosByDifficulty,
    RivalDeltas,
    elo_beside_mos,
    mos_by_difficulty,
    rival_deltas,
    table_a4,
    table_a5,
    table_a6,
    table_a7,
    table_a10,
)
from vaeval_tasks.analysis.mos.opinions import MosTable, load_mos, mos_summaries, mos_table
from vaeval_tasks.analysis.pool import PromptCounts, RaterPool, pool_table, prompt_counts, prompt_table, rater_pool
from vaeval_tasks.analysis.predict.predictor_tables import predictor_tables, score_table
from vaeval_tasks.analysis.predict.predictors import Predictors, predict
from vaeval_tasks.analysis.predict.system_scores import SystemScore, system_scores
from vaeval_tasks.analysis.rank.board import Board, rank_able
from vaeval_tasks.analysis.rank.board_tables import board_table
from vaeval_tasks.analysis.rank.elo_and_latency import EloBesideLatency, elo_beside_latency, latency_table
from vaeval_tasks.analysis.rank.margins import (
    ModelMargin,
    head_to_head,
    head_to_head_table,
    margin_table,
    model_margins,
)
from vaeval_tasks.analysis.rank.slices import (
    EngineAgreement,
    PromptSlice,
    engine_agreement,
    engine_table,
    slice_boards,
    slice_table,
)
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError, InputError
from vaeval_tasks.stats import Draws, Margin, MosSummary, Progress, RankSettings, RubricClusters
from vaeval_tasks.store.tables import read_parquet_table

__all__ = [
    "AnalysisSettings",
    "Lacking",
    "StudyAnalysis",
    "StudyTables",
    "given",
    "machine_tables",
    "needed",
    "study_tables",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSettings:
    """How a study is analysed."""

    resamples: int = 1000
    """Of every bootstrap."""
    splits: int = 20_000
    """Halves of the raters; 0 leaves the split-half reliability out."""
    seed: int = 0
    """Of everything drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """Why a part of the analysis cannot be made."""

    reason: str
    rubric: str | None = None
    """The rubric that stands in the way, where it is one."""
    path: Path | None = None
    """The file that the reason is about. Public pages leave it out: it is a place on somebody's machine."""

    @property
    def error(self) -> EstimationError:
        """The same as an error; its text names rubric or file too."""
        return EstimationError(self.reason, rubric=self.rubric, path=self.path)


def given(part: T | Lacking) -> T | None:
    """Return a part, None where it is lacking."""
    return None if isinstance(part, Lacking) else part


def needed(part: T | Lacking) -> T:
    """Return a part that another is made from.

    Raises:
        EstimationError: it is lacking.
    """
    if isinstance(part, Lacking):
        raise part.error
    return part


def _require(*reasons: str) -> None:
    """Raise the first reason that is not empty.

    Raises:
        EstimationError: there is one.
    """
    reason = next((r for r in reasons if r), "")
    if reason:
        raise EstimationError(reason)


def _part(make: Callable[[StudyAnalysis], T]) -> cached_property[T | Lacking]:
    """Compute a part once; what the data cannot carry becomes a record of why."""

    def made(study: StudyAnalysis) -> T | Lacking:
        try:
            return make(study)
        except EstimationError as error:
            return Lacking(reason=error.reason, rubric=error.rubric, path=Path(error.path) if error.path else None)

    made.__doc__ = make.__doc__
    return cached_property(made)


@dataclass(frozen=True, kw_only=True)
class StudyAnalysis:
    """The analysis of one run folder.

    Attributes are computed when they are first read. Those that raise InputError do so because a table of the run is
    not as it must be; what the data cannot carry is a :class:`Lacking` instead.
    """

    source: Source
    settings: AnalysisSettings
    progress: Progress | None = None
    """Told of replicates and splits as they are done."""

    @cached_property
    def ratings(self) -> Ratings:
        """The comparative ratings, read once."""
        return load_ratings(self.source)

    @cached_property
    def draws(self) -> Draws:
        """The plan of every bootstrap."""
        return Draws(replicates=self.settings.resamples, seed=self.settings.seed)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that were rated."""
        return self.ratings.data.rubrics

    @cached_property
    def top(self) -> Level:
        """Models, or configurations where their names tell no models."""
        return default_level(self.ratings.data.entities, self.ratings.configs)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Configurations, and models where there are some."""
        return tuple(dict.fromkeys((Level.config, self.top)))

    @property
    def headline(self) -> str:
        """The rubric that orders the entities."""
        return "overall" if "overall" in self.rubrics else self.rubrics[0]

    # The board and what stands beside it

    @cached_property
    def board_settings(self) -> RankSettings:
        """How the boards are made."""
        return RankSettings(resamples=self.settings.resamples, seed=self.settings.seed)

    def _ranked(self, level: Level) -> Board:
        settings, progress = self.board_settings, self.progress
        return rank_able(self.ratings, level=level, rubrics=self.rubrics, settings=settings, progress=progress)

    @_part
    def board(self) -> Board:
        """Every entity's Elo on every rubric."""
        return self._ranked(self.top)

    @_part
    def config_board(self) -> Board:
        """The same of configurations."""
        return needed(self.board) if self.top is Level.config else self._ranked(Level.config)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The entities, best first where the headline rubric can be ranked."""
        found = given(self.board)
        ranked = [row.entity for row in found.rows if row.rubric == self.headline] if found else []
        return tuple(ranked) or self.ratings.at(self.top).entities

    @_part
    def latency(self) -> tuple[EloBesideLatency, ...]:
        """Every configuration's Elo with the latency of its answers."""
        run = self.source.run
        if run is None or not run.has("responses"):
            raise EstimationError("the run has no responses")
        return elo_beside_latency(needed(self.config_board), run.responses())

    @_part
    def slices(self) -> tuple[PromptSlice, ...]:
        """The board on every category, difficulty and recording condition."""
        _require(self._no_prompts)
        return slice_boards(self.ratings, self.rubrics, self.top, self.board_settings)

    @_part
    def engines(self) -> tuple[EngineAgreement, ...]:
        """How far the three ranking engines agree."""
        return engine_agreement(self.ratings, self.rubrics, self.levels)

    @_part
    def voices(self) -> tuple[ModelMargin, ...]:
        """Margins between the voices of each model."""
        _require(self._nameless)
        return model_margins(self.ratings, Level.voice, self.rubrics, self.draws)

    @_part
    def thinking(self) -> tuple[ModelMargin, ...]:
        """Margins between the thinking levels of each model."""
        _require(self._nameless)
        return model_margins(self.ratings, Level.thinking, self.rubrics, self.draws)

    @_part
    def head_to_head(self) -> tuple[Margin, ...]:
        """Margins between every two models."""
        _require(self._one_model)
        return head_to_head(self.ratings, self.order, self.rubrics, self.draws)

    # Mean opinion scores

    @cached_property
    def mos_ratings(self) -> MosTable | None:
        """The ratings of single responses, None where the run has none."""
        return load_mos(self.source) if self._has("mos") else None

    @_part
    def mos(self) -> tuple[MosSummary, ...]:
        """Every entity's MOS on every rubric."""
        found = self.mos_ratings
        if found is None:
            raise EstimationError("the run has no MOS ratings")
        return mos_summaries(found.at(self.top), found.data.rubrics, self.draws)

    @_part
    def beside(self) -> tuple[EloBesideMos, ...]:
        """Elo with the MOS of the same entity."""
        return elo_beside_mos(needed(self.board), given(self.mos) or ())

    @_part
    def overall_mos(self) -> tuple[MosSummary, ...]:
        """MOS, where the overall rubric was asked of single responses."""
        found = given(self.mos) or ()
        _require("" if any(one.rubric == "overall" for one in found) else "no MOS ratings of the overall rubric")
        return found

    @cached_property
    def rivals(self) -> tuple[str, ...]:
        """The model that people prefer first, the one with the best MOS second (if it is another), then the others."""
        best = [m.entity for m in given(self.mos) or () if m.rubric == "overall" and m.entity in self.order][:1]
        return tuple(dict.fromkeys([self.order[0], *best, *self.order[1:]]))

    @_part
    def difficulties(self) -> MosByDifficulty:
        """Overall MOS by difficulty."""
        needed(self.overall_mos)
        _require(self._no_prompts, self._one_model)
        if self.mos_ratings is None:
            raise ValueError("overall MOS without MOS ratings")
        return mos_by_difficulty(self.mos_ratings, self.rivals, self.draws)

    @_part
    def deltas(self) -> RivalDeltas:
        """The two rivals in both ways of asking."""
        mos = needed(self.overall_mos)
        _require(self._one_model)
        return rival_deltas(self.ratings, mos, self.rivals[0], self.rivals[1], self.draws)

    # Raters, rubrics, comments, prompts

    @_part
    def pool(self) -> RaterPool:
        """Who rated."""
        _require("" if self.source.raters else "the run has no raters")
        mos = self.mos_ratings.raters if self.mos_ratings else ()
        return rater_pool(list(self.source.raters.values()), self.ratings.raters, mos)

    @_part
    def prompts(self) -> PromptCounts:
        """What was asked."""
        _require(self._no_prompts)
        return prompt_counts(list(self.source.prompts.values()))

    @_part
    def agreement(self) -> tuple[RubricAgreement, ...]:
        """How far raters agree."""
        return agreements(self.ratings, self.rubrics)

    @_part
    def split_half(self) -> tuple[LevelSplitHalf, ...]:
        """How far the rankings by two halves of the raters agree."""
        _require("" if self.settings.splits else "--splits is 0")
        return split_halves(
            self.ratings,
            self.rubrics,
            self.levels,
            splits=self.settings.splits,
            seed=self.settings.seed,
            progress=self.progress,
        )

    @_part
    def groups(self) -> RubricClusters:
        """Which rubrics say the same."""
        return clusters(
            self.ratings,
            [r for r in self.rubrics if r != "overall"],
            level=self.top,
            k=2,
            draws=self.draws,
            halves=500,
            pool=published_pool(self.ratings.at(self.top).entities),
        )

    @_part
    def correlations(self) -> tuple[GroupCorrelation, ...]:
        """How far the rubrics correlate within and across the families."""
        return group_correlations(self.ratings, self.rubrics)

    @_part
    def themes(self) -> tuple[ThemeRate, ...]:
        """What comments speak of."""
        _require("" if self._has("comments") else "the run has no comments")
        return theme_rates(load_comments(self.source), load_lexicon(), self.top, self.draws)

    # Machines beside people

    @_part
    def measured(self) -> tuple[MeasuredMetric, ...]:
        """The automatic scores of the rated responses."""
        try:
            return tuple(load_measured(self.source, self.ratings))
        except InputError as error:  # a run without scores is a run all the same
            raise EstimationError(error.reason, path=error.path) from None

    @_part
    def scores(self) -> tuple[SystemScore, ...]:
        """Their means by entity."""
        return system_scores(self.ratings, needed(self.measured), self.top, self.draws)

    @_part
    def predictors(self) -> Predictors:
        """Which automatic score may stand in for people."""
        splits = min(self.settings.splits, 1000)
        metrics = needed(self.measured)
        return predict(self.ratings, metrics, self.rubrics, level=Level.config, draws=self.draws, splits=splits)

    @_part
    def judges(self) -> tuple[JudgeView, ...]:
        """Judge models beside people."""
        _require("" if self._has("judge_ratings") else "no judge model rated these pairs (vaeval judge)")
        return tuple(judge_views(self.ratings, load_judged(self.source), self.rubrics, self.top, self.draws))

    # Why a part cannot be made, empty if it can

    def _has(self, table: str) -> bool:
        run = self.source.run  # an export writes a table for everything it was asked for, also where there is nothing
        return run is not None and run.has(table) and read_parquet_table(run.path(table)).num_rows > 0

    @property
    def _no_prompts(self) -> str:
        return "" if self.source.prompts else "the run has no prompts"

    @property
    def _nameless(self) -> str:
        named = tells_models(self.ratings.data.entities, self.ratings.configs)
        return "" if named else "the names of the configurations tell no models and voices"

    @property
    def _one_model(self) -> str:
        several = self.top is Level.model and len(self.order) > 1
        return self._nameless or ("" if several else "there is one model")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTables:
    """The tables that could be made, and why others could not."""

    tables: tuple[Table, ...]
    missing: Mapping[str, Lacking]


def _overall_table(study: StudyAnalysis) -> Table:
    needed(study.overall_mos)
    return table_a4(needed(study.beside))


_THINKING = "Margins of higher over lower thinking"
_TABLES: Mapping[str, Callable[[StudyAnalysis], Table]] = {
    "A1": lambda study: pool_table(needed(study.pool)),
    "A2": lambda study: agreement_table(needed(study.agreement)),
    "A3": lambda study: split_half_table(needed(study.split_half)),
    "A4": _overall_table,
    "A5": lambda study: table_a5(needed(study.overall_mos)),
    "A6": lambda study: table_a6(needed(study.difficulties)),
    "A7": lambda study: table_a7(needed(study.deltas)),
    "A8": lambda study: correlation_table(needed(study.correlations)),
    "A9": lambda study: model_theme_table(needed(study.themes), study.order),
    "A10": lambda study: table_a10(needed(study.beside)),
    "mos": lambda study: mos_table(needed(study.mos)),
    "board": lambda study: board_table(needed(study.board)),
    "board_config": lambda study: board_table(needed(study.config_board), name="board_config"),
    "latency": lambda study: latency_table(needed(study.latency)),
    "board_slices": lambda study: slice_table(needed(study.slices)),
    "voice_margin": lambda study: margin_table("voice_margin", "Margins between voices", needed(study.voices)),
    "thinking": lambda study: margin_table("thinking", _THINKING, needed(study.thinking)),
    "head_to_head": lambda study: head_to_head_table(needed(study.head_to_head)),
    "engines": lambda study: engine_table(needed(study.engines)),
    "rubric_clusters": lambda study: cluster_table(needed(study.groups)),
    "rubric_tree": lambda study: tree_table(needed(study.groups)),
    "prompts": lambda study: prompt_table(needed(study.prompts)),
}


def study_tables(study: StudyAnalysis) -> StudyTables:
    """Return every published table of a run, and the reasons for those that cannot be made.

    Raises:
        InputError: the run has no ratings, or a table is not as it must be.
    """
    made: list[Table] = []
    missing: dict[str, Lacking] = {}
    for name, table in _TABLES.items():
        try:
            made.append(table(study))
        except EstimationError as error:
            path = Path(error.path) if error.path else None
            missing[name] = Lacking(reason=error.reason, rubric=error.rubric, path=path)
    return StudyTables(tables=tuple(made), missing=missing)


def machine_tables(study: StudyAnalysis) -> list[Table]:
    """Return what can be made of the tables that set automatic scores and judge models beside people."""
    scores, predictors, judges = given(study.scores), given(study.predictors), given(study.judges)
    out = [score_table(scores)] if scores else []
    out += predictor_tables(predictors) if predictors else []
    return out + (judge_tables(judges) if judges else [])
