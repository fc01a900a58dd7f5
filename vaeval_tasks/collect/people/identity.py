"""Who the raters are: keyed hashes in the study, what is known of the person apart from it."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.server_clock import MINUTE
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.schema import RaterKind, StudyKind

__all__ = [
    "GENDERS",
    "Known",
    "delete_person",
    "describe_person",
    "enrol",
    "find_by_identity",
    "key",
    "mark",
    "new_rater",
    "purge",
]

GENDERS = ("woman", "man", "non-binary", "")
"""The answers to the question for gender; empty: prefers not to say."""

_DAY = 24 * 60 * MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """How far a rater has come in one study; None where not yet (times in ms)."""

    rater_id: str
    study: StudyKind
    entered: int
    consented: int | None
    demographics: int | None
    sound: int | None
    finished: int | None
    withdrawn: int | None


def key(database: Database, name: str) -> str:
    """Return a secret key of this collection, made at its first use; it never leaves the private database."""
    query = sa.select(store.keys.c.value).where(store.keys.c.name == name)
    with database.private.connect() as connection:
        found = connection.execute(query).scalar()
    if found is None:
        insert = sqlite.insert if database.sqlite else postgresql.insert
        with database.people() as connection:
            made = insert(store.keys).values(name=name, value=secrets.token_hex(32))
            connection.execute(made.on_conflict_do_nothing())  # another process may have been quicker
            found = connection.execute(query).scalar_one()
    return str(found)


def identity_hash(database: Database, source: str, identity: str) -> str:
    """Return the keyed hash (HMAC-SHA256) under which an outside identity is known in the study."""
    secret = key(database, "identity").encode()
    return hmac.new(secret, f"{source}:{identity}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def find_by_identity(database: Database, source: str, identity: str) -> str | None:
    """Return the rater with that outside identity, or None."""
    wanted = identity_hash(database, source, identity)
    with database.read() as connection:
        query = sa.select(store.raters.c.rater_id).where(store.raters.c.identity_hash == wanted)
        return connection.execute(query).scalar()


def new_rater(
    database: Database, source: str, identity: str, *, now: int, retention_days: int, kind: RaterKind = RaterKind.human
) -> str:
    """Make a rater, or return the one with that identity (two tabs may enter at once)."""
    hashed = identity_hash(database, source, identity)
    rater_id = "r" + secrets.token_hex(8)
    insert = sqlite.insert if database.sqlite else postgresql.insert
    with database.write() as connection:
        row = insert(store.raters).values(
            rater_id=rater_id, identity_hash=hashed, source=source, kind=kind, created=now
        )
        made = connection.execute(row.on_conflict_do_nothing()).rowcount
        if not made:
            query = sa.select(store.raters.c.rater_id).where(store.raters.c.identity_hash == hashed)
            rater_id = connection.execute(query).scalar_one()
    with database.people() as connection:
        person = insert(store.people).values(
            rater_id=rater_id,
            identity=identity,
            gender="",
            age=None,
            created=now,
            delete_after=now + retention_days * _DAY,
        )
        connection.execute(person.on_conflict_do_nothing())
    return rater_id


def enrol(database: Database, study: StudyKind, rater_id: str, *, now: int) -> Known:
    """Return the rater's standing in the study, and begin it if this is the first visit."""
    with database.read() as connection:
        found = known(connection, study, rater_id)
    if found is not None:
        return found
    insert = sqlite.insert if database.sqlite else postgresql.insert
    with database.write() as connection:
        row = insert(store.enrolments).values(rater_id=rater_id, study=study, entered=now)
        connection.execute(row.on_conflict_do_nothing())  # two tabs may enter at once
        found = known(connection, study, rater_id)
    if found is None:
        raise LookupError(rater_id)
    return found


def known(connection: Connection, study: StudyKind, rater_id: str) -> Known | None:
    """Return the rater's standing in the study, or None."""
    table = store.enrolments
    query = sa.select(table).where(table.c.rater_id == rater_id, table.c.study == study)
    row = connection.execute(query).mappings().first()
    return None if row is None else Known(**{**row, "study": StudyKind(row["study"])})


def mark(connection: Connection, study: StudyKind, rater_id: str, step: str, *, now: int) -> None:
    """Note that a rater has passed a step (``consented``, ``demographics``, ``sound``, ``finished``, ``withdrawn``).

    The first time stays.
    """
    table = store.enrolments
    where = (table.c.rater_id == rater_id, table.c.study == study, table.c[step].is_(None))
    connection.execute(sa.update(table).where(*where).values({step: now}))


def describe_person(database: Database, rater_id: str, *, gender: str, age: int | None) -> None:
    """Keep age (years) and gender, apart from the ratings."""
    with database.people() as connection:
        person = store.people
        connection.execute(sa.update(person).where(person.c.rater_id == rater_id).values(gender=gender, age=age))


def delete_person(database: Database, rater_id: str) -> None:
    """Delete what is known of a person, and what would recognise them; the pseudonymous ratings stay.

    Raises:
        InputError: there is no such rater, or nothing is known of them any more.
    """
    if not _forget(database, store.people.c.rater_id == rater_id):
        raise InputError(f"no personal data of rater {rater_id!r}; the export's raters table lists the ids")


def purge(database: Database, *, now: int) -> int:
    """Delete personal data whose retention is over; return of how many raters."""
    return _forget(database, store.people.c.delete_after <= now)


def _forget(database: Database, which: sa.ColumnElement[bool]) -> int:
    with database.people() as connection:
        gone = (
            connection.execute(sa.delete(store.people).where(which).returning(store.people.c.rater_id)).scalars().all()
        )
    with database.write() as connection:
        for rater_id in gone:
            row = sa.update(store.raters).where(store.raters.c.rater_id == rater_id)
            connection.execute(row.values(identity_hash=f"deleted-{secrets.token_hex(24)}"))
    return len(gone)
