"""Copies of the databases that can be restored: made by SQLite itself, checked, never a copy of a live file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from vaeval_tasks.collect.store.database import Database
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import atomic_path, sha256_file, sync_folder, write_text

__all__ = ["KEEP", "backup"]

KEEP = 48
"""How many copies are kept; the oldest go."""


def backup(database: Database, folder: Path, *, now: int) -> list[Path]:
    """Copy both databases into ``folder`` with ``VACUUM INTO``, check the copies, and write their SHA-256 beside them.

    To restore, stop the server and put the copy in the database's place.

    Raises:
        InputError: the store is PostgreSQL (use ``pg_dump``), or a copy fails SQLite's own check.
    """
    if not database.sqlite:
        raise InputError("backups of PostgreSQL are made with pg_dump")
    stamp = f"{datetime.fromtimestamp(now / 1000, UTC):%Y%m%dT%H%M%SZ}"
    made = []
    for engine in (database.public, database.private):
        source = Path(str(engine.url.database))
        target = folder / f"{source.stem}-{stamp}{source.suffix}"
        with atomic_path(target) as temporary:
            temporary.unlink()  # VACUUM INTO wants no file there
            with closing(sqlite3.connect(source, timeout=30)) as connection:
                connection.execute("VACUUM INTO ?", (str(temporary),))
            with closing(sqlite3.connect(temporary)) as copy:
                verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
            if verdict != "ok":
                raise InputError(f"the backup is damaged ({verdict}); check the disk", path=source)
        target.chmod(0o600)
        write_text(target.with_name(target.name + ".sha256"), f"{sha256_file(target)}  {target.name}\n")
        sync_folder(folder)
        made.append(target)
        _thin(folder, source)
    return made


def _thin(folder: Path, source: Path) -> None:
    stamps = "[0-9]" * 8 + "T" + "[0-9]" * 6 + "Z"
    copies = sorted(folder.glob(f"{source.stem}-{stamps}{source.suffix}"))
    for old in copies[:-KEEP]:
        old.unlink()
        old.with_name(old.name + ".sha256").unlink(missing_ok=True)
