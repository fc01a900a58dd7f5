"""Open the two databases of a collection: refuse what would lose data, set what keeps it, migrate."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine

from vaeval_tasks.collect.store.database_tables import PRIVATE, PUBLIC
from vaeval_tasks.collect.store.migrate import upgrade
from vaeval_tasks.errors import InputError, MissingDependencyError, ServiceError
from vaeval_tasks.files import network_file_system

__all__ = ["BUSY_MS", "PRIVATE_SCHEMA", "Database", "open_database"]

BUSY_MS = 30_000
"""How long a SQLite writer waits for another process, in ms."""

PRIVATE_SCHEMA = "vaeval_private"
"""The PostgreSQL schema of the private tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The open databases: ``public`` holds the study, ``private`` who the raters are."""

    public: Engine
    private: Engine
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _people_turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def sqlite(self) -> bool:
        """Whether the store is SQLite (one writer at a time) and not PostgreSQL."""
        return self.public.dialect.name == "sqlite"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that may write; it commits when the block ends without an error.

        On SQLite it begins with ``BEGIN IMMEDIATE``: a deferred transaction that reads first and writes later
        fails at once when another writer came between, whatever the busy timeout. The threads of this process
        queue at a lock, because SQLite's own busy handler is unfair.
        """
        if not self.sqlite:
            with self.public.begin() as connection:
                yield connection
            return
        with self._turn, self.public.connect() as connection:
            connection.execution_options(vaeval_begin="BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection for reading one consistent state."""
        with self.public.connect() as connection:
            yield connection

    @contextmanager
    def people(self) -> Iterator[Connection]:
        """Yield a connection to the private database in a writing transaction."""
        with self._people_turn, self.private.connect() as connection:
            connection.execution_options(vaeval_begin="BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close all connections."""
        self.public.dispose()
        self.private.dispose()


def open_database(where: str | Path, *, busy_ms: int = BUSY_MS, make: bool = True) -> Database:
    """Open (and make or upgrade) the databases of a collection.

    Args:
        where: a file for SQLite (the private tables go to ``NAME-private.sqlite`` beside it), or a
            ``postgresql://`` URL (the private tables go to the schema ``vaeval_private``).
        busy_ms: how long a SQLite writer waits for another process, in ms.
        make: whether to make databases that are not there; without, nothing is made.

    Raises:
        InputError: the path is on a network file system or looks like a URL, a newer vaeval made the database, it is
            damaged or no collection, or it is not there and is not to be made.
        ServiceError: the PostgreSQL server cannot be reached.
    """
    text = str(where)
    if text.startswith(("postgresql://", "postgresql+psycopg://", "postgres://")):
        database = _postgres("postgresql+psycopg://" + text.split("://", 1)[1], make)
    else:
        database = _sqlite_pair(text, busy_ms, make)
    for engine, tables, branch in ((database.public, PUBLIC, "study"), (database.private, PRIVATE, "private")):
        try:
            upgrade(engine, tables, branch)
        except (sa.exc.DatabaseError, sqlite3.DatabaseError) as error:
            database.close()
            reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
            if database.sqlite:
                raise InputError(f"{_DAMAGED} ({reason}); {_RESTORE}", path=engine.url.database) from None
            raise ServiceError(f"the database cannot be opened: {reason}") from None
    return database


_DAMAGED = "cannot be read as a rating database"
_RESTORE = "put the newest copy of the folder backups in its place"


def _require_collection(path: Path, private: Path, *, make: bool, busy_ms: int) -> None:
    """Refuse a file that is no collection, before anything is made or changed."""
    if not path.is_file() or path.stat().st_size == 0:
        if not make:
            raise InputError("nothing was collected yet; run vaeval serve, or name the database with --db", path=path)
        return
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=busy_ms / 1000)) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.DatabaseError as error:
        raise InputError(f"{_DAMAGED} ({error}); {_RESTORE}", path=path) from None
    if "studies" not in names and (names or not make):
        raise InputError(f"{_DAMAGED}: it is another program's; name ours with --db", path=path)
    if not make and not private.is_file():
        raise InputError("is missing: without it nobody can be told apart; put its copy back", path=private)


def _sqlite_pair(text: str, busy_ms: int, make: bool) -> Database:
    text = text.removeprefix("sqlite:///")
    if ":/" in text:
        raise InputError(
            "looks like a URL, not a file; give a local path for SQLite, or postgresql://USER@HOST/NAME", path=text
        )
    path = Path(text).absolute()
    if kind := network_file_system(path.parent.resolve()):
        raise InputError(
            f"is on a network file system ({kind}), where SQLite loses data; use a local disk or PostgreSQL", path=path
        )
    private = path.with_name(f"{path.stem}-private{path.suffix}")
    _require_collection(path, private, make=make, busy_ms=busy_ms)
    path.parent.mkdir(parents=True, exist_ok=True)
    private.touch(mode=0o600)
    return Database(public=_sqlite(path, busy_ms), private=_sqlite(private, busy_ms))


def _sqlite(path: Path, busy_ms: int) -> Engine:
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.pool.QueuePool, pool_size=16, max_overflow=64)

    @event.listens_for(engine, "connect")
    def _connect(raw: Any, _record: Any) -> None:
        raw.isolation_level = None  # the driver must not begin transactions of its own
        cursor = raw.cursor()
        # the timeout comes first: switching to WAL may itself find the file locked
        cursor.execute(f"PRAGMA busy_timeout={int(busy_ms)}")
        for pragma, wanted in (("journal_mode", "wal"), ("synchronous", "2"), ("foreign_keys", "1")):
            cursor.execute(f"PRAGMA {pragma}={wanted}")
            got = str(cursor.execute(f"PRAGMA {pragma}").fetchone()[0])
            if got != wanted:
                raise InputError(
                    f"SQLite refused PRAGMA {pragma}={wanted} (it stays {got}); use a local disk", path=path
                )
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("vaeval_begin", "BEGIN"))

    return engine


def _postgres(url: str, make: bool) -> Database:
    try:
        public = sa.create_engine(url, pool_size=16, max_overflow=24, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise MissingDependencyError("PostgreSQL", "psycopg", extra="study") from None
    except sa.exc.ArgumentError as error:
        raise InputError(f"is not a database URL ({error})", path=url.rsplit("@", 1)[-1]) from None
    where = f"{public.url.host}:{public.url.port or 5432}"  # never the user or the password
    private = sa.create_engine(
        url, pool_size=2, pool_pre_ping=True, connect_args={"options": f"-csearch_path={PRIVATE_SCHEMA}"}
    )
    try:
        if not make and not sa.inspect(public).has_table("studies"):
            raise InputError("nothing was collected in this database yet; run vaeval serve", path=where)
        with public.begin() as connection:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7265627)"))  # two servers may start at once
            connection.execute(sa.schema.CreateSchema(PRIVATE_SCHEMA, if_not_exists=True))
            durable = connection.execute(sa.text("SHOW synchronous_commit")).scalar_one()
    except sa.exc.OperationalError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise ServiceError(f"PostgreSQL at {where}: {reason}") from None
    if durable == "off":
        raise InputError("synchronous_commit is off: an answer could be acknowledged and lost; set it on", path=where)
    return Database(public=public, private=private)
