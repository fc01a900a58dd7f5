"""Which answers are used, and why not: versioned rules in two levels.

*Accept* decides whether a rater is paid: the sound check, outside checks, the traps. *Use* decides whether
answers are analysed: gold, agreement with oneself, speed, spread. Payment never depends on a rule of the
analysis. Nothing is deleted: the rules only set ``use`` and say why. A check whose checker did not answer, or
for which there is too little to tell, is ``unknown`` and fails nobody.

Source: the two levels of the P.808 toolkit (accept; accept and use), with its limits where it has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vaeval_tasks.collect.store.facts import CheckFact, Work
from vaeval_tasks.design import Expectation
from vaeval_tasks.store.schema import AssignmentState, CheckDecides, CheckOutcome, PairKind, QualityCheck, StudyKind

__all__ = ["RULES", "RULES_VERSION", "Quality", "Rules", "check_work"]

RULES_VERSION = "1"
"""Raised whenever a rule or a limit below changes, so that two exports can be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The limits."""

    min_traps: int = 2
    trap_share: float = 0.5
    """Share of the traps that must be passed."""
    min_gold: int = 3
    gold_share: float = 0.7
    gold_slack: int = 1
    """A gold answer may miss its range by this (P.808: within 1)."""
    min_repeats: int = 3
    repeat_gap: float = 2.0
    """Mean difference of the overall score between a pair and its repeat, in steps."""
    min_tasks: int = 5
    variance: float = 0.1
    """Least variance of the steps clicked (P.808)."""
    straight_share: float = 0.9
    """Most of the tasks that may have one and the same step throughout."""
    side_share: float = 0.9
    """Most of the answers off the middle that may lie on one side."""
    seconds_per_question: float = 0.7
    """Less than this and a task counts as clicked through."""
    fast_share: float = 0.3
    """Most of the tasks that may be clicked through."""


RULES = Rules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The outcome for all raters."""

    checks: tuple[QualityCheck, ...]
    """Every rule for every rater, and the failed rules of single assignments."""
    accepted: frozenset[tuple[str, StudyKind]]
    """Raters (with the study) that passed all that payment depends on."""
    used: frozenset[tuple[str, StudyKind]]
    """Raters whose answers are analysed; all of them accepted."""
    unused: frozenset[int]
    """Assignments left out, be it for themselves or for their rater."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a rule found: None as the value where there is too little to tell."""

    value: float | None
    limit: float
    passed: bool
    detail: str


def check_work(
    work: Iterable[Work],
    checks: Iterable[CheckFact],
    expect: Mapping[str, Sequence[Expectation]],
    *,
    simulated: frozenset[str] = frozenset(),
    rules: Rules = RULES,
) -> Quality:
    """Apply the rules to all that was collected.

    Args:
        work: all assignments.
        checks: the newest outcome of each check of each rater.
        expect: by task, what an attentive rater answers to a trap or gold pair.
        simulated: raters that are programs; they click as fast as the network, so speed says nothing of them.
        rules: the limits.
    """
    mine: dict[tuple[str, StudyKind], list[Work]] = defaultdict(list)
    for one in work:
        mine[one.rater_id, one.study].append(one)
    out: list[QualityCheck] = [_outside(check) for check in checks]
    for (rater_id, study), given in sorted(mine.items()):
        done = [w for w in given if w.answers and w.kind is not PairKind.train]
        timed = [] if rater_id in simulated else [w for w in done if w.answering_s is not None]
        for name, decides, measured in _rater_rules(done, timed, expect, study, rules):
            out.append(_check(rater_id, study, name, decides, measured))
        out.extend(_assignment_rules(given, timed, rules))
    by_rater = [c for c in out if not c.assignment_id]
    failures = [c for c in by_rater if c.outcome == CheckOutcome.failed]
    failed_accept = {(c.rater_id, c.study) for c in failures if c.decides == CheckDecides.accept}
    failed = {(c.rater_id, c.study) for c in failures}
    alone = {c.assignment_id for c in out if c.assignment_id}
    return Quality(
        checks=tuple(out),
        accepted=frozenset(set(mine) - failed_accept),
        used=frozenset(set(mine) - failed),
        unused=frozenset(
            w.assignment_id
            for key, given in mine.items()
            for w in given
            if key in failed or str(w.assignment_id) in alone
        ),
    )


def _check(rater_id: str, study: StudyKind, rule: str, decides: CheckDecides, measured: _Measured) -> QualityCheck:
    outcome = CheckOutcome.passed if measured.passed else CheckOutcome.failed
    outcome = CheckOutcome.unknown if measured.value is None else outcome
    return QualityCheck(
        rater_id=rater_id,
        study=study,
        rule=rule,
        outcome=outcome,
        decides=decides,
        detail=measured.detail,
        rules_version=RULES_VERSION,
        value=measured.value,
        limit=measured.limit,
    )


def _outside(check: CheckFact) -> QualityCheck:
    return QualityCheck(
        rater_id=check.rater_id,
        study=check.study,
        rule=check.name,
        outcome=check.outcome,
        decides=CheckDecides.accept,
        detail=check.detail,
        rules_version=RULES_VERSION,
    )


def _rater_rules(
    done: list[Work],
    timed: list[Work],
    expect: Mapping[str, Sequence[Expectation]],
    study: StudyKind,
    rules: Rules,
) -> Iterator[tuple[str, CheckDecides, _Measured]]:
    use = CheckDecides.use
    kinds: dict[PairKind, list[Work]] = defaultdict(list)
    for w in done:
        kinds[w.kind].append(w)
    main = kinds[PairKind.main]
    if study is StudyKind.cmos:
        traps = [_as_expected(w, expect.get(w.task_id, ()), 0) for w in kinds[PairKind.trap]]
        yield "traps", CheckDecides.accept, _share("traps passed", traps, rules.min_traps, rules.trap_share)
        gold = [_as_expected(w, expect.get(w.task_id, ()), rules.gold_slack) for w in kinds[PairKind.gold]]
        yield "gold", use, _share("gold pairs as expected", gold, rules.min_gold, rules.gold_share)
        yield "repeats", use, _repeats(main, kinds[PairKind.repeat], rules)
        yield "sides", use, _sides(main, rules)
    yield "variance", use, _variance(main, rules)
    yield "straight_lining", use, _straight(main, rules)
    fast = [_too_fast(w, rules) for w in timed]
    measured = _share("tasks clicked through", fast, rules.min_tasks, rules.fast_share)
    yield "speed", use, replace(measured, passed=(measured.value or 0) <= rules.fast_share)


def _as_expected(work: Work, expected: Sequence[Expectation], slack: int) -> bool | None:
    """Whether the answers to a check pair are as expected; None where nothing is expected of it."""
    wider = [Expectation(e.rubric, e.low - slack, e.high + slack) for e in expected]
    met = [m for e in wider for answer in work.answers if (m := e.met(answer.rubric, answer.score)) is not None]
    return all(met) if met else None


def _share(what: str, outcomes: Iterable[bool | None], least: int, limit: float) -> _Measured:
    known = [o for o in outcomes if o is not None]
    detail = f"{sum(known)} of {len(known)} {what}"
    if len(known) < least:
        return _Measured(None, limit, False, f"{detail}; {least} are needed to tell")
    share = sum(known) / len(known)
    return _Measured(share, limit, share >= limit, detail)


def _overall(work: Work) -> int | None:
    return next((a.score for a in work.answers if a.rubric == "overall"), None)


def _repeats(main: list[Work], repeats: list[Work], rules: Rules) -> _Measured:
    first = {(w.prompt_id, w.a, w.b): _overall(w) for w in main}
    gaps = [
        abs(now - before)
        for w in repeats
        if (now := _overall(w)) is not None and (before := first.get((w.prompt_id, w.a, w.b))) is not None
    ]
    detail = f"{len(gaps)} pairs rated twice"
    if len(gaps) < rules.min_repeats:
        return _Measured(None, rules.repeat_gap, False, f"{detail}; {rules.min_repeats} are needed to tell")
    mean = float(np.mean(gaps))
    return _Measured(mean, rules.repeat_gap, mean <= rules.repeat_gap, f"{detail}, {mean:.2f} steps apart on average")


def _variance(main: list[Work], rules: Rules) -> _Measured:
    positions = [a.position for w in main for a in w.answers]
    if len(main) < rules.min_tasks:
        return _Measured(None, rules.variance, False, f"{len(main)} tasks; {rules.min_tasks} are needed to tell")
    variance = float(np.var(positions))
    return _Measured(variance, rules.variance, variance >= rules.variance, f"variance of the steps {variance:.2f}")


def _straight(main: list[Work], rules: Rules) -> _Measured:
    same = [len({a.position for a in w.answers}) == 1 for w in main]
    measured = _share("tasks with one step throughout", same, rules.min_tasks, rules.straight_share)
    return replace(measured, passed=(measured.value or 0) <= rules.straight_share)


def _sides(main: list[Work], rules: Rules) -> _Measured:
    off = [a.position < 3 for w in main for a in w.answers if a.position != 3]
    left = _share("answers off the middle lie left", off, 8 * rules.min_tasks, rules.side_share)
    if left.value is None:
        return left
    most = max(left.value, 1 - left.value)
    return replace(left, value=most, passed=most <= rules.side_share)


def _too_fast(work: Work, rules: Rules) -> bool:
    return (work.answering_s or 0.0) < rules.seconds_per_question * len(work.answers)


def _assignment_rules(given: list[Work], timed: list[Work], rules: Rules) -> Iterator[QualityCheck]:
    """Yield what leaves a single assignment out: practice, a rater who withdrew, clicking through."""
    hurried = {w.assignment_id for w in timed if _too_fast(w, rules)}
    tests: tuple[tuple[str, str, Callable[[Work], bool]], ...] = (
        ("training", "a practice pair", lambda w: w.kind is PairKind.train),
        ("withdrawn", "the rater withdrew", lambda w: w.state is AssignmentState.withdrawn),
        ("fast", "clicked through", lambda w: w.assignment_id in hurried),
    )
    for w in given:
        for rule, detail, fails in tests:
            if w.answers and fails(w):
                seconds = w.answering_s if rule == "fast" else None
                least = rules.seconds_per_question * len(w.answers) if rule == "fast" else None
                measured = QualityCheck(
                    rater_id=w.rater_id,
                    study=w.study,
                    rule=rule,
                    outcome=CheckOutcome.failed,
                    decides=CheckDecides.use,
                    detail=detail,
                    rules_version=RULES_VERSION,
                    assignment_id=str(w.assignment_id),
                    value=seconds,
                    limit=least,
                )
                yield measured
