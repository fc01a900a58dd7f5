"""The rows of an export: what was collected under pseudonyms, sorted, without addresses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.people.anonymous import payload, pseudonym, without_addresses
from vaeval_tasks.collect.rules.quality import Quality
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.facts import Work
from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.store.schema import (
    Assignment,
    CheckOutcome,
    Comment,
    Event,
    MosRating,
    PairKind,
    Rater,
    RaterKind,
    Rating,
    StudyKind,
)

__all__ = ["Person", "collected"]


@dataclass(frozen=True, slots=True)
class Person:
    """What may be told of a rater, if an export is asked for it."""

    gender: str
    age: int | None


_NOBODY = Person("", None)


def collected(
    connection: Connection,
    work: Sequence[Work],
    quality: Quality,
    kinds: Mapping[str, RaterKind],
    people: Mapping[str, Person],
    secret: str,
) -> dict[str, list[Any]]:
    """Return the rows of every table, sorted.

    Args:
        connection: the collection, for its events.
        work: all assignments.
        quality: what the rules say of them.
        kinds: human or simulated, by rater.
        people: what may be told of the raters.
        secret: the key of the pseudonyms.
    """
    name = {rater_id: pseudonym(secret, rater_id) for rater_id in kinds}
    place = {rubric: i for i, rubric in enumerate(KEYS)}
    cmos = [r for w in work if w.study is StudyKind.cmos for r in _ratings(w, name, quality)]
    mos = [r for w in work if w.study is StudyKind.mos for r in _mos(w, name, quality)]
    checks = [
        replace(c, rater_id=name[c.rater_id], assignment_id=_id(int(c.assignment_id)) if c.assignment_id else "")
        for c in quality.checks
    ]
    return {
        "ratings": sorted(cmos, key=lambda r: (r.prompt_id, r.a, r.b, r.rater_id, r.assignment_id, place[r.rubric])),
        "mos": sorted(mos, key=lambda r: (r.prompt_id, r.config_id, r.rater_id, r.assignment_id, place[r.rubric])),
        "comments": [_comment(w, name) for w in work if w.comment],
        "raters": sorted(_raters(work, quality, kinds, people, name), key=lambda r: r.rater_id),
        "assignments": [_assignment(w, name) for w in work],
        "events": list(_events(connection)),
        "quality": sorted(checks, key=lambda c: (c.rater_id, c.study, c.assignment_id, c.rule)),
    }


def _id(assignment_id: int) -> str:
    return f"a{assignment_id:07d}"


def _time(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


def _ratings(w: Work, name: Mapping[str, str], quality: Quality) -> Iterator[Rating]:
    for answer in w.answers:
        yield Rating(
            prompt_id=w.prompt_id,
            a=w.a,
            b=w.b or "",
            rater_id=name[w.rater_id],
            rubric=answer.rubric,
            score=answer.score,
            left_is_a=w.left_is_a,
            assignment_id=_id(w.assignment_id),
            use=w.assignment_id not in quality.unused,
            kind=w.kind,
        )


def _mos(w: Work, name: Mapping[str, str], quality: Quality) -> Iterator[MosRating]:
    for answer in w.answers:
        yield MosRating(
            prompt_id=w.prompt_id,
            config_id=w.a,
            rater_id=name[w.rater_id],
            rubric=answer.rubric,
            score=answer.score,
            assignment_id=_id(w.assignment_id),
            # a MOS table has no kind: what is not of the study proper is not used
            use=w.assignment_id not in quality.unused and w.kind is PairKind.main,
        )


def _comment(w: Work, name: Mapping[str, str]) -> Comment:
    return Comment(
        prompt_id=w.prompt_id,
        config_id=w.a,
        other_config_id=w.b or "",
        rater_id=name[w.rater_id],
        text=without_addresses(w.comment),
        assignment_id=_id(w.assignment_id),
    )


def _assignment(w: Work, name: Mapping[str, str]) -> Assignment:
    return Assignment(
        assignment_id=_id(w.assignment_id),
        pair_id=w.task_id,
        rater_id=name[w.rater_id],
        slot=w.slot,
        left_is_a=w.left_is_a,
        state=w.state,
        started=_time(w.started),
        finished=_time(w.finished),
    )


def _raters(
    work: Sequence[Work],
    quality: Quality,
    kinds: Mapping[str, RaterKind],
    people: Mapping[str, Person],
    name: Mapping[str, str],
) -> Iterator[Rater]:
    """Yield those who were given a task."""
    pools: dict[str, set[StudyKind]] = defaultdict(set)
    for w in work:
        pools[w.rater_id].add(w.study)
    failed: dict[str, list[str]] = defaultdict(list)
    for check in quality.checks:
        if check.outcome == CheckOutcome.failed and not check.assignment_id:
            failed[check.rater_id].append(f"{check.study}:{check.rule}")
    for rater_id, studies in pools.items():
        person = people.get(rater_id, _NOBODY)
        yield Rater(
            rater_id=name[rater_id],
            kind=kinds[rater_id],
            gender=person.gender,
            age=person.age,
            pools=tuple(sorted(study.value for study in studies)),
            accepted=all((rater_id, study) in quality.accepted for study in studies),
            use=all((rater_id, study) in quality.used for study in studies),
            reasons=tuple(sorted(failed[rater_id])),
        )


def _events(connection: Connection) -> Iterator[Event]:
    table = store.events
    # the server's own notes have negative numbers: time puts them where they belong
    order = (table.c.assignment_id, table.c.server_time, table.c.seq)
    current, number, began = -1, 0, 0
    for row in connection.execute(sa.select(table).order_by(*order)):
        if row.assignment_id != current:
            current, number, began = row.assignment_id, 0, row.client_time
        number += 1
        yield Event(
            assignment_id=_id(row.assignment_id),
            seq=number,
            kind=row.kind,
            at=_time(row.server_time),
            client_ms=row.client_time - began,
            payload=payload(row.payload),
        )
