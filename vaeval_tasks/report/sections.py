"""The sections that are made of plain tables, and what a reader should take from each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

from vaeval_tasks.analysis.agree.agreement import LevelSplitHalf, RubricAgreement
from vaeval_tasks.analysis.agree.judged import (
    AGREEMENT_NOTE,
    AGREEMENT_TITLE,
    BOARDS_NOTE,
    BOARDS_TITLE,
    JudgeBesidePeople,
    JudgedElo,
    JudgeView,
    elos_beside,
)
from vaeval_tasks.analysis.agree.rubric_groups import CORRELATION_NOTE, GroupCorrelation, cluster_notes
from vaeval_tasks.analysis.comments.themes import THEMES_TITLE, ThemeRate, theme_sizes
from vaeval_tasks.analysis.mos.mos_tables import DifficultyMos, RivalDelta, deltas_title, difficulties_title
from vaeval_tasks.analysis.pool import BANDS, POOL_TITLE, PROMPTS_TITLE, PoolCount, pool_notes, prompt_rows
from vaeval_tasks.analysis.predict.predictor_tables import (
    ACCURACY_NOTE,
    CEILING_NOTES,
    COMBINED_TITLE,
    SCORES_TITLE,
    predictors_title,
    words_about_width,
)
from vaeval_tasks.analysis.predict.predictors import Combined, Predictor
from vaeval_tasks.analysis.rank.board import Board
from vaeval_tasks.analysis.rank.elo_and_latency import LATENCY_NOTE, LATENCY_TITLE, EloBesideLatency
from vaeval_tasks.analysis.rank.slices import EngineAgreement
from vaeval_tasks.analysis.study_analysis import StudyAnalysis, given
from vaeval_tasks.analysis.table import rank_range
from vaeval_tasks.report.grids import Shown, figure_of, grid, sentences
from vaeval_tasks.report.records import Cell, Figure, Grid, PageSection, RubricTree, Scatter, ScatterPoint
from vaeval_tasks.rubrics import family_of, label_of
from vaeval_tasks.stats import Engine, RubricClusters

__all__ = ["sections"]

_MOST_MODELS = 27
"""A table of difficulties with two columns a model is not shown for more models than this."""

_DASH, _SPACE = "\u2060–\u2060", "\u00a0"
"""A dash between word joiners and a space, at which a line does not break."""
_ENGINES = {Engine.ordinal: "Ordinal", Engine.massey: "Massey", Engine.fractional: "Fractional"}


def _groups(study: StudyAnalysis) -> PageSection | None:
    found, blocks = given(study.groups), given(study.correlations)
    if found is None:
        return None
    correlations: tuple[Shown[GroupCorrelation], ...] = (
        Shown(head="Group", of=lambda g: g.name),
        Shown(head="ρ", of=lambda g: g.block.mean, digits=2),
        Shown(head="Pairs", of=lambda g: g.block.n_pairs),
    )
    title = "Mean correlation of rubrics within and across groups"
    return PageSection(
        key="groups",
        title="Rubric groups",
        lead="Rubrics grouped by what is left of their profiles once overall quality is taken out. "
        + sentences(*cluster_notes(found)),
        tree=_tree(found),
        grids=(
            _members(found),
            *((grid("A8", title, blocks, correlations, note=sentences(CORRELATION_NOTE)),) if blocks else ()),
        ),
    )


def _members(found: RubricClusters) -> Grid:
    """Return each rubric with its group: what the tree draws, for who cannot see it."""
    columns: tuple[Shown[tuple[str, int]], ...] = (
        Shown(head="Rubric", of=lambda row: label_of(row[0])),
        Shown(head="Group", of=lambda row: row[1]),
        Shown(head="Family", of=lambda row: family_of(row[0])),
    )
    rows = sorted(
        ((name, label + 1) for name, label in zip(found.rubrics, found.labels, strict=True)), key=lambda row: row[::-1]
    )
    return grid("rubric_clusters", f"Rubric groups, k = {found.k}", rows, columns, folded=True)


def _tree(found: RubricClusters) -> RubricTree:
    return RubricTree(
        labels=tuple(label_of(name) for name in found.rubrics),
        groups=found.labels,
        merges=tuple((int(left), int(right), float(distance)) for left, right, distance, _ in found.tree),
    )


def _split_half(found: Sequence[LevelSplitHalf]) -> Grid:
    """Return the split-half reliability with a row per rubric and two columns per level."""
    levels = list(dict.fromkeys(one.level for one in found))
    at = {(one.half.rubric, one.level): one.half for one in found}
    entities = {one.level: one.half.n_entities for one in found}
    columns: list[Shown[str]] = [Shown(head="Rubric", of=label_of)]
    for level in levels:
        head = f"ρ, {entities[level]} {level.value}s"
        columns.append(Shown(head=head, of=lambda rubric, level=level: at[rubric, level].mean))  # type: ignore[misc]
        columns.append(Shown(head="SD", of=lambda rubric, level=level: at[rubric, level].sd))  # type: ignore[misc]
    columns.append(Shown(head="Splits", of=lambda rubric: at[rubric, levels[0]].n_splits))
    columns.append(Shown(head="Raters", of=lambda rubric: at[rubric, levels[0]].n_raters))
    rubrics = dict.fromkeys(one.half.rubric for one in found)
    return grid("A3", "Split-half correlation of the ranking (Spearman)", rubrics, columns)


def _engines(found: Sequence[EngineAgreement]) -> Grid:
    columns: list[Shown[EngineAgreement]] = [
        Shown(head="Rubric", of=lambda one: label_of(one.rubric)),
        Shown(head="Ranked", of=lambda one: one.level.value),
        Shown(head="Entities", of=lambda one: one.n_entities),
    ]
    for a, b in combinations(Engine, 2):
        head = f"{_ENGINES[a]} ~ {_ENGINES[b]}"
        columns.append(Shown(head=head, of=lambda one, pair=(a, b): one.rho[pair]))  # type: ignore[misc]
    return grid("engines", "Do other ranking methods agree? (Spearman)", found, columns, folded=True)


def _agreement(study: StudyAnalysis) -> PageSection | None:
    found, halves, engines = given(study.agreement), given(study.split_half), given(study.engines)
    if found is None:
        return None
    columns: tuple[Shown[RubricAgreement], ...] = (
        Shown(head="Rubric", of=lambda one: label_of(one.name)),
        Shown(head="Krippendorff α", of=lambda one: one.found.alpha.value),
        Shown(head="ICC(1)", of=lambda one: one.found.icc.value),
        Shown(head="Gwet AC2", of=lambda one: one.found.ac.value),
        Shown(head="Units", of=lambda one: one.found.n_units),
        Shown(head="Singles", of=lambda one: one.found.n_single),
        Shown(head="Ratings", of=lambda one: one.found.n_ratings),
        Shown(head="Raters", of=lambda one: one.found.n_raters),
        Shown(head="Prompts", of=lambda one: one.found.n_prompts),
    )
    return PageSection(
        key="agreement",
        title="Agreement",
        lead="Single raters differ a good deal; the ranking that they make together is what has to be stable. "
        "Split-half compares the rankings by two random halves of the raters.",
        grids=(
            grid("A2", "Agreement of raters", found, columns),
            *((_split_half(halves),) if halves else ()),
            *((_engines(engines),) if engines else ()),
        ),
    )


def _mos(study: StudyAnalysis) -> PageSection | None:
    deltas, difficulties = given(study.deltas), given(study.difficulties)
    grids = []
    if deltas is not None:
        columns: tuple[Shown[RivalDelta], ...] = (
            Shown(head="Rubric", of=lambda one: label_of(one.margin.rubric)),
            Shown(head="MOS Δ", of=lambda one: one.mos_delta, digits=2),
            Shown(head="CMOS Δ", of=lambda one: figure_of(one.margin.margin, one.margin.interval), digits=2),
            Shown(head="Win rate", of=lambda one: one.margin.win_rate, digits=2),
            Shown(head="Ratings", of=lambda one: one.margin.n_ratings, digits=0),
            Shown(head="Raters", of=lambda one: one.margin.n_raters),
            Shown(head="Prompts", of=lambda one: one.margin.n_prompts),
        )
        grids.append(grid("A7", deltas_title(deltas), deltas.rows, columns))
    if difficulties is not None and len(difficulties.models) <= _MOST_MODELS:
        models = difficulties.models
        by_difficulty: list[Shown[DifficultyMos]] = [Shown(head="Difficulty", of=lambda one: one.difficulty)]
        by_difficulty += [Shown(head=m, of=lambda one, m=m: one.mean(m), digits=2) for m in models]  # type: ignore[misc]
        by_difficulty.append(Shown(head="Gap", of=lambda one: one.gap, digits=2))
        by_difficulty += [Shown(head=f"Ratings, {m}", of=lambda one, m=m: one.n_ratings(m)) for m in models]  # type: ignore[misc]
        by_difficulty.append(Shown(head="Prompts", of=lambda one: one.n_prompts))
        grids.append(grid("A6", difficulties_title(difficulties), difficulties.rows, by_difficulty))
    if not grids:
        return None
    return PageSection(
        key="mos",
        title="MOS and CMOS",
        lead="Asked about one response at a time, people answer another question than side by side.",
        grids=tuple(grids),
    )


def _scores(study: StudyAnalysis, board: Board) -> PageSection | None:
    found = given(study.scores)
    if not found:
        return None
    entities, rows = board.best_first, board.rows
    people = {row.entity: row for row in rows if row.rubric == rows[0].rubric}
    by_metric = {one.metric: {other.entity: other for other in found if other.metric == one.metric} for one in found}
    about = {one.metric: one for one in found}
    label = label_of(rows[0].rubric)

    def place(entity: str) -> str:
        row = people[entity]
        return f"{row.elo:.0f} (rank{_SPACE}{rank_range(row.rank_low, row.rank_high, _DASH) or '–'})"

    def mean(metric: str, entity: str) -> Figure | None:
        one = by_metric[metric].get(entity)
        return figure_of(one.mean, one.interval) if one else None

    first: tuple[Cell, ...] = (
        f"People: {label[:1].lower()}{label[1:]}, Elo",
        "higher",
        *(place(entity) for entity in entities),
    )
    columns: list[Shown[str]] = [
        Shown(head="Metric", of=lambda metric: about[metric].label),
        Shown(head="Better", of=lambda metric: about[metric].direction.value),
        *(Shown(head=e, of=lambda metric, e=e: mean(metric, e), digits=2) for e in entities),  # type: ignore[misc]
    ]
    counts = {metric: sum(one.n_scored for one in rows.values()) for metric, rows in by_metric.items()}
    note = "Scored responses: " + ", ".join(f"{about[m].label} {n}" for m, n in counts.items()) + "."
    shown = grid("scores", SCORES_TITLE, by_metric, columns, note=note, shaded=True)
    return PageSection(
        key="scores",
        title="Automatic scores",
        lead="Metrics of the same responses, beside people’s ranking. Models are in the order of people’s preference; "
        "shading compares along a row.",
        grids=(replace(shown, rows=(first, *shown.rows), shades=((None,) * len(columns), *shown.shades)),),
    )


def _latency(study: StudyAnalysis) -> PageSection | None:
    found = given(study.latency)
    if not found:
        return None
    numbers = {one.place.entity: i for i, one in enumerate(found, 1)}
    label = label_of(found[0].place.rubric)

    def time(measure: str, q: str) -> Callable[[EloBesideLatency], Figure]:
        def of(one: EloBesideLatency) -> Figure:
            estimate = one.quantile(measure, q)
            return Figure(value=estimate.value, low=estimate.low, high=estimate.high, reason=estimate.reason)

        return of

    def elo(one: EloBesideLatency) -> Figure:
        return Figure(value=one.place.elo, low=one.place.low, high=one.place.high)

    first = time("first_audio_s", "p50")
    columns: tuple[Shown[EloBesideLatency], ...] = (
        Shown(head="Configuration", of=lambda one: f"{numbers[one.place.entity]}. {one.place.entity}"),
        Shown(head="Elo", of=elo, digits=0),
        Shown(head="First audio, median (s)", of=first, digits=2),
        Shown(head="90 % (s)", of=time("first_audio_s", "p90"), digits=2),
        Shown(head="End, median (s)", of=time("total_s", "p50"), digits=2),
        Shown(head="90 % (s)", of=time("total_s", "p90"), digits=2),
        Shown(head="Answers", of=lambda one: one.quantile("first_audio_s", "p50").n),
        Shown(head="Speech sent", of=lambda one: ", ".join(one.paces) or "not recorded"),
    )
    points = tuple(
        ScatterPoint(number=numbers[one.place.entity], name=one.place.entity, x=first(one), y=elo(one))
        for one in found
        if first(one).value is not None
    )
    caption = f"{label}, Elo (upwards), above the median seconds to the first audio, with 95 % intervals."
    return PageSection(
        key="latency",
        title="Latency",
        lead="What people prefer, beside how long they would have waited: raters heard recordings and did not wait.",
        grids=(grid("latency", LATENCY_TITLE, found, columns, note=sentences(LATENCY_NOTE)),),
        scatter=Scatter(caption=caption, points=points) if points else None,
    )


def _predictors(study: StudyAnalysis) -> PageSection | None:
    found = given(study.predictors)
    if found is None:
        return None
    labels = {metric.name: metric.label for metric in found.metrics}
    held: tuple[Shown[Combined], ...] = (
        Shown(head="Rubric", of=lambda one: label_of(one.rubric)),
        Shown(
            head="Metrics",
            of=lambda one: ", ".join(f"{labels[m]} {w:+.2f}" for m, w in zip(one.metrics, one.weights, strict=True)),
        ),
        Shown(head="Spearman ρ", of=lambda one: figure_of(one.spearman.value, one.spearman), digits=2),
        Shown(head="Split-half", of=lambda one: one.split_half, digits=2),
        Shown(head="Ceiling", of=lambda one: one.ceiling, digits=2),
        Shown(head="Of the ceiling", of=lambda one: one.share, digits=2),
        Shown(head="Accuracy", of=lambda one: figure_of(one.accuracy.value, one.accuracy)),
        Shown(head="Accuracy ceiling", of=lambda one: one.accuracy_ceiling),
        Shown(head="Choices", of=lambda one: one.accuracy.n),
    )
    each: tuple[Shown[Predictor], ...] = (
        Shown(head="Rubric", of=lambda one: label_of(one.rubric)),
        Shown(head="Metric", of=lambda one: labels[one.metric]),
        Shown(head="Better", of=lambda one: one.direction.value),
        Shown(head="Spearman ρ", of=lambda one: figure_of(one.spearman.value, one.spearman), digits=2),
        Shown(head="Kendall τ", of=lambda one: figure_of(one.kendall.value, one.kendall), digits=2),
        Shown(head="Accuracy", of=lambda one: figure_of(one.accuracy.value, one.accuracy)),
        Shown(head="Calibration error", of=lambda one: one.calibration_error),
        Shown(head="Choices", of=lambda one: one.accuracy.n),
        Shown(head="Systems", of=lambda one: one.n_systems),
        Shown(head="Scored", of=lambda one: one.n_scored),
    )
    note = sentences(ACCURACY_NOTE)
    return PageSection(
        key="predictors",
        title="Predictors",
        lead="Which metric may stand in for people, and for what? " + " ".join(words_about_width(found)),
        grids=(
            grid("predictors_combined", COMBINED_TITLE, found.combined, held, note=sentences(*CEILING_NOTES)),
            grid("predictors", predictors_title(found), found.rows, each, note=note, folded=True),
        ),
    )


def _judges(study: StudyAnalysis) -> PageSection | None:
    found = given(study.judges)
    if not found:
        return None
    columns: tuple[Shown[JudgeView], ...] = (
        Shown(head="Rubric", of=lambda one: label_of(one.rubric)),
        Shown(head="Judge", of=lambda one: one.judge),
        Shown(head="Accuracy", of=lambda one: figure_of(one.accuracy.value, one.accuracy)),
        Shown(head="Accuracy ceiling", of=lambda one: one.accuracy_ceiling),
        Shown(head="Spearman ρ", of=lambda one: one.spearman, digits=2),
        Shown(head="Lean to first", of=lambda one: one.bias.first_margin, digits=2),
        Shown(head="Flips", of=lambda one: one.bias.flips, digits=2),
        Shown(head="Position, log odds", of=lambda one: one.bias.beta, digits=2),
        Shown(head="SE", of=lambda one: one.bias.se, digits=2),
        Shown(head="Choices", of=lambda one: one.accuracy.n),
        Shown(head="Pairs", of=lambda one: one.bias.n_pairs),
        Shown(head="Ratings", of=lambda one: one.n_ratings),
    )

    def elo(placed: JudgedElo | None) -> Figure | None:
        return figure_of(placed.elo, placed.interval) if placed else None

    boards: tuple[Shown[JudgeBesidePeople], ...] = (
        Shown(head="Rubric", of=lambda one: label_of(one.rubric)),
        Shown(head="Judge", of=lambda one: one.judge),
        Shown(head="Entity", of=lambda one: one.entity),
        Shown(head="People’s Elo", of=lambda one: elo(one.by_people), digits=0),
        Shown(head="People’s ratings", of=lambda one: one.by_people.n_ratings if one.by_people else None, digits=0),
        Shown(head="Judge’s Elo", of=lambda one: elo(one.by_judge), digits=0),
        Shown(head="Judge’s ratings", of=lambda one: one.by_judge.n_ratings if one.by_judge else None, digits=0),
    )
    beside = [row for view in found for row in elos_beside(view)]
    return PageSection(
        key="judges",
        title="Judge models",
        lead="Chat models that heard the same pairs in both orders. They are not people, and no rating of theirs is in "
        "any other number on this page.",
        grids=(
            grid("judge", AGREEMENT_TITLE, found, columns, note=sentences(AGREEMENT_NOTE)),
            grid("judge_board", BOARDS_TITLE, beside, boards, note=sentences(BOARDS_NOTE), folded=True),
        ),
    )


def _comments(study: StudyAnalysis, entities: Sequence[str]) -> PageSection | None:
    found = given(study.themes)
    if not found:
        return None
    cells = {(one.theme, one.entity): one for one in found}

    def percent(one: ThemeRate | None) -> Figure | None:
        if one is None or one.rate is None:
            return None
        low, high = (None if end is None else 100 * end for end in (one.interval.low, one.interval.high))
        return Figure(value=100 * one.rate, low=low, high=high, reason=one.reason)

    columns: list[Shown[str]] = [Shown(head="Theme", of=lambda theme: theme)]
    columns += [Shown(head=e, of=lambda theme, e=e: percent(cells.get((theme, e))), digits=1) for e in entities]  # type: ignore[misc]
    themes = dict.fromkeys(one.theme for one in found)
    return PageSection(
        key="comments",
        title="Comments",
        lead="What people wrote about single responses: the share of each model’s comments that mention a theme. "
        "Shading compares along a row; themes overlap.",
        grids=(grid("A9", THEMES_TITLE, themes, columns, note=sentences(theme_sizes(found, entities)), shaded=True),),
    )


def _panel(study: StudyAnalysis) -> PageSection | None:
    pool, prompts = given(study.pool), given(study.prompts)
    grids = []
    if pool is not None:
        columns: list[Shown[PoolCount]] = [
            Shown(head="Gender", of=lambda one: one.gender),
            Shown(head="Pool", of=lambda one: one.pool),
            *(Shown(head=band, of=lambda one, i=i: one.by_age[i]) for i, (band, _, _) in enumerate(BANDS)),  # type: ignore[misc]
            Shown(head="Age unknown", of=lambda one: one.age_unknown),
            Shown(head="Total", of=lambda one: one.total),
        ]
        grids.append(grid("A1", POOL_TITLE, pool.rows, columns, note=sentences(*pool_notes(pool))))
    if prompts is not None:
        counts: tuple[Shown[tuple[str, int]], ...] = (
            Shown(head="Difficulty", of=lambda row: row[0]),
            Shown(head="Prompts", of=lambda row: row[1]),
        )
        grids.append(grid("prompts", PROMPTS_TITLE, prompt_rows(prompts), counts))
    return PageSection(key="panel", title="Panel", grids=tuple(grids)) if grids else None


def sections(study: StudyAnalysis, board: Board) -> tuple[PageSection, ...]:
    """Return the sections that the analysis can fill.

    Args:
        study: the analysis of a run.
        board: its board.
    """
    found = (
        _groups(study),
        _agreement(study),
        _mos(study),
        _latency(study),
        _scores(study, board),
        _predictors(study),
        _judges(study),
        _comments(study, board.best_first),
        _panel(study),
    )
    return tuple(section for section in found if section is not None)
