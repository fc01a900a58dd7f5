"""How wide the intervals of a planned study will be, by simulation, with the closed formula beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.simulate import Shape, simulate
from vaeval_tasks.simulate.published_study import MODELS
from vaeval_tasks.simulate.study_comparisons import study_comparisons
from vaeval_tasks.stats import Ci, RankSettings, ranking

__all__ = [
    "Plan",
    "PowerSettings",
    "Width",
    "closed_formula",
    "expected_width",
    "plan_for",
    "power_json",
    "power_tables",
]

PAIRS_PER_PROMPT = 10
"""Of 19 configurations, each on every prompt."""
COMPLETION = 0.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A planned study of the 19 configurations."""

    prompts: int
    raters: int
    ratings_per_pair: int

    @property
    def tasks(self) -> int:
        """Tasks that will be done: one rater on one pair, up to 12 ratings each."""
        return round(self.prompts * PAIRS_PER_PROMPT * self.ratings_per_pair * COMPLETION)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSettings:
    """How the width is found."""

    ci: Ci = Ci.bootstrap
    studies: int = 10
    resamples: int = 200
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """Half-widths of 95 % intervals of the seven models' overall Elo."""

    plan: Plan
    ci: Ci
    median: float
    """Over models and simulated studies, Elo points."""
    by_model: tuple[float, ...]
    """In the order of the published models."""
    spread: float | None
    """1.96 standard deviations of the estimates over the studies, median over models; None with fewer than 8."""
    formula: float
    studies: int


def closed_formula(plan: Plan) -> float:
    """Return the half-width (Elo points) of the product bootstrap by the planning formula.

    h^2 = 61,000 / prompts + 17,000 / raters + 2,060,000 / tasks, fitted to simulated studies of 19
    configurations (``collect.md`` 5.4, errors of at most 12 % there). Beyond two ratings a pair, new raters
    and prompts buy more than more ratings of the same ones.
    """
    return float(np.sqrt(61_000 / plan.prompts + 17_000 / plan.raters + 2_060_000 / plan.tasks))


def _half_widths(plan: Plan, settings: PowerSettings, seed: int) -> tuple[list[float], list[float]]:
    """Return the half-width and the estimate of every model in one simulated study."""
    shape = Shape(
        prompts=plan.prompts,
        raters=plan.raters,
        raters_per_pair=plan.ratings_per_pair,
        completion=COMPLETION,
        mos_per_sample=0,
    )
    data = study_comparisons(simulate(shape, seed=seed), ("overall",), by_model=True)
    asked = RankSettings(ci=settings.ci, resamples=settings.resamples, seed=seed, threads=1)
    found = ranking(data, asked).rubrics[0].standings
    at = [found.fit.entities.index(model) for model in MODELS]
    halves = [(found.intervals[i].high - found.intervals[i].low) / 2 for i in at]  # type: ignore[operator]
    return halves, [found.ratings[i] for i in at]


def expected_width(plan: Plan, settings: PowerSettings, *, progress: Callable[[int], object] | None = None) -> Width:
    """Simulate studies of a plan and return the width of their intervals.

    Raises:
        EstimationError: the plan is too small for a study to be ranked.
    """
    widths, estimates = [], []
    for i in range(settings.studies):
        try:
            halves, ratings = _half_widths(plan, settings, settings.seed * 100_003 + i)
        except EstimationError as error:
            raise EstimationError(f"a study of {plan.prompts} prompts cannot be ranked: {error}") from None
        widths.append(halves)
        estimates.append(ratings)
        if progress is not None:
            progress(1)
    spread = float(np.median(1.96 * np.std(estimates, axis=0, ddof=1))) if settings.studies >= 8 else None
    return Width(
        plan=plan,
        ci=settings.ci,
        median=float(np.median(widths)),
        by_model=tuple(np.mean(widths, axis=0).tolist()),
        spread=spread,
        formula=closed_formula(plan),
        studies=settings.studies,
    )


def plan_for(
    target: float, plan: Plan, settings: PowerSettings, *, progress: Callable[[int], object] | None = None
) -> Width:
    """Return the plan with the fewest prompts whose intervals are within ``+-target`` Elo, and its simulated width.

    Raters and ratings per pair are kept. The squared width falls as 1 / prompts towards what the raters
    alone leave; the line through the plans simulated so far says which to try next.

    Raises:
        EstimationError: so few raters cannot give so narrow intervals however many prompts they hear.
    """
    tried = [expected_width(plan, settings, progress=progress)]
    guess = round(plan.prompts * (tried[0].median / target) ** 2)
    for _ in range(6):
        guess = max(guess, 2)
        if guess > 50_000:
            break
        if all(guess != width.plan.prompts for width in tried):
            next_plan = Plan(prompts=guess, raters=plan.raters, ratings_per_pair=plan.ratings_per_pair)
            tried.append(expected_width(next_plan, settings, progress=progress))
        else:
            break
        near = sorted(tried, key=lambda w: abs(w.median - target))[:2]
        slope, floor = np.polyfit([1 / w.plan.prompts for w in near], [w.median**2 for w in near], 1)
        if target**2 <= floor or slope <= 0:
            break
        guess = int(np.ceil(1.02 * slope / (target**2 - floor)))  # a little more than the line says
    enough = [w for w in tried if w.median <= target]
    if not enough:
        best = min(tried, key=lambda w: w.median)
        raise EstimationError(
            f"{plan.raters} raters do not reach +-{target:g} Elo: {best.plan.prompts} prompts still give "
            f"+-{best.median:.1f}; plan more raters"
        )
    return min(enough, key=lambda w: w.plan.prompts)


def _row(width: Width) -> dict[str, Any]:
    return {
        "prompts": width.plan.prompts,
        "raters": width.plan.raters,
        "ratings_per_pair": width.plan.ratings_per_pair,
        "tasks": width.plan.tasks,
        "half_width": width.median,
        "formula": width.formula,
        "true_spread": width.spread,
        "ci": width.ci.value,
        "studies": width.studies,
    }


def power_json(width: Width, answer: Width | None) -> dict[str, Any]:
    """Return the widths as plain values."""
    by_model = dict(zip(MODELS, width.by_model, strict=True))
    return {
        "rows": [_row(width)],
        "by_model": by_model,
        "answer": _row(answer) if answer else None,
        "formula": "h^2 = 61000/prompts + 17000/raters + 2060000/tasks (Elo points, product bootstrap)",
    }


def power_tables(width: Width, answer: Width | None) -> list[Table]:
    """Return the widths as tables."""
    rows = [{"plan": "asked", **_row(width)}]
    if answer is not None:
        rows.append({"plan": "enough", **_row(answer)})
    notes = (
        "half_width: simulated, median over the seven models, Elo points; formula: closed, for the bootstrap",
        "true_spread: 1.96 standard deviations of the estimates over the simulated studies",
    )
    plans = Table(
        name="power",
        title="Half-width of 95 % intervals, overall board",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={"half_width": 1, "formula": 1, "true_spread": 1},
        notes=notes,
    )
    models = [{"model": model, "half_width": half} for model, half in zip(MODELS, width.by_model, strict=True)]
    return [
        plans,
        Table(
            name="power_models",
            title="By model (a model with fewer configurations has wider intervals)",
            columns=("model", "half_width"),
            rows=tuple(models),
            digits={"half_width": 1},
        ),
    ]
