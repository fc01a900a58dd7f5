"""The board of a run: the records of the analysis, put in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from vaeval_tasks import __version__
from vaeval_tasks.analysis.load.ratings import Ratings
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.rank.board import Board, BoardRow
from vaeval_tasks.analysis.rank.margins import ModelMargin
from vaeval_tasks.analysis.rank.slices import SLICE_METHOD, PromptSlice
from vaeval_tasks.analysis.study_analysis import (
    AnalysisSettings,
    Lacking,
    StudyAnalysis,
    given,
    machine_tables,
    needed,
    study_tables,
)
from vaeval_tasks.report.cards import config_cards, samples
from vaeval_tasks.report.grids import figure_of
from vaeval_tasks.report.records import (
    BoardPage,
    Download,
    Figure,
    MarginGroup,
    MarginRow,
    Opinion,
    PlacedEntity,
    RubricPage,
    SliceRanking,
)
from vaeval_tasks.report.sections import sections
from vaeval_tasks.rubrics import RUBRICS, Rubric, rubric
from vaeval_tasks.stats import MosSummary, method
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt, Response

__all__ = ["METHODOLOGY", "ReportSettings", "study_board"]

METHODOLOGY = "DAI-S2S-ST, model ranking of 2026-09-17, as vaeval reads it (1)"
"""What the numbers of a board mean; the number in brackets grows when their meaning changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    """How a board is made."""

    title: str = "Preference board"
    rater_kind: str = ""
    """``human`` or ``simulated``, where a run holds both."""
    resamples: int = 1000
    splits: int = 20_000
    seed: int = 0
    samples: int = 3
    """Public prompts in the sample player, at most."""


def _placed(row: BoardRow) -> PlacedEntity:
    return PlacedEntity(
        entity=row.entity,
        elo=Figure(value=row.elo, low=row.low, high=row.high),
        rank_low=row.rank_low,
        rank_high=row.rank_high,
        n_ratings=int(row.n_ratings),
        n_raters=row.n_raters,
        n_prompts=row.n_prompts,
    )


def _opinions(found: Iterable[MosSummary], order: Sequence[str]) -> tuple[Opinion, ...]:
    by_entity = {
        one.entity: Opinion(
            entity=one.entity,
            mean=figure_of(one.mean, one.interval, one.reason),
            shares=one.distribution,
            n_ratings=int(one.coverage.n_ratings),
        )
        for one in found
    }
    return tuple(by_entity[entity] for entity in order if entity in by_entity)


def _slice(one: PromptSlice, entities: Sequence[str]) -> SliceRanking:
    placed = {row.entity: _placed(row) for row in one.rows}
    missing = Figure(value=None, reason="not rated here")
    return SliceRanking(
        group=one.field,
        value=one.value.replace("_", " ") if one.field == "condition" else one.value,
        n_ratings=one.n_ratings,
        standings=tuple(placed.get(e, PlacedEntity(entity=e, elo=missing)) for e in entities) if placed else (),
        reason=one.reason,
    )


def _page(about: Rubric, study: StudyAnalysis, board: Board) -> RubricPage:
    """Return what is known of one of the 12 rubrics, with the reason where it was not rated or ranked."""
    standings = tuple(_placed(row) for row in board.rows if row.rubric == about.key)
    if not standings:
        told = next((one.reason for one in board.unranked if one.rubric == about.key), "")
        return RubricPage(
            rubric=about,
            standings=(),
            reason=f"Not ranked: {told}." if told else "Nobody was asked this question.",
        )
    opinions = [one for one in given(study.mos) or () if one.rubric == about.key]
    slices = [one for one in given(study.slices) or () if one.rubric == about.key]
    return RubricPage(
        rubric=about,
        standings=standings,
        opinions=_opinions(opinions, [s.entity for s in standings]),
        slices=tuple(_slice(one, board.best_first) for one in slices),
    )


def _margins(part: tuple[ModelMargin, ...] | Lacking, order: Sequence[str]) -> tuple[MarginGroup, ...]:
    """Return the head-to-head margins of two voices or thinking levels, model by model."""
    groups: dict[tuple[str, str, str], list[MarginRow]] = {}
    for one in given(part) or ():
        m = one.margin
        groups.setdefault((one.model, one.first, one.second), []).append(
            MarginRow(
                rubric=rubric(m.rubric),
                margin=figure_of(m.margin, m.interval, m.reason),
                significant=m.significant,
                win_rate=m.win_rate,
                n_ratings=int(m.n_ratings),
            )
        )
    place = {model: i for i, model in enumerate(order)}
    ordered = sorted(groups, key=lambda key: place.get(key[0], len(place)))
    return tuple(MarginGroup(model=m, first=a, second=b, rows=tuple(groups[m, a, b])) for m, a, b in ordered)


def _notices(run: RunDir, ratings: Ratings) -> tuple[str, ...]:
    kinds = {ratings.rater_info[r].kind for r in ratings.raters if r in ratings.rater_info}
    out = []
    if "simulated" in kinds or run.manifest().get("about", {}).get("simulated"):
        out.append("Simulated raters. Every rating here was drawn by a computer; no person listened to anything.")
    if "judge" in kinds:
        out.append("The raters of this board are judge models, not people.")
    if len(ratings.raters) == 1:
        out.append("There is one rater, so nothing tells how raters differ; intervals are over prompts alone.")
    return tuple(out)


def _summary(ratings: Ratings, entities: Sequence[str]) -> tuple[str, ...]:
    data = ratings.data
    n = f"{int(data.weight.sum()):,}".replace(",", "\u202f")
    raters = f"by {data.n_raters} raters" if ratings.has_raters else "by raters who are not named"
    return (
        f"{len(entities)} models",
        f"{len(data.entities)} configurations",
        f"{n} ratings {raters}",
        f"{data.n_prompts} prompts" if ratings.has_prompts else "prompts not named",
        f"{len(data.rubrics)} rubrics",
    )


def _method(run: RunDir, settings: ReportSettings, study: StudyAnalysis) -> tuple[tuple[str, str], ...]:
    known = run.manifest()["tables"]
    there = [name for name in ("ratings", "mos", "comments", "scores") if name in known and run.has(name)]
    hashes = [f"{name} {known[name]['sha256'][:12]}" for name in there]
    return (
        (
            "Elo",
            "1000 + (400 / ln 10) · s, with the strengths s of each rubric's own fit; the mean of the models is 1000.",
        ),
        ("Model", method(study.board_settings) + "."),
        (
            "Ranks",
            "Two models are told apart where the interval of their difference excludes 0; else they share a range.",
        ),
        ("Slices", f"{SLICE_METHOD}." if given(study.slices) is not None else "None."),
        ("Kinds of raters", "People, simulated raters and judge models are never mixed in one fit."),
        ("Seed", f"{settings.seed}, {settings.resamples} resamples, {settings.splits} rater halves"),
        ("Methodology", METHODOLOGY),
        ("Software", f"vaeval {__version__}"),
        ("Data (SHA-256)", "; ".join(hashes) or "no hashes were kept"),
    )


def _left_out(study: StudyAnalysis, shown: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the parts of a full board that are not there, and why.

    Args:
        study: the analysis; what it lacks names its reason.
        shown: parts that may be empty although nothing went wrong.
    """
    parts: dict[str, object] = {
        "Mean opinion scores": study.mos,
        "Slices by category, difficulty and condition": study.slices,
        "Voices": study.voices,
        "Thinking levels": study.thinking,
        "Rubric groups": study.groups,
        "Split-half reliability": study.split_half,
        "Latency": study.latency,
        "Automatic scores": study.scores,
        "Predictors": study.predictors,
        "Judge models": study.judges,
        "Comments": study.themes,
        "Rater pool": study.pool,
        "Prompt counts": study.prompts,
    }
    empty = {
        "Voices": "No model has two voices that were compared",
        "Thinking levels": "No model has two thinking levels that were compared",
        "Systems": "The run has no configs.yaml",
        "Samples": "No prompt is marked public and has its audio in the run",
    }
    out = []
    for name in (*parts, *(name for name in empty if name not in parts)):
        part = parts.get(name)
        if isinstance(part, Lacking):
            out.append((name, _sentence(part)))
        elif name in shown and not shown[name]:
            out.append((name, f"{empty[name]}."))
    return tuple(out)


def _sentence(lacking: Lacking) -> str:
    """Return a reason as a sentence; it names no file: a public page tells no place on a machine."""
    said = f"rubric {lacking.rubric!r}: {lacking.reason}" if lacking.rubric is not None else lacking.reason
    return f"{said[:1].upper()}{said[1:].rstrip('.')}."


def study_board(run: RunDir, settings: ReportSettings, *, progress: Callable[[int], object] | None = None) -> BoardPage:
    """Return the board of a run.

    Every number is one of the records that ``vaeval tables`` and ``vaeval predictors`` write with the same settings.

    Args:
        run: with ratings; everything else may be missing.
        settings: title, seeds, sizes.
        progress: told of replicates and splits as they are done.

    Raises:
        InputError: the run has no ratings, or a table is not as it must be.
        EstimationError: the ratings cannot be ranked.
    """
    how = AnalysisSettings(resamples=settings.resamples, splits=settings.splits, seed=settings.seed)
    study = StudyAnalysis(source=Source(path=run.root, rater_kind=settings.rater_kind), settings=how, progress=progress)
    board = needed(study.board)
    entities, configs = board.best_first, study.source.configs
    responses: list[Response] = run.responses()
    prompts: list[Prompt] = run.read("prompts") if run.has("prompts") else []
    voices, thinking = _margins(study.voices, entities), _margins(study.thinking, entities)
    cards = config_cards(configs, responses, entities)
    played = samples(run, prompts, responses, configs, entities, settings.samples)
    tables = [*study_tables(study).tables, *machine_tables(study)]
    return BoardPage(
        title=settings.title,
        summary=_summary(study.ratings, entities),
        notices=_notices(run, study.ratings),
        pages=tuple(_page(about, study, board) for about in RUBRICS),
        entities=entities,
        voices=voices,
        thinking=thinking,
        sections=sections(study, board),
        cards=cards,
        samples=played,
        left_out=_left_out(study, {"Voices": voices, "Thinking levels": thinking, "Systems": cards, "Samples": played}),
        method=_method(run, settings, study),
        downloads=tuple(Download(name=t.name, title=t.title, rows=len(t.rows), csv=t.csv()) for t in tables if t.rows),
    )
