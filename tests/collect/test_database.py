"""Opening databases: settings that keep data, places that would lose it, and migrations on both kinds."""

from __future__ import annotations

import sqlite3
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from vaeval_tasks.collect.store import database as module
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import open_database
from vaeval_tasks.collect.store.database_tables import PUBLIC
from vaeval_tasks.collect.store.migrate import configuration, upgrade
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.files import network_file_system


def test_the_pragmas_are_in_force_on_every_connection_and_the_timeout_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3.dbapi2, "connect", traced)
    database = open_database(tmp_path / "a.sqlite", busy_ms=1234)
    pragmas = [s for s in statements if s.startswith("PRAGMA") and "=" in s]
    assert pragmas[0] == "PRAGMA busy_timeout=1234"
    with database.read() as one, database.read() as two:
        for connection in (one, two):
            got = {p: connection.exec_driver_sql(f"PRAGMA {p}").scalar() for p in ("journal_mode", "synchronous")}
            assert got == {"journal_mode": "wal", "synchronous": 2}
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1234


def test_a_write_takes_the_lock_at_its_beginning(tmp_path: Path) -> None:
    database = open_database(tmp_path / "a.sqlite", busy_ms=50)
    other = sqlite3.connect(tmp_path / "a.sqlite", timeout=0)
    with database.write(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")  # the writer has not written yet, but nobody can come between
    with database.read() as connection:
        connection.execute(sa.select(store.raters)).all()
        other.execute("BEGIN IMMEDIATE")  # a reader keeps no writer out
        other.execute("ROLLBACK")


def test_the_threads_of_a_process_queue_instead_of_meeting_at_the_lock(tmp_path: Path) -> None:
    """With no busy timeout at all, threads that met at SQLite's lock would fail at once; they take turns."""
    database = open_database(tmp_path / "a.sqlite", busy_ms=0)
    failed: list[Exception] = []

    def write(n: int) -> None:
        for m in range(10):
            try:
                with database.write() as connection:
                    connection.execute(sa.insert(store.webhooks).values(event_id=f"{n}-{m}", received=1))
                with database.people() as connection:
                    connection.execute(sa.insert(store.keys).values(name=f"{n}-{m}", value=""))
            except sa.exc.OperationalError as error:
                failed.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(store.webhooks)).scalar() == 80


def test_a_postgresql_that_may_forget_is_refused(postgres: str) -> None:
    with pytest.raises(InputError, match="synchronous_commit is off"):
        open_database(f"{postgres}?options=-csynchronous_commit%3Doff")


def test_a_refused_pragma_stops_the_start() -> None:
    with pytest.raises(InputError, match=r"refused PRAGMA journal_mode=wal \(it stays memory\)"):
        module._sqlite(Path(":memory:"), 100).connect()


@pytest.mark.parametrize("place", ["postgresql:/arena", "mysql://host/x", "http://host/x.sqlite", "s3:/bucket/x"])
def test_a_path_that_looks_like_a_url_is_refused(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="looks like a URL"):
        open_database(place)
    assert list(tmp_path.iterdir()) == []


MOUNTS = """\
/dev/vda / ext4 rw 0 0
host:/export /mnt/nfs nfs4 rw 0 0
//host/share /mnt/win\\040share cifs rw 0 0
bucket /mnt/bucket fuse.gcsfuse rw 0 0
tmpfs /mnt/nfs/local tmpfs rw 0 0
share /mnt/vm 9p rw 0 0
/dev/sdb1 /mnt/usb fuseblk rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/x", ""),
        ("/mnt/nfs", "nfs4"),
        ("/mnt/nfs/deep/er", "nfs4"),
        ("/mnt/nfs/local/x", ""),
        ("/mnt/nfsx", ""),
        ("/mnt/win share/x", "cifs"),
        ("/mnt/bucket", "fuse.gcsfuse"),
        ("/mnt/vm/a", "9p"),
        ("/mnt/usb", ""),
    ],
)
def test_network_file_systems_are_known(path: str, kind: str) -> None:
    assert network_file_system(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "network_file_system", lambda _: "nfs4")
    with pytest.raises(InputError, match="network file system \\(nfs4\\)"):
        open_database(tmp_path / "a.sqlite")


def test_personal_data_lie_in_a_file_of_their_own(tmp_path: Path) -> None:
    open_database(tmp_path / "ratings.sqlite").close()
    private = tmp_path / "ratings-private.sqlite"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    with sqlite3.connect(private) as one, sqlite3.connect(tmp_path / "ratings.sqlite") as two:
        tables = [{r[0] for r in c.execute("SELECT name FROM sqlite_master WHERE type='table'")} for c in (one, two)]
    assert "people" in tables[0]
    assert not tables[1] & {"people", "keys"}


def test_a_server_that_is_not_there_is_said_in_one_line() -> None:
    with pytest.raises(ServiceError, match=r"PostgreSQL at 127\.0\.0\.1:1: .*refused") as error:
        open_database("postgresql://someone:secret@127.0.0.1:1/none")
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


def engine_of(db: str) -> sa.Engine:
    return sa.create_engine(db.replace("postgresql", "postgresql+psycopg") if "://" in db else f"sqlite:///{db}")


def test_every_earlier_revision_is_upgraded_with_its_rows(any_db: str) -> None:
    engine = engine_of(any_db)
    upgrade(engine, PUBLIC, "study", to="0001")
    rows = [
        {"rater_id": f"r{n}", "identity_hash": f"h{n}", "source": "link", "kind": "human", "created": n}
        for n in range(1000)
    ]
    with engine.begin() as connection:
        connection.execute(sa.insert(store.raters), rows)
        assert "webhooks" not in sa.inspect(connection).get_table_names()
    database = open_database(any_db)
    with database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(store.raters)).scalar() == 1000
        assert connection.execute(sa.select(store.webhooks)).all() == []
    database.close()


def test_the_migrated_tables_are_those_of_the_program(any_db: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    database = open_database(any_db)
    for engine, metadata in ((database.public, store.PUBLIC), (database.private, store.PRIVATE)):
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"include_name": own_table})
            assert compare_metadata(context, metadata) == []
    database.close()


def own_table(name: str | None, kind: str, _parents: Any) -> bool:
    return kind != "table" or name != "alembic_version"


def test_a_downgrade_that_would_lose_rows_is_refused(any_db: str) -> None:
    database = open_database(any_db)
    with database.write() as connection:
        connection.execute(sa.insert(store.webhooks).values(event_id="e", received=1))
    for rows in (1, 0):
        with database.public.connect() as connection, connection.begin():
            config = configuration(connection, PUBLIC, "study")
            if rows:
                with pytest.raises(InputError, match=r"webhooks.*not empty"):
                    command.downgrade(config, "0001")
            else:
                command.downgrade(config, "0001")
                with pytest.raises(InputError, match="cannot be undone"):
                    command.downgrade(config, "base")
        with database.write() as connection:
            if rows:
                connection.execute(sa.delete(store.webhooks))
    database.close()


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    database = open_database(tmp_path / "a.sqlite")
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(InputError, match="'9999', made by a newer vaeval"):
        open_database(tmp_path / "a.sqlite")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("slot", {"slot": 0, "rater_id": "r2"}),
        ("one rater twice", {"slot": 1, "rater_id": "r1", "state": "done"}),
        ("two leases", {"slot": 1, "rater_id": "r1", "task_id": "t2"}),
    ],
)
def test_the_database_itself_refuses_a_slot_twice(any_db: str, name: str, values: dict[str, Any]) -> None:
    """What the claims rely on when two of them race."""
    database = open_database(any_db)
    first = {"token": "t1", "study": "cmos", "task_id": "t1", "kind": "main", "rater_id": "r1", "slot": 0}
    first |= {"left_is_a": True, "state": "leased", "lease_until": 1, "started": 0}
    with database.write() as connection:
        for rater_id in ("r1", "r2"):
            row = {"rater_id": rater_id, "identity_hash": rater_id, "source": "link", "kind": "human", "created": 0}
            connection.execute(sa.insert(store.raters).values(row))
        connection.execute(sa.insert(store.assignments).values(first))
    with pytest.raises(sa.exc.IntegrityError), database.write() as connection:
        connection.execute(sa.insert(store.assignments).values(first | values | {"token": "t2"}))
    with database.write() as connection:  # what is over holds nothing
        connection.execute(sa.insert(store.assignments).values(first | values | {"token": "t3", "state": "expired"}))
    database.close()
