"""Head-to-head margins of two entities in score points: voices, thinking levels, or any pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.stats.clusters import WAYS, lacking
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.draws import Draws, Scheme
from vaeval_tasks.stats.intervals import Interval, no_interval, percentile_interval
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
    sums = resampled_sums(direct, direct.rubric, weights, len(data.rubrics), draws)  # (2, rubrics, replicates)
    return tuple(
        _margin(direct, score, code, (a, b), sums[:, code], draws.scheme, level) for code in range(len(data.rubrics))
    )


def _margin(
    direct: Comparisons,
    score: NDArray[np.float64],
    code: int,
    names: tuple[str, str],
    sums: NDArray[np.float64],
    scheme: Scheme,
    level: float,
) -> Margin:
    rows = direct.rubric == code
    y, w = score[rows], direct.weight[rows]
    n_raters = len(np.unique(direct.rater[rows])) if direct.raters_named else None
    n_prompts = len(np.unique(direct.prompt[rows])) if direct.prompts_named else None
    wins, losses, total = float(w[y > 0].sum()), float(w[y < 0].sum()), float(w.sum())
    reason = "" if total else f"no rating compares {names[0]!r} with {names[1]!r} directly"
    lacks = lacking(WAYS[scheme], n_raters, n_prompts, total)
    if reason or lacks:
        interval = no_interval(reason or (lacks.text if lacks else ""))
    else:
        drawn = np.divide(sums[1], sums[0], out=np.full(sums.shape[1], np.nan), where=sums[0] > 0)
        interval = percentile_interval(drawn, level=level)
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
