"""Bring a database to the newest revision; the revisions lie in ``migrations/`` and are part of the package."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection, Engine

from vaeval_tasks.errors import InputError

__all__ = ["configuration", "upgrade"]

FOLDER = Path(__file__).resolve().parent / "migrations"


def configuration(connection: Connection, metadata: sa.MetaData, branch: str) -> Config:
    """Return Alembic's configuration for one open connection.

    Args:
        connection: where to apply.
        metadata: the tables as the program knows them.
        branch: ``study`` or ``private``, the folder of revisions.
    """
    config = Config(attributes={"connection": connection, "metadata": metadata})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("version_locations", str(FOLDER / branch).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    return config


def upgrade(engine: Engine, metadata: sa.MetaData, branch: str, *, to: str = "head") -> None:
    """Apply every revision the database lacks, in one transaction, so that two servers may start at once.

    Raises:
        InputError: the database is of a revision this version does not know.
    """
    with engine.connect() as connection:
        connection.execution_options(vaeval_begin="BEGIN IMMEDIATE")
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7265627)"))
            config = configuration(connection, metadata, branch)
            known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
            current = MigrationContext.configure(connection).get_current_revision()
            if current is not None and current not in known:
                raise InputError(
                    f"the database has revision {current!r}, made by a newer vaeval; upgrade this one",
                    path=engine.url.database,
                )
            command.upgrade(config, to)
