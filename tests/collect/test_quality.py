"""The quality rules, each against raters made to pass and to fail it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from vaeval_tasks.collect.rules.quality import RULES, RULES_VERSION, Quality, check_work
from vaeval_tasks.collect.store.facts import Answered, CheckFact, Work
from vaeval_tasks.design import Expectation, expectation
from vaeval_tasks.rubrics import GATED, KEYS
from vaeval_tasks.store.schema import AssignmentState, PairKind, StudyKind

ASKED = tuple(key for key in KEYS if key not in GATED)
NINE = len(ASKED)

EXPECT: dict[str, list[Expectation]] = {
    **{f"trap-{n}": [expectation("*:-1:1")] for n in range(4)},
    **{f"gold-{n}": [expectation("response_quality:2:3")] for n in range(5)},
}


def task(number: int, positions: Sequence[int], *, kind: PairKind = PairKind.main, seconds: float = 40.0) -> Work:
    """A submitted task; ``a`` is on the left, so clicking step 0 gives a score of 3."""
    return Work(
        assignment_id=number,
        study=StudyKind.cmos,
        task_id=f"{kind.value}-{number % 100}",
        prompt_id=f"p{number % 100}",
        a="a",
        b="b",
        kind=kind,
        rater_id="r",
        slot=0,
        left_is_a=True,
        state=AssignmentState.done,
        started=0,
        listened=30_000,
        finished=30_000 + round(1000 * seconds),
        answers=tuple(Answered(rubric=k, score=3 - x, position=x) for k, x in zip(ASKED, positions, strict=True)),
    )


def honest(n: int = 12) -> list[Work]:
    """Tasks of an attentive rater: varied answers, traps near the middle, gold and repeats as they should be."""
    main = [task(i, [(i + j) % 7 for j in range(NINE)]) for i in range(n)]
    traps = [task(100 + i, [3, 2, 4] * 3, kind=PairKind.trap) for i in range(3)]
    gold = [task(200 + i, [1] * NINE, kind=PairKind.gold) for i in range(4)]
    repeats = [replace(task(300 + i, [(i + j + 1) % 7 for j in range(NINE)], kind=PairKind.repeat)) for i in range(4)]
    return [*main, *traps, *gold, *repeats]


def judged(work: Sequence[Work], checks: Sequence[CheckFact] = (), **more: object) -> Quality:
    return check_work(work, checks, EXPECT, **more)  # type: ignore[arg-type]


def outcomes(quality: Quality) -> dict[str, str]:
    return {c.rule: c.outcome for c in quality.checks if not c.assignment_id}


def test_an_attentive_rater_passes_every_rule() -> None:
    seen = judged(honest())
    rules = ("traps", "gold", "repeats", "sides", "variance", "straight_lining", "speed")
    assert outcomes(seen) == dict.fromkeys(rules, "pass")
    assert seen.accepted == seen.used == {("r", StudyKind.cmos)}
    assert seen.unused == frozenset()
    assert {c.rules_version for c in seen.checks} == {RULES_VERSION}
    by_rule = {c.rule: c for c in seen.checks}
    assert (by_rule["traps"].value, by_rule["traps"].limit) == (1.0, RULES.trap_share)
    assert by_rule["traps"].detail == "3 of 3 traps passed"


def wild_traps(work: list[Work]) -> list[Work]:
    return [replace(w, answers=task(0, [6] * NINE).answers) if w.kind is PairKind.trap else w for w in work]


def blind_gold(work: list[Work]) -> list[Work]:
    return [replace(w, answers=task(0, [3] * NINE).answers) if w.kind is PairKind.gold else w for w in work]


def forgetful(work: list[Work]) -> list[Work]:
    # 3 - x on overall: the first time 3 - (i % 7), the second time -3 (or 3 where that was near)
    def other(w: Work) -> Work:
        first = 3 - w.assignment_id % 100 % 7
        return replace(w, answers=tuple(replace(a, score=-3 if first > 0 else 3) for a in w.answers))

    return [other(w) if w.kind is PairKind.repeat else w for w in work]


def flat(work: list[Work]) -> list[Work]:
    return [replace(w, answers=task(0, [2] * NINE).answers) if w.kind is PairKind.main else w for w in work]


def block(work: list[Work]) -> list[Work]:
    # one step a task, another from task to task: spread enough, and a straight line each time
    return [
        replace(w, answers=task(0, [w.assignment_id % 7] * NINE).answers) if w.kind is PairKind.main else w
        for w in work
    ]


def leftist(work: list[Work]) -> list[Work]:
    twice = (PairKind.main, PairKind.repeat)
    return [replace(w, answers=task(0, [0, 1, 2] * 3).answers) if w.kind in twice else w for w in work]


def hasty(work: list[Work]) -> list[Work]:
    return [replace(w, finished=(w.listened or 0) + 3000) for w in work]


@pytest.mark.parametrize(
    ("spoil", "failed", "accepted"),
    [
        (wild_traps, {"traps"}, False),
        (blind_gold, {"gold"}, True),
        (forgetful, {"repeats"}, True),
        (flat, {"variance", "straight_lining", "sides"}, True),
        (block, {"straight_lining"}, True),
        (leftist, {"sides"}, True),
        (hasty, {"speed"}, True),
    ],
)
def test_each_rule_fails_who_breaks_it_and_only_traps_touch_the_pay(
    spoil: Callable[[list[Work]], list[Work]], failed: set[str], accepted: bool
) -> None:
    work = spoil(honest())
    seen = judged(work)
    assert {rule for rule, outcome in outcomes(seen).items() if outcome == "fail"} == failed
    assert (("r", StudyKind.cmos) in seen.accepted) == accepted
    assert seen.used == frozenset()
    assert seen.unused == {w.assignment_id for w in work}  # marked, one and all, and none gone
    assert all(c.detail and c.limit is not None for c in seen.checks if c.outcome == "fail")


def test_too_little_to_tell_fails_nobody() -> None:
    seen = judged([task(0, [2] * NINE), task(100, [6] * NINE, kind=PairKind.trap)])
    assert set(outcomes(seen).values()) == {"unknown"}
    assert seen.used == {("r", StudyKind.cmos)}
    assert "2 are needed to tell" in next(c.detail for c in seen.checks if c.rule == "traps")


@pytest.mark.parametrize(("outcome", "accepted"), [("pass", True), ("unknown", True), ("fail", False)])
def test_an_outside_check_that_did_not_answer_fails_nobody(outcome: str, accepted: bool) -> None:
    check = CheckFact(rater_id="r", study=StudyKind.cmos, name="prolific", outcome=outcome, detail="time-out after 5 s")
    seen = judged(honest(), [check])
    assert (("r", StudyKind.cmos) in seen.accepted) == (("r", StudyKind.cmos) in seen.used) == accepted


def test_gold_may_miss_by_one_and_traps_may_not() -> None:
    near = [replace(w, answers=task(0, [2] * NINE).answers) if w.kind is PairKind.gold else w for w in honest()]
    assert outcomes(judged(near))["gold"] == "pass"  # 1, where 2 or 3 is expected
    off = [replace(w, answers=task(0, [1] * NINE).answers) if w.kind is PairKind.trap else w for w in honest()]
    assert outcomes(judged(off))["traps"] == "fail"  # 2, where -1..1 is expected


def test_single_tasks_are_left_out_for_practice_withdrawal_and_haste() -> None:
    work = honest()
    work[0] = replace(work[0], finished=(work[0].listened or 0) + 2000)
    work[1] = replace(work[1], state=AssignmentState.withdrawn)
    work.append(task(400, [0] * NINE, kind=PairKind.train))
    work.append(replace(task(401, [0] * NINE), state=AssignmentState.expired, answers=(), finished=None))
    seen = judged(work)
    assert seen.unused == {0, 1, 400}
    alone = {(c.assignment_id, c.rule) for c in seen.checks if c.assignment_id}
    assert alone == {("0", "fast"), ("1", "withdrawn"), ("400", "training")}
    fast = next(c for c in seen.checks if c.rule == "fast")
    assert (fast.value, fast.limit) == (2.0, pytest.approx(0.7 * NINE))
    assert seen.used == {("r", StudyKind.cmos)}


def test_the_speed_of_programs_says_nothing() -> None:
    seen = judged(hasty(honest()), simulated=frozenset({"r"}))
    assert outcomes(seen)["speed"] == "unknown"
    assert seen.used == {("r", StudyKind.cmos)}
    assert seen.unused == frozenset()


def test_other_limits_give_other_outcomes_and_studies_are_judged_apart() -> None:
    strict = replace(RULES, repeat_gap=0.5)
    assert outcomes(check_work(honest(), [], EXPECT, rules=strict))["repeats"] == "fail"
    mos = [
        replace(w, study=StudyKind.mos, assignment_id=w.assignment_id + 1000, b=None)
        for w in flat(honest())
        if w.kind is PairKind.main
    ]
    seen = judged([*honest(), *mos])
    assert seen.used == {("r", StudyKind.cmos)}
    assert {c.rule for c in seen.checks if c.study == "mos"} == {"variance", "straight_lining", "speed"}
    assert seen.unused == {w.assignment_id for w in mos}
