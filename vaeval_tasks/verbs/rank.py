"""``rank``: the board from ratings."""

from __future__ import annotations

from collections.abc import Iterable

from vaeval_tasks.analysis.load.entities import Level, default_level
from vaeval_tasks.analysis.load.ratings import load_ratings, pick_rubrics
from vaeval_tasks.analysis.rank import board as board_of
from vaeval_tasks.analysis.rank.board import Board
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.stats import Ci, Engine, RankSettings
from vaeval_tasks.verbs.options import FEWEST_DRAWS, MOST_DRAWS, finite, member, names_of, pairs_of, whole
from vaeval_tasks.verbs.source import Columns, Data, Scores, Where, source_of

__all__ = ["rank"]


def rank(
    source: Data,
    *,
    columns: Columns | None = None,
    scores: Scores | None = None,
    scale: str = "",
    bins: int = 0,
    where: Where | None = None,
    encoding: str = "auto",
    format: str = "",
    pattern: str = "",
    key: str | None = None,
    wide: str = "",
    duplicates: str = "error",
    any_rubric: bool = False,
    rubrics_file: str | None = None,
    raters: str | None = None,
    by: Level | str | None = None,
    rubric: str | Iterable[str] | None = None,
    engine: Engine | str = Engine.ordinal,
    ci: Ci | str = Ci.bootstrap,
    seed: int = 0,
    resamples: int = 1000,
    ridge: float = 0.0,
    difference: Iterable[tuple[str, str]] = (),
    side: bool = False,
    progress: bool = True,
) -> Board:
    """Rank models, configurations, voices or thinking levels from comparative ratings, as ``vaeval rank`` does.

    Example::

        board = vaeval.rank(frame, columns={"score": "rating"}, scores={"a": 1, "b": -1, "same": 0}, ci="sandwich")
        board.to_pandas()                     # one row an entity and rubric: elo, low, high, rank_low, rank_high, …
        board.to_pandas("differences")        # of vaeval.rank(…, difference=[("x", "y")])

    Args:
        source: a pandas or polars frame, an Arrow table, a mapping of columns, a list of rows, the path of a file, or a
            run folder, with the columns prompt, a, b, rater, score (-3 to 3, positive where ``a`` is preferred), and
            optionally rubric, count and left_is_a. Messages count its rows from 1, as in a file.
        columns: our names to yours.
        scores: words for scores; ``"drop"`` leaves their rows out.
        scale: of the scores, ``0..100`` or ``1..5:0.5``; ``100..0``: the low end prefers ``a``. By default -3..3, or
            found and said.
        bins: comparisons are put on so many levels (an odd number); 0: on those of their scale.
        where: only such prompts (of a run: category, level, difficulty, condition) or rows (else: any column).
        encoding: of a text file; found where none is named.
        format: the tool whose export it is; found by the columns where none is named; ``plain``: nobody's.
        pattern: of an export, a regular expression that takes systems and prompts out of the names of its items.
        key: of an export that does not name its systems, a table with the columns item, and a, b or config.
        wide: a regular expression; columns that are called so hold ratings, and its named groups say of what.
        duplicates: what to do with a second rating by one rater of the same thing: ``error``, ``last``, ``keep``.
        any_rubric: take rubric names that are not of the study's twelve.
        rubrics_file: questions of your own: YAML, a list of key and optionally label, text, group.
        raters: ``human``, ``simulated`` or ``judge``, where a run holds several kinds.
        by: ``model``, ``config``, ``voice`` or ``thinking``; by default models where the names tell them.
        rubric: only this one, or these.
        engine: ``ordinal`` Bradley-Terry, ``massey``, or ``fractional``.
        ci: intervals by ``bootstrap`` (as published), ``sandwich``, or ``iid``.
        seed: of everything drawn.
        resamples: of the bootstrap, 20 to 1,000,000.
        ridge: a penalty where no finite fit exists.
        difference: pairs of entities whose difference is wanted, with its interval.
        side: also look for an advantage of the side shown first.
        progress: show a bar on a terminal or in a notebook.

    Raises:
        InputError: a row is wrong (the message names row and column), or an option is.
        UnknownNameError: there is no such option value, rubric, column or entity.
        EstimationError: the ratings have no finite ranking; the message says why.
    """
    pairs = pairs_of("difference", [difference] if _is_one(difference) else difference, "[('a', 'b')]")  # type: ignore[list-item]
    settings = RankSettings(
        engine=member("engine", engine, Engine),
        ci=member("ci", ci, Ci),
        resamples=whole("resamples", resamples, FEWEST_DRAWS, MOST_DRAWS),
        seed=whole("seed", seed, 0),
        ridge=finite("ridge", ridge),
    )
    wanted = None if by is None else member("by", by, Level)
    rubrics = names_of("rubric", rubric)
    ratings = load_ratings(
        source_of(
            source,
            columns=columns,
            scores=scores,
            scale=scale,
            bins=bins,
            where=where,
            encoding=encoding,
            format=format,
            pattern=pattern,
            key=key,
            wide=wide,
            duplicates=duplicates,
            any_rubric=any_rubric,
            rubrics_file=rubrics_file,
            raters=raters,
        )
    )
    drawn = settings.resamples if settings.ci is Ci.bootstrap else 0
    with progress_bar(drawn, "resamples", "fit", shown=progress) as bar:
        return board_of.rank(
            ratings,
            level=wanted or default_level(ratings.data.entities, ratings.configs),
            rubrics=pick_rubrics(ratings.data.rubrics, rubrics),
            settings=settings,
            pairs=[(str(a), str(b)) for a, b in pairs],
            side=side,
            progress=bar.update,
        )


def _is_one(difference: object) -> bool:
    """Whether one pair was given in the place of a list of pairs."""
    return isinstance(difference, tuple | list) and len(difference) == 2 and all(isinstance(x, str) for x in difference)
