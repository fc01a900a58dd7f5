"""Start the rating app for a run: open, import, back up, listen."""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from itsdangerous import URLSafeTimedSerializer

from vaeval_tasks.collect.outgoing.origin import require_collected
from vaeval_tasks.collect.people import identity
from vaeval_tasks.collect.people.prolific import API, Prolific
from vaeval_tasks.collect.server_clock import now_ms
from vaeval_tasks.collect.store.backup import backup
from vaeval_tasks.collect.store.database import Database, open_database
from vaeval_tasks.collect.store.importer import Imported, OnMissing, import_design
from vaeval_tasks.collect.web.app import create_app
from vaeval_tasks.collect.web.context import Context
from vaeval_tasks.errors import VaevalError
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import StudyKind

__all__ = ["BACKUP_SECONDS", "Opened", "database_of", "open_study", "run_server"]

BACKUP_SECONDS = 3600

log = logging.getLogger("vaeval.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A study that is ready to be served."""

    context: Context
    imported: Imported
    admin_password: str


def database_of(run: RunDir, db: str | None, *, make: bool = False) -> Database:
    """Open the collection of a run: ``ratings.sqlite`` in it, or what ``db`` names.

    Args:
        run: the run folder.
        db: where the database is, by default in the run folder.
        make: whether a database that is not there is made.

    Raises:
        InputError: the run's ratings did not come from the app, or there is no collection; nothing is made then.
    """
    require_collected(run)
    return open_database(db if db is not None else run.root / "ratings.sqlite", make=make)


def open_study(
    run: RunDir,
    study: StudyKind,
    given: dict[str, Any],
    *,
    db: str | None = None,
    on_missing: OnMissing = "error",
    admin_password: str | None = None,
) -> Opened:
    """Open the database, import the frozen design, and make the context of the application.

    Args:
        run: the run folder.
        study: ``cmos`` or ``mos``.
        given: settings to change; the others stay as they were.
        db: where the database is, by default in the run folder.
        on_missing: see :func:`import_design`.
        admin_password: by default ``$VAEVAL_ADMIN_PASSWORD``, or one made up.

    Raises:
        VaevalError: see :func:`open_database` and :func:`import_design`.
    """
    database = database_of(run, db, make=True)
    now = now_ms()
    imported = import_design(run, database, study, given, now=now, on_missing=on_missing)
    if not imported.settings.completion_code:
        code = {"completion_code": secrets.token_hex(4).upper()}
        imported = import_design(run, database, study, given | code, now=now, on_missing=on_missing)
    identity.purge(database, now=now)
    password = admin_password or os.environ.get("VAEVAL_ADMIN_PASSWORD") or secrets.token_urlsafe(12)
    context = Context(
        database=database,
        settings=imported.settings,
        root=run.root,
        signer=URLSafeTimedSerializer(identity.key(database, "session"), salt=study),
        admin_password=password,
        sound_key=identity.key(database, "sound"),
        prolific=_prolific() if imported.settings.prolific else None,
    )
    return Opened(context=context, imported=imported, admin_password=password)


def _prolific() -> Prolific:
    """Return the access to Prolific that the environment gives."""
    return Prolific(
        token=os.environ.get("VAEVAL_PROLIFIC_TOKEN", ""),
        webhook_secret=os.environ.get("VAEVAL_PROLIFIC_WEBHOOK_SECRET", ""),
        api=os.environ.get("VAEVAL_PROLIFIC_API", API),
    )


def run_server(opened: Opened, *, host: str, port: int) -> None:
    """Serve until interrupted; on SQLite a backup is made every hour.

    One process serves. With PostgreSQL start as many of them as you need behind a load balancer.
    """
    stop = threading.Event()
    if opened.context.database.sqlite:
        threading.Thread(target=_keep_copies, args=(opened.context, stop), daemon=True).start()
    # uvicorn's own access log names addresses and queries; the guard's log does not
    config = uvicorn.Config(
        create_app(opened.context), host=host, port=port, access_log=False, log_level="info", server_header=False
    )
    try:
        uvicorn.Server(config).run()
    finally:
        stop.set()
        opened.context.database.close()


def _keep_copies(context: Context, stop: threading.Event) -> None:
    folder = Path(str(context.database.public.url.database)).parent / "backups"
    while not stop.wait(BACKUP_SECONDS):
        try:
            for path in backup(context.database, folder, now=context.clock()):
                log.info("backup %s", path.name)
        except (VaevalError, OSError, sqlite3.Error):
            log.exception("no backup was made")  # the study goes on; the next hour tries again
