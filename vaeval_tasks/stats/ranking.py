"""One function from comparisons to a ranking: fits, the choice of clusters, intervals, ranks, coverage and notes.

Everything that prints a board (``rank``, ``power``, ``judge``, tables and slices, the modules for ``evaluate``) calls
:func:`ranking`, so that equal ratings and settings give equal numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from vaeval_tasks.stats.bootstrap import Progress, Resamples, bootstrap
from vaeval_tasks.stats.clusters import SCHEMES, ClusterChoice, Clusters, choose_clusters
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.draws import Draws
from vaeval_tasks.stats.engines import fit_all
from vaeval_tasks.stats.fits import Engine, Fit
from vaeval_tasks.stats.intervals import Interval, no_interval
from vaeval_tasks.stats.sandwich import Covariance, sandwich
from vaeval_tasks.stats.standings import Standings, bare_standings, difference, standings

__all__ = ["Ci", "RankSettings", "RankedRubric", "Ranking", "method", "ranking"]


class Ci(StrEnum):
    """How intervals are made. Coverage was measured; see the README."""

    bootstrap = "bootstrap"
    """Raters and prompts drawn with replacement (as published; wider than nominal)."""
    sandwich = "sandwich"
    """Covariance clustered by raters and prompts (nominal)."""
    iid = "iid"
    """Every session, or every rating, on its own (too narrow where raters or prompts differ)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSettings:
    """How a board is made."""

    engine: Engine = Engine.ordinal
    ci: Ci = Ci.bootstrap
    clusters: Clusters | None = None
    """Of bootstrap and sandwich; None: those that the data have, rubric by rubric."""
    resamples: int = 1000
    seed: int = 0
    ridge: float = 0.0
    coverage: float = 0.95
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedRubric:
    """The ranking of one rubric, and what its intervals were made from."""

    standings: Standings
    choice: ClusterChoice
    source: Resamples | Covariance | None
    """None where there can be no interval."""

    def difference(self, a: str, b: str) -> Interval:
        """Return the interval of ``a`` less ``b``.

        Raises:
            UnknownNameError: one of them is not among the entities.
        """
        if self.source is None:
            return no_interval(self.choice.reason.text if self.choice.reason else "")
        fit = self.standings.fit
        return difference(self.source, fit.rubric, a, b, level=self.standings.level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """Every rubric ranked under one set of settings."""

    settings: RankSettings
    rubrics: tuple[RankedRubric, ...]
    """In the order of the data."""

    @property
    def fits(self) -> tuple[Fit, ...]:
        """The fits to the full data, one a rubric."""
        return tuple(one.standings.fit for one in self.rubrics)

    @property
    def method(self) -> str:
        """In words how it was made."""
        return method(self.settings, [one.choice.clusters for one in self.rubrics])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen and what could not be computed, in words."""
        about = [(one.standings.fit.rubric, _choice_note(one.choice)) for one in self.rubrics]
        said = dict.fromkeys(note for _, note in about)
        notes = [note for note in said if note] if len(said) == 1 else [f"{r}: {note}" for r, note in about if note]
        return (*notes, *(note for one in self.rubrics for note in _replicate_notes(one, self.settings.resamples)))


def ranking(
    data: Comparisons,
    settings: RankSettings,
    *,
    fits: tuple[Fit, ...] | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Rank the entities in each rubric.

    Args:
        data: the comparisons of all rubrics.
        settings: engine, intervals, seed.
        fits: :func:`.engines.fit_all` of the same data and settings, if at hand.
        progress: told how many bootstrap replicates are done.

    Raises:
        EstimationError: a rubric's entities are not all connected, or one is undefeated; see :func:`.engines.fit`.
    """
    points = fit_all(data, engine=settings.engine, ridge=settings.ridge) if fits is None else fits
    wanted = Clusters.none if settings.ci is Ci.iid else settings.clusters
    choices = [choose_clusters(one.n_raters, one.n_prompts, one.n_ratings, wanted=wanted) for one in points]
    drawn: dict[Clusters, Resamples] = {}
    if settings.ci is Ci.bootstrap:
        for way in dict.fromkeys(choice.clusters for choice in choices if choice.clusters):  # one way, as a rule
            plan = Draws(replicates=settings.resamples, seed=settings.seed, scheme=SCHEMES[way])
            told = None if drawn else progress
            drawn[way] = bootstrap(
                data, plan, engine=settings.engine, fits=points, threads=settings.threads, progress=told
            )
    return Ranking(
        settings=settings,
        rubrics=tuple(_ranked(data, fit, choice, drawn, settings) for fit, choice in zip(points, choices, strict=True)),
    )


def _ranked(
    data: Comparisons, fit: Fit, choice: ClusterChoice, drawn: dict[Clusters, Resamples], settings: RankSettings
) -> RankedRubric:
    if choice.clusters is None:
        reason = choice.reason.text if choice.reason else ""
        bare = bare_standings(fit, data, reason, level=settings.coverage)
        return RankedRubric(standings=bare, choice=choice, source=None)
    source = drawn[choice.clusters] if drawn else sandwich(data, fit, clusters=choice.clusters)
    return RankedRubric(standings=standings(source, fit.rubric, level=settings.coverage), choice=choice, source=source)


def _choice_note(choice: ClusterChoice) -> str:
    if choice.reason is None:
        return ""
    if choice.clusters is None:
        return f"no intervals: {choice.reason.text}"
    return f"intervals are clustered by {choice.clusters.value} alone: {choice.reason.text}"


def _replicate_notes(one: RankedRubric, replicates: int) -> list[str]:
    found, out = one.standings, []
    rubric = found.fit.rubric
    if found.ridged:
        out.append(f"{rubric}: {found.ridged} of {replicates} replicates had no finite fit; a small ridge stood in")
    if found.absent:
        out.append(f"{rubric}: {found.absent} of {replicates} replicates lacked an entity and were left out")
    reasons = {i.reason for i in found.intervals if i.reason and one.source is not None}
    return out + [f"{rubric}: {reason}" for reason in sorted(reasons)]


_ENGINES = {
    Engine.ordinal: "ordinal Bradley-Terry, cumulative logit, symmetric thresholds",
    Engine.fractional: "Bradley-Terry on partial margins",
    Engine.massey: "Massey least squares on the scores",
}
_DRAWN = {
    Clusters.two_way: "rater-and-prompt product bootstrap",
    Clusters.rater: "bootstrap of raters",
    Clusters.prompt: "bootstrap of prompts",
    Clusters.none: "bootstrap of ratings taken as independent",
}
_SUMMED = {
    Clusters.two_way: "two-way clustered sandwich (raters, prompts)",
    Clusters.rater: "sandwich clustered by rater",
    Clusters.prompt: "sandwich clustered by prompt",
    Clusters.none: "sandwich on ratings taken as independent",
}


def method(settings: RankSettings, clusters: Sequence[Clusters | None] = (Clusters.two_way,)) -> str:
    """Return in words how a board was made.

    Args:
        settings: of the board.
        clusters: those chosen, rubric by rubric; None where there are no intervals.
    """
    ways = [_way(settings, one) for one in dict.fromkeys(clusters)]
    return f"{_ENGINES[settings.engine]}; {' or '.join(ways)}"


def _way(settings: RankSettings, clusters: Clusters | None) -> str:
    if clusters is None:
        return "no intervals"
    if settings.ci is Ci.bootstrap:
        return f"{_DRAWN[clusters]}, {settings.resamples} resamples, percentiles"
    return _SUMMED[clusters]
