"""Head-to-head margins of two entities in score points: voices, thinking levels, or any pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.clusters import SCHEMES, WAYS, choose_clusters
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.draws import Draws, Scheme
from vaeval_tasks.stats.intervals import Interval, no_interval, percentile_interval, with_width
from vaeval_tasks.stats.means import resampled_sums

__all__ = ["Margin", "margins"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How far ``a`` is ahead of ``b`` in the ratings that compare the two directly."""

    rubric: str
    a: str
    b: str
    margin: float | None
    """Weighted mean score, positive when ``a`` is preferred, in score points."""
    interval: Interval
    significant: bool | None
    """Whether the interval excludes 0; None without one. False is printed as ``n.s.``"""
    wins: float
    losses: float
    ties: float
    win_rate: float | None
    """wins / (wins + losses): ties excluded."""
    n_ratings: float
    n_raters: int | None
    n_prompts: int | None
    reason: str = ""


def margins(data: Comparisons, a: str, b: str, draws: Draws, *, level: float = 0.95) -> tuple[Margin, ...]:
    """Return the margin of ``a`` over ``b`` in every rubric, all from one set of draws.

    For a voice pooled over thinking levels, subset to the model's rows and relabel to voices first.

    Raises:
        UnknownNameError: one of the two is not among the entities.
    """
    i, j = data.entity_code(a), data.entity_code(b)
    direct = data.subset(((data.a == i) & (data.b == j)) | ((data.a == j) & (data.b == i)))
    score = np.where(direct.a == i, direct.score, -direct.score) if i != j else np.zeros(len(direct))
    weights = np.stack([direct.weight, direct.weight * score])

    @cache
    def sums(scheme: Scheme) -> NDArray[np.float64]:
        """(2, rubrics, replicates)."""
        return resampled_sums(direct, direct.rubric, weights, len(data.rubrics), replace(draws, scheme=scheme))

    def drawn(scheme: Scheme, code: int) -> NDArray[np.float64]:
        weight, total = sums(scheme)[:, code]
        return np.divide(total, weight, out=np.full(len(weight), np.nan), where=weight > 0)

    return tuple(_margin(direct, score, code, (a, b), drawn, draws.scheme, level) for code in range(len(data.rubrics)))


def _margin(
    direct: Comparisons,
    score: NDArray[np.float64],
    code: int,
    names: tuple[str, str],
    drawn: Callable[[Scheme, int], NDArray[np.float64]],
    scheme: Scheme,
    level: float,
) -> Margin:
    rows = direct.rubric == code
    y, w = score[rows], direct.weight[rows]
    n_raters = len(np.unique(direct.rater[rows])) if direct.raters_named else None
    n_prompts = len(np.unique(direct.prompt[rows])) if direct.prompts_named else None
    wins, losses, total = float(w[y > 0].sum()), float(w[y < 0].sum()), float(w.sum())
    reason = "" if total else f"no rating compares {names[0]!r} with {names[1]!r} directly"
    # the product is what is drawn where both are named; else what the rows have, as on a board
    wanted = None if scheme is Scheme.product else WAYS[scheme]
    choice = choose_clusters(n_raters, n_prompts, total, wanted=wanted)
    if reason or choice.clusters is None:
        interval = no_interval(reason or (choice.reason.text if choice.reason else ""))
    else:
        chosen = scheme if choice.clusters is WAYS[scheme] else SCHEMES[choice.clusters]
        interval = with_width(percentile_interval(drawn(chosen, code), level=level))
    return Margin(
        rubric=direct.rubrics[code],
        a=names[0],
        b=names[1],
        margin=float((w * y).sum() / total) if total else None,
        interval=interval,
        significant=None if interval.low is None else interval.excludes(0.0),
        wins=wins,
        losses=losses,
        ties=total - wins - losses,
        win_rate=wins / (wins + losses) if wins + losses else None,
        n_ratings=total,
        n_raters=n_raters,
        n_prompts=n_prompts,
        reason=reason,
    )
