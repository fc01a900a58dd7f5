"""A gate for continuous integration: is a run worse than its baseline, for real?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from vaeval_tasks.errors import InputError
from vaeval_tasks.paired.comparison import ALPHA, PairedRuns, compare_sides
from vaeval_tasks.paired.contrast import ContrastLevel, ScoreContrast
from vaeval_tasks.paired.sides import RunSide
from vaeval_tasks.stats.paired import PRODUCT, holm

__all__ = ["GateCheck", "GateOutcome", "GateResult", "check_gate"]

ERROR = ALPHA / 2
"""How often a run that is no worse may be called so, over all checks: the lower half of what ``compare`` calls real."""
LEAST_SHARED = 0.9
"""A run that answered less of its baseline's items than this is partial."""


class GateOutcome(StrEnum):
    """What a check came to."""

    passed = "passed"
    """Nothing shows a drop."""
    regression = "regression"
    skipped = "skipped"
    """There is no number to test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One quantity of one task, or of the whole."""

    contrast: ScoreContrast
    p: float | None
    """One-sided, that the drop is no larger than the margin; after Holm over all checks."""
    outcome: GateOutcome

    @property
    def name(self) -> str:
        """The task, with the quantity where that is not the score."""
        one = self.contrast
        return one.name if one.quantity == PRODUCT else f"{one.name} {one.quantity}"

    @property
    def said(self) -> str:
        """The check in words."""
        one = self.contrast
        if self.p is None or one.first is None or one.second is None or one.difference is None:
            return one.reason or "there is no number to test"
        interval = "" if one.low is None or one.high is None else f" [{one.low:+.1f}, {one.high:+.1f}]"
        shown = f", finds {one.found.detectable:.1f}" if one.found.detectable is not None else ""
        numbers = f"{one.first:.1f} -> {one.second:.1f}, {one.difference:+.1f}{interval}"
        return f"{numbers}, p = {self.p:.4f}, {one.found.items} items{shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """All checks of a run against its baseline."""

    pair: PairedRuns
    checks: tuple[GateCheck, ...]
    margin: float
    lost: int
    """Items that flipped for the worse."""

    @property
    def regressions(self) -> tuple[GateCheck, ...]:
        """The checks that show a drop."""
        return tuple(check for check in self.checks if check.outcome is GateOutcome.regression)

    @property
    def summary(self) -> str:
        """The outcome on a line; its first word is ``ok`` or ``regression``."""
        tested = sum(check.p is not None for check in self.checks)
        about = f"{self.pair.second} against {self.pair.first}, {self.pair.items} shared items, {tested} checks"
        mark = "" if not self.pair.marks else f"; NOT COMPARABLE: {'; '.join(self.pair.marks)}"
        if self.regressions:
            worst = "; ".join(f"{check.name} {check.contrast.difference:+.1f}" for check in self.regressions)
            return f"regression: {worst} ({about}{mark})"
        none = "; nothing could be tested" if not tested else ""
        beyond = f" of more than {self.margin:g} points" if self.margin else ""
        return f"ok: no drop{beyond} is shown ({about}{none}{mark})"


def check_gate(
    run: RunSide,
    baseline: RunSide,
    *,
    margin: float = 0.0,
    on: Sequence[str] = (PRODUCT,),
    tasks: Sequence[str] = (),
    allow_different: bool = False,
    allow_partial: bool = False,
    resamples: int = 4999,
    seed: int = 0,
) -> GateResult:
    """Check every task, and the whole where there is one, for a drop beyond a margin.

    Args:
        run: what is checked.
        baseline: what it must not fall behind.
        margin: points of drop that are allowed.
        on: the quantities that are checked: ``score`` or factors.
        tasks: only these.
        allow_different: go on where the two are not comparable, and mark it.
        allow_partial: go on where the run lacks tasks or many items of its baseline.
        resamples: exchanges that are drawn for each p value.
        seed: of the draws.

    Raises:
        InputError: the run is partial, shares nothing with its baseline, or is not comparable.
    """
    if not allow_partial:
        _require_whole(run, baseline, tasks)
    found = compare_sides(
        [baseline, run],
        tasks=tasks,
        drop_margin=margin,
        allow_different=allow_different,
        resamples=resamples,
        seed=seed,
    )
    pair = found.pairs[0]
    levels = (ContrastLevel.task, ContrastLevel.overall)
    rows = [one for one in pair.scores if one.level in levels and one.quantity in on and not _not_run(one)]
    adjusted = holm([one.found.p_drop if one.difference is not None else None for one in rows])
    checks = [
        GateCheck(contrast=one, p=p, outcome=_outcome(one, p, margin)) for one, p in zip(rows, adjusted, strict=True)
    ]
    return GateResult(pair=pair, checks=tuple(checks), margin=margin, lost=sum(flip.change < 0 for flip in pair.flips))


def _not_run(one: ScoreContrast) -> bool:
    """Whether the whole has no score only because not all tasks were run: nobody asked for it."""
    return one.level is ContrastLevel.overall and one.difference is None


def _outcome(one: ScoreContrast, p: float | None, margin: float) -> GateOutcome:
    if p is None or one.difference is None:
        return GateOutcome.skipped
    # what nobody can see in the printed scores is no regression
    return GateOutcome.regression if p < ERROR and one.difference < -margin else GateOutcome.passed


def _require_whole(run: RunSide, baseline: RunSide, tasks: Sequence[str]) -> None:
    wanted = [task for task in baseline.tasks if (not tasks or task in tasks) and baseline.tasks[task].scores.n]
    if absent := [task for task in wanted if task not in run.tasks]:
        said = f"lacks {', '.join(absent)}, which the baseline has; run it, name others with --tasks"
        raise InputError(f"{said}, or go on with --allow-partial", path=run.run.root)
    for task in wanted:
        keys = [key for key in baseline.answers if key[0] == task]
        there = sum(key in run.answers for key in keys)
        if there < LEAST_SHARED * len(keys):
            said = f"has {there} of the baseline's {len(keys)} items of {task}; finish it"
            raise InputError(f"{said}, or go on with --allow-partial", path=run.run.root)
