"""Out of the collection into the run's tables: pseudonymous, sorted, the same bytes for the same data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect import store
from vaeval_tasks.collect.anonymous import payload, pseudonym, without_addresses
from vaeval_tasks.collect.codebook import codebook
from vaeval_tasks.collect.database import Database
from vaeval_tasks.collect.facts import Work, read_checks, read_work
from vaeval_tasks.collect.identity import key
from vaeval_tasks.collect.quality import RULES, RULES_VERSION, Quality, judge_work
from vaeval_tasks.collect.store import Study
from vaeval_tasks.design import expectation
from vaeval_tasks.files import sha256_file, write_text
from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.run import RECORDS, RunDir
from vaeval_tasks.schema import Assignment, Comment, Event, MosRating, PairKind, Rater, Rating
from vaeval_tasks.sheets import write_csv
from vaeval_tasks.tables import write_jsonl

__all__ = ["FOLDER", "Exported", "Format", "collected", "export"]

FOLDER = "export"
"""Where the codebook, the checksums and other formats lie in the run folder."""


class Format(StrEnum):
    """A format beside parquet."""

    csv = "csv"
    jsonl = "jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was exported."""

    rows: dict[str, int]
    """Rows of each table."""
    raters: int
    accepted: int
    used: int
    reasons: dict[str, int]
    """Raters that failed each rule, as study:rule."""


@dataclass(frozen=True, slots=True)
class _Person:
    gender: str
    age: int | None


_NOBODY = _Person("", None)


def export(run: RunDir, database: Database, *, formats: Sequence[Format] = (), demographics: bool = False) -> Exported:
    """Write the tables of a collection into its run, with a codebook and checksums.

    Args:
        run: the run folder; its pairs say what is expected of traps and gold.
        database: the collection.
        formats: what to write beside parquet.
        demographics: whether age and gender, which are kept apart, come along.
    """
    expect = {p.pair_id: [expectation(t) for t in p.expect] for p in run.read("pairs")} if run.has("pairs") else {}
    people = _people(database) if demographics else {}
    secret = key(database, "export")
    with database.read() as connection:
        work = read_work(connection)
        kinds = {r.rater_id: r.kind for r in connection.execute(sa.select(store.raters))}
        simulated = frozenset(r for r, kind in kinds.items() if kind == "simulated")
        quality = judge_work(work, read_checks(connection), expect, simulated=simulated)
        tables = collected(connection, work, quality, kinds, people, secret)
        held = set(connection.execute(sa.select(store.studies.c.study)).scalars())
        for name, study in (("ratings", Study.cmos), ("mos", Study.mos)):
            if study not in held:  # an empty table would say that nobody answered
                del tables[name]
        counts = {name: len(rows) for name, rows in tables.items()}
        book = codebook(connection, counts)
    for name, rows in tables.items():
        run.write(
            name, rows, made_by="vaeval export", inputs=["pairs"], rules_version=RULES_VERSION, rules=asdict(RULES)
        )
    _beside(run, tables, formats, book)
    raters: list[Rater] = tables["raters"]
    return Exported(
        rows=counts,
        raters=len(raters),
        accepted=sum(r.accepted for r in raters),
        used=sum(r.use for r in raters),
        reasons=dict(sorted(Counter(reason for r in raters for reason in r.reasons).items())),
    )


def _beside(run: RunDir, tables: Mapping[str, Sequence[Any]], formats: Sequence[Format], book: str) -> None:
    folder = run.root / FOLDER
    written = [run.path(name) for name in tables]
    for name, rows in tables.items():
        for form in formats:
            path = folder / f"{name}.{form}"
            if form is Format.csv:
                write_csv(path, RECORDS[name], rows)
            else:
                write_jsonl(path, rows)
            written.append(path)
    write_text(folder / "codebook.md", book)
    written.append(folder / "codebook.md")
    sums = [f"{sha256_file(path)}  {_from(folder, path)}" for path in sorted(written)]
    write_text(folder / "SHA256SUMS", "\n".join(sums) + "\n")


def _from(folder: Path, path: Path) -> str:
    """Return a path as ``sha256sum -c`` wants it when run in the folder of the checksums."""
    return path.name if path.parent == folder else f"../{path.name}"


def collected(
    connection: Connection,
    work: Sequence[Work],
    quality: Quality,
    kinds: Mapping[str, str],
    people: Mapping[str, _Person],
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
    cmos = [r for w in work if w.study is Study.cmos for r in _ratings(w, name, quality)]
    mos = [r for w in work if w.study is Study.mos for r in _mos(w, name, quality)]
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
        state=w.state.value,
        started=_time(w.started),
        finished=_time(w.finished),
    )


def _raters(
    work: Sequence[Work],
    quality: Quality,
    kinds: Mapping[str, str],
    people: Mapping[str, _Person],
    name: Mapping[str, str],
) -> Iterator[Rater]:
    """Yield those who were given a task."""
    pools: dict[str, set[Study]] = defaultdict(set)
    for w in work:
        pools[w.rater_id].add(w.study)
    failed: dict[str, list[str]] = defaultdict(list)
    for check in quality.checks:
        if check.outcome == "fail" and not check.assignment_id:
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


def _people(database: Database) -> dict[str, _Person]:
    with database.people() as connection:
        rows = connection.execute(sa.select(store.people.c.rater_id, store.people.c.gender, store.people.c.age))
        return {r.rater_id: _Person(r.gender, r.age) for r in rows}
