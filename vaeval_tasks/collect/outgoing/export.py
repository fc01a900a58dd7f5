"""Out of the collection into the run's tables: pseudonymous, sorted, the same bytes for the same data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from vaeval_tasks.collect.outgoing.codebook import codebook
from vaeval_tasks.collect.outgoing.origin import MADE_BY, require_collected, require_same_collection
from vaeval_tasks.collect.outgoing.rows import Person, collected
from vaeval_tasks.collect.people.identity import key
from vaeval_tasks.collect.rules.quality import RULES, RULES_VERSION, check_work
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database
from vaeval_tasks.collect.store.facts import read_checks, read_work
from vaeval_tasks.design import expectation
from vaeval_tasks.files import sha256_file, write_text
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.log import write_jsonl
from vaeval_tasks.store.records_csv import write_csv
from vaeval_tasks.store.run import RECORDS, RunDir
from vaeval_tasks.store.schema import Rater, RaterKind, StudyKind

__all__ = ["FOLDER", "Exported", "Format", "export"]

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


def export(run: RunDir, database: Database, *, formats: Sequence[Format] = (), demographics: bool = False) -> Exported:
    """Write the tables of a collection into its run, with a codebook and checksums.

    Args:
        run: the run folder; its pairs say what is expected of traps and gold.
        database: the collection.
        formats: what to write beside parquet.
        demographics: whether age and gender, which are kept apart, come along.

    Raises:
        InputError: nothing was collected, or the run's tables are not of this collection; nothing is changed then.
        RunBusyError: another export is writing.
    """
    require_collected(run)
    with writing(run.root, Writer.export):
        return _export(run, database, formats, demographics)


def _export(run: RunDir, database: Database, formats: Sequence[Format], demographics: bool) -> Exported:
    expect = {p.pair_id: [expectation(t) for t in p.expect] for p in run.read("pairs")}
    people = _people(database) if demographics else {}
    secret = key(database, "export")
    with database.read() as connection:
        work = read_work(connection)
        kinds = {r.rater_id: RaterKind(r.kind) for r in connection.execute(sa.select(store.raters))}
        simulated = frozenset(r for r, kind in kinds.items() if kind is RaterKind.simulated)
        quality = check_work(work, read_checks(connection), expect, simulated=simulated)
        tables = collected(connection, work, quality, kinds, people, secret)
        held = set(connection.execute(sa.select(store.studies.c.study)).scalars())
        for name, study in (("ratings", StudyKind.cmos), ("mos", StudyKind.mos)):
            if study not in held:  # an empty table would say that nobody answered
                del tables[name]
        counts = {name: len(rows) for name, rows in tables.items()}
        book = codebook(connection, counts)
    require_same_collection(run, tables)
    for name, rows in tables.items():
        run.write(name, rows, made_by=MADE_BY, inputs=["pairs"], rules_version=RULES_VERSION, rules=asdict(RULES))
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


def _people(database: Database) -> dict[str, Person]:
    with database.people() as connection:
        rows = connection.execute(sa.select(store.people.c.rater_id, store.people.c.gender, store.people.c.age))
        return {r.rater_id: Person(r.gender, r.age) for r in rows}
