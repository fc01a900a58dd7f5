"""Which task a rater is given: training first, pass 1 before pass 2, mirrored sides, checks and repeats in time."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.collect.people.identity import new_rater
from vaeval_tasks.collect.rules import alloc
from vaeval_tasks.collect.rules.policy import Heard, History, Offer, ranked
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.rules.standing import next_task, tasks_done, withdraw
from vaeval_tasks.collect.server_clock import MINUTE
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database, open_database
from vaeval_tasks.collect.store.importer import design_tasks
from vaeval_tasks.store.schema import AssignmentState, Pair, PairKind, Prompt, StudyKind

SETTINGS = Settings(study=StudyKind.cmos, check_every=4, repeat_gap=3)
A, T = store.assignments, store.tasks


def fill(db: str | Path, pairs: list[Pair], settings: Settings = SETTINGS) -> Database:
    """A database with these pairs and rows for clips, without any sound."""
    database = open_database(db)
    prompts = {p.prompt_id: Prompt(prompt_id=p.prompt_id, category="x", difficulty="L1") for p in pairs}
    keys = {(p.prompt_id, c) for p in pairs for c in ("", p.a, p.b)}
    clip = {"source_sha256": "", "file": "", "sha256": "", "seconds": 1.0}
    with database.write() as connection:
        connection.execute(sa.insert(T), design_tasks(pairs, prompts, settings))
        connection.execute(sa.insert(store.clips), [{"prompt_id": p, "config_id": c, **clip} for p, c in sorted(keys)])
    return database


def design(prompts: int, *, slots: int = 2, extra: tuple[Pair, ...] = ()) -> list[Pair]:
    """Three configurations, all three pairs on every prompt."""
    return [
        Pair(pair_id=f"p{p:02}{a}{b}", prompt_id=f"p{p:02}", a=a, b=b, slots=slots, left_is_a=p % 2 == 0)
        for p in range(prompts)
        for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
    ] + list(extra)


def rater(database: Database, name: str) -> str:
    return new_rater(database, "link", name, now=0, retention_days=1)


def take(database: Database, rater_id: str, settings: Settings = SETTINGS, *, now: int = 0) -> Any:
    """Claim, mark as done, and return the assignment with its task; None when nothing is left."""
    lease = alloc.claim(database, settings, rater_id, now=now)
    if lease is None:
        return None
    with database.write() as connection:
        mine = A.c.assignment_id == lease.assignment_id
        connection.execute(sa.update(A).where(mine).values(state=AssignmentState.done))
        query = sa.select(A, T.c.a, T.c.b, T.c.prompt_id).join_from(
            A, T, sa.and_(A.c.task_id == T.c.task_id, A.c.study == T.c.study)
        )
        return connection.execute(query.where(mine)).one()


def test_a_claim_is_the_same_until_it_ends(tmp_path: Path) -> None:
    database = fill(tmp_path / "a.sqlite", design(2))
    one = rater(database, "one")
    first = alloc.claim(database, SETTINGS, one, now=0)
    assert first is not None
    assert first.new
    assert alloc.claim(database, SETTINGS, one, now=29 * MINUTE) == replace(first, new=False)
    later = alloc.claim(database, SETTINGS, one, now=30 * MINUTE)
    assert later is not None
    assert later.token != first.token


def test_pass_one_ends_before_pass_two_and_shows_the_other_side(any_db: str) -> None:
    database = fill(any_db, design(4))
    raters = [rater(database, f"r{n}") for n in range(4)]
    taken = [take(database, raters[n % 4]) for n in range(24)]
    assert [row.slot for row in taken] == [0] * 12 + [1] * 12
    sides = defaultdict(list)
    for row in taken:
        sides[row.task_id].append(row.left_is_a)
    assert all(sorted(pair) == [False, True] for pair in sides.values())
    assert all(take(database, one) is None for one in raters)
    database.close()


def test_no_rater_hears_a_prompt_twice_while_there_are_others(tmp_path: Path) -> None:
    database = fill(tmp_path / "a.sqlite", design(10))
    one = rater(database, "one")
    prompts = [take(database, one).prompt_id for _ in range(10)]
    assert len(set(prompts)) == 10
    database.close()


def test_training_comes_first_for_everybody(tmp_path: Path) -> None:
    training = tuple(replace(p, pair_id=f"t{p.pair_id}", kind=PairKind.train, slots=1) for p in design(1))
    database = fill(tmp_path / "a.sqlite", design(2, extra=training))
    for name in ("one", "two", "three"):
        one = rater(database, name)
        assert [take(database, one).kind for _ in range(4)] == ["train"] * 3 + ["main"]


def test_a_check_is_due_every_few_tasks_and_none_is_seen_twice(tmp_path: Path) -> None:
    checks = (
        Pair(pair_id="trap", prompt_id="p00", a="a", b="a", kind=PairKind.trap, slots=1),
        Pair(pair_id="gold", prompt_id="p01", a="a", b="z", kind=PairKind.gold, slots=1),
    )
    database = fill(tmp_path / "a.sqlite", design(8, extra=checks))
    for name in ("one", "two"):  # checks are not used up by their slots
        one = rater(database, name)
        kinds = [take(database, one).kind for _ in range(12)]
        assert [n for n, kind in enumerate(kinds) if kind in ("trap", "gold")] == [3, 7]
        assert {"trap", "gold"} <= set(kinds)


def test_a_repeat_goes_to_the_same_rater_later_with_the_sides_swapped(tmp_path: Path) -> None:
    repeats = tuple(replace(p, pair_id=f"r{p.pair_id}", kind=PairKind.repeat, slots=1) for p in design(4))
    database = fill(tmp_path / "a.sqlite", design(4, slots=1, extra=repeats))
    one, two = rater(database, "one"), rater(database, "two")
    done: dict[str, list[Any]] = {one: [], two: []}
    for n in range(24):
        who = (one, two)[n % 2]
        row = take(database, who)
        if row is not None:
            done[who].append(row)
    seen = 0
    for rows in done.values():
        places = {(row.prompt_id, row.a, row.b): n for n, row in enumerate(rows) if row.kind == "main"}
        for n, row in enumerate(rows):
            if row.kind == "repeat":
                first = places[row.prompt_id, row.a, row.b]  # never of a pair that another rater did
                assert n - first >= SETTINGS.repeat_gap
                assert row.left_is_a is not rows[first].left_is_a
                seen += 1
    assert seen > 3


def test_an_abandoned_task_is_given_on_and_may_come_back(tmp_path: Path) -> None:
    database = fill(tmp_path / "a.sqlite", [design(1, slots=1)[0]])
    one, two = rater(database, "one"), rater(database, "two")
    assert alloc.claim(database, SETTINGS, one, now=0) is not None
    assert alloc.claim(database, SETTINGS, two, now=0) is None
    assert alloc.claim(database, SETTINGS, two, now=30 * MINUTE) is not None
    assert alloc.claim(database, SETTINGS, one, now=61 * MINUTE) is not None
    with database.read() as connection:
        assert connection.execute(sa.select(A.c.state).order_by(A.c.assignment_id)).scalars().all() == [
            "expired",
            "expired",
            "leased",
        ]
        assert connection.execute(sa.select(T.c.taken)).scalar() == 1


def test_a_quota_and_an_empty_study_finish_the_rater(tmp_path: Path) -> None:
    settings = replace(SETTINGS, tasks_per_rater=2)
    database = fill(tmp_path / "a.sqlite", design(2))
    one = rater(database, "one")
    from vaeval_tasks.collect.people.identity import enrol, known

    enrol(database, StudyKind.cmos, one, now=0)
    for _ in range(2):
        assert take(database, one, settings) is not None
    assert tasks_done(database, settings, one) == 2
    assert next_task(database, settings, one, now=5) is None
    with database.read() as connection:
        standing = known(connection, StudyKind.cmos, one)
    assert standing is not None
    assert standing.finished == 5


def test_who_withdraws_opens_the_slots_again(tmp_path: Path) -> None:
    database = fill(tmp_path / "a.sqlite", design(2))
    one = rater(database, "one")
    for _ in range(3):
        take(database, one)
    alloc.claim(database, SETTINGS, one, now=0)
    withdraw(database, SETTINGS, one, now=1)
    with database.read() as connection:
        assert set(connection.execute(sa.select(A.c.state)).scalars()) == {"withdrawn"}
        assert set(connection.execute(sa.select(T.c.taken)).scalars()) == {0}


def test_a_mos_study_asks_each_response_as_often_as_wanted(tmp_path: Path) -> None:
    settings = Settings(study=StudyKind.mos, mos_raters=3)
    database = fill(tmp_path / "a.sqlite", design(2), settings)
    raters = [rater(database, f"r{n}") for n in range(3)]
    taken = [take(database, raters[n % 3], settings) for n in range(18)]
    assert Counter((row.prompt_id, row.a) for row in taken) == {(p, c): 3 for p in ("p00", "p01") for c in "abc"}
    assert all(row.b is None for row in taken)
    assert take(database, raters[0], settings) is None


def test_the_clips_of_a_task_have_addresses_of_their_own(tmp_path: Path) -> None:
    database = fill(tmp_path / "a.sqlite", design(1))
    lease = alloc.claim(database, SETTINGS, rater(database, "one"), now=0)
    assert lease is not None
    with database.read() as connection:
        row = connection.execute(
            sa.select(A.c.left_is_a, T.c.a, T.c.b).join_from(A, T, A.c.task_id == T.c.task_id)
        ).one()
        links = connection.execute(
            sa.select(store.clip_links.c.part, store.clip_links.c.link, store.clips.c.config_id).join_from(
                store.clip_links, store.clips, store.clip_links.c.clip_id == store.clips.c.clip_id
            )
        ).all()
    sides = {part: config for part, _, config in links}
    assert sides == {
        "prompt": "",
        "left": row.a if row.left_is_a else row.b,
        "right": row.b if row.left_is_a else row.a,
    }
    assert all(len(link) >= 22 for _, link, _ in links)


names = st.sampled_from("abcde")
heard = st.builds(
    lambda p, ab, left: Heard(task_id="t", prompt_id=p, a=min(ab), b=max(ab), kind=PairKind.main, left_is_a=left),
    st.sampled_from("pqrs"),
    st.sets(names, min_size=2, max_size=2),
    st.booleans(),
)


@given(st.lists(heard, max_size=12), st.lists(heard, max_size=8))
def test_ranking_prefers_unheard_prompts_and_is_a_permutation(past: list[Heard], rest: list[Heard]) -> None:
    offers = [
        Offer(task_id=str(n), prompt_id=h.prompt_id, a=h.a, b=h.b, left_is_a=h.left_is_a) for n, h in enumerate(rest)
    ]
    order = ranked(offers, History(tuple(past)))
    assert sorted(o.task_id for o in order) == sorted(o.task_id for o in offers)
    known = {h.prompt_id for h in past}
    flags = [o.prompt_id in known for o in order]
    assert flags == sorted(flags)


def test_ranking_balances_the_sides() -> None:
    past = [Heard(task_id="t", prompt_id=f"q{n}", a="a", b="b", kind=PairKind.main, left_is_a=True) for n in range(4)]
    left = Offer(task_id="left", prompt_id="p", a="a", b="c", left_is_a=True)
    right = Offer(task_id="right", prompt_id="p", a="a", b="c", left_is_a=False)
    assert [o.task_id for o in ranked([left, right], History(tuple(past)))] == ["right", "left"]


@pytest.mark.parametrize("kinds", [[], ["main"] * 3, ["train"] * 5])
def test_checks_are_counted_from_the_last_one(kinds: list[str]) -> None:
    def history(all_kinds: list[str]) -> History:
        return History(
            tuple(
                Heard(task_id="", prompt_id="", a="", b="", kind=PairKind(kind), left_is_a=True) for kind in all_kinds
            )
        )

    counted = len([k for k in kinds if k != "train"])
    assert history(kinds).since_check() == counted
    assert history([*kinds, "gold"]).since_check() == 0
    assert history(["trap", *kinds]).since_check() == counted
