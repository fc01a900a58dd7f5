"""The board of a run: the tables of the analysis, put in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vaeval_tasks import __version__
from vaeval_tasks.analysis.agree.judged import judge_tables, judge_views, load_judged
from vaeval_tasks.analysis.load.entities import Level, default_level
from vaeval_tasks.analysis.load.measured import load_measured
from vaeval_tasks.analysis.load.ratings import Ratings, load_ratings
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.predict.predictor_tables import predictor_tables
from vaeval_tasks.analysis.predict.predictors import predict
from vaeval_tasks.analysis.predict.score_table import score_table
from vaeval_tasks.analysis.study_tables import StudyTables, study_tables
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError, InputError
from vaeval_tasks.report.cards import config_cards, samples
from vaeval_tasks.report.parts import margin_groups, rubric_pages
from vaeval_tasks.report.records import Board, Download
from vaeval_tasks.report.sections import sections
from vaeval_tasks.report.snapshot import snapshot
from vaeval_tasks.stats import Draws, RankSettings, method
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt, Response

__all__ = ["METHODOLOGY", "BoardSettings", "study_board"]

METHODOLOGY = "DAI-S2S-ST, model ranking of 2026-09-17, as vaeval reads it (1)"
"""What the numbers of a board mean; the number in brackets grows when their meaning changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardSettings:
    """How a board is made."""

    title: str = "Preference board"
    rater_kind: str = ""
    """``human`` or ``simulated``, where a run holds both."""
    resamples: int = 1000
    splits: int = 20_000
    seed: int = 0
    samples: int = 3
    """Public prompts in the sample player, at most."""


def _bridge(source: Source, ratings: Ratings, settings: BoardSettings) -> StudyTables:
    """Return automatic scores, predictors and judges, each with the reason where there are none."""
    draws = Draws(replicates=settings.resamples, seed=settings.seed)
    level = default_level(ratings.data.entities, ratings.configs)
    rubrics = ratings.data.rubrics
    tables: list[Table] = []
    missing: dict[str, str] = {}
    try:
        metrics = load_measured(source, ratings)
        tables.append(score_table(ratings, metrics, level, draws))
        found = predict(ratings, metrics, rubrics, level=Level.config, draws=draws, splits=min(settings.splits, 1000))
        tables += predictor_tables(found)
    except (InputError, EstimationError) as error:
        missing["scores" if not tables else "predictors"] = _told(error, source)
    if source.run is not None and source.run.has("judge_ratings"):
        tables += judge_tables(judge_views(ratings, load_judged(source), rubrics, level, draws))
    else:
        missing["judge"] = "no judge model rated these pairs (vaeval judge)"
    return StudyTables(tables=tuple(tables), missing=missing)


def _told(error: Exception, source: Source) -> str:
    """Return what an error says without the folder it is about: a public page names no place on a machine."""
    return str(error).replace(f"{source.path}: ", "").replace(f"{source.path}/", "")


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


def _method(run: RunDir, settings: BoardSettings, tables: Mapping[str, Table]) -> tuple[tuple[str, str], ...]:
    known = run.manifest()["tables"]
    there = [name for name in ("ratings", "mos", "comments", "scores") if name in known and run.has(name)]
    hashes = [f"{name} {known[name]['sha256'][:12]}" for name in there]
    return (
        (
            "Elo",
            "1000 + (400 / ln 10) · s, with the strengths s of each rubric's own fit; the mean of the models is 1000.",
        ),
        ("Model", method(RankSettings(resamples=settings.resamples, seed=settings.seed)) + "."),
        (
            "Ranks",
            "Two models are told apart where the interval of their difference excludes 0; else they share a range.",
        ),
        ("Slices", tables["board_slices"].title + "." if "board_slices" in tables else "None."),
        ("Kinds of raters", "People, simulated raters and judge models are never mixed in one fit."),
        ("Seed", f"{settings.seed}, {settings.resamples} resamples, {settings.splits} rater halves"),
        ("Methodology", METHODOLOGY),
        ("Software", f"vaeval {__version__}"),
        ("Data (SHA-256)", "; ".join(hashes) or "no hashes were kept"),
    )


def _models(tables: Mapping[str, Table]) -> tuple[str, ...]:
    rows = tables["board"].rows
    return tuple(row["entity"] for row in rows if row["rubric"] == rows[0]["rubric"])


def _left_out(parts: Mapping[str, bool], missing: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the parts that are not there with the reason that the tables gave."""
    names: dict[str, Sequence[str]] = {
        "Mean opinion scores": ("mos",),
        "Slices by category, difficulty and condition": ("board_slices",),
        "Voices": ("voice_margin",),
        "Thinking levels": ("thinking",),
        "Rubric groups": ("rubric_clusters",),
        "Split-half reliability": ("A3",),
        "Automatic scores": ("scores",),
        "Predictors": ("predictors", "scores"),
        "Judge models": ("judge",),
        "Comments": ("A9",),
        "Rater pool": ("A1",),
        "Prompt counts": ("prompts",),
    }
    own = {
        "Voices": "No model has two voices that were compared.",
        "Thinking levels": "No model has two thinking levels that were compared.",
        "Systems": "The run has no configs.yaml.",
        "Samples": "No prompt is marked public and has its audio in the run.",
    }
    out = []
    for part, there in parts.items():
        told = next((missing[name] for name in names.get(part, ()) if name in missing), own.get(part, ""))
        if not there:
            out.append((part, told[:1].upper() + told[1:].rstrip(".") + "."))
    return tuple(out)


def study_board(run: RunDir, settings: BoardSettings, *, progress: Callable[[int], object] | None = None) -> Board:
    """Return the board of a run.

    Every number is one of the tables that ``vaeval tables`` and ``vaeval predictors`` write with the same settings.

    Args:
        run: with ratings; everything else may be missing.
        settings: title, seeds, sizes.
        progress: told of replicates and splits as they are done.

    Raises:
        InputError: the run has no ratings, or a table is not as it must be.
        EstimationError: the ratings cannot be ranked.
    """
    source = Source(path=run.root, rater_kind=settings.rater_kind)
    ratings = load_ratings(source)
    made = study_tables(
        source, resamples=settings.resamples, splits=settings.splits, seed=settings.seed, progress=progress
    )
    bridge = _bridge(source, ratings, settings)
    tables = {table.name: table for table in (*made.tables, *bridge.tables)}
    if "board" not in tables:
        raise EstimationError(made.missing["board"])
    entities = _models(tables)
    responses: list[Response] = run.responses()
    prompts: list[Prompt] = run.read("prompts") if run.has("prompts") else []
    pages = rubric_pages(tables, entities)
    method_ = _method(run, settings, tables)
    board = Board(
        title=settings.title,
        summary=_summary(ratings, entities),
        notices=_notices(run, ratings),
        pages=pages,
        entities=entities,
        voices=margin_groups(tables.get("voice_margin"), entities),
        thinking=margin_groups(tables.get("thinking"), entities),
        sections=sections(tables, entities),
        cards=config_cards(source.configs, responses, entities),
        samples=samples(run, prompts, responses, source.configs, entities, settings.samples),
        method=method_,
        downloads=tuple(
            Download(name=t.name, title=t.title, rows=len(t.rows), csv=t.csv()) for t in tables.values() if t.rows
        ),
        snapshot=snapshot(settings.title, pages, method=dict(method_)),
    )
    return replace(board, left_out=_left_out(_there(board, tables), {**made.missing, **bridge.missing}))


def _there(board: Board, tables: Mapping[str, Any]) -> dict[str, bool]:
    return {
        "Mean opinion scores": "mos" in tables,
        "Slices by category, difficulty and condition": "board_slices" in tables,
        "Voices": bool(board.voices),
        "Thinking levels": bool(board.thinking),
        "Rubric groups": "rubric_clusters" in tables,
        "Split-half reliability": "A3" in tables,
        "Automatic scores": "scores" in tables,
        "Predictors": "predictors" in tables,
        "Judge models": "judge" in tables,
        "Comments": "A9" in tables,
        "Rater pool": "A1" in tables,
        "Prompt counts": "prompts" in tables,
        "Systems": bool(board.cards),
        "Samples": bool(board.samples),
    }
