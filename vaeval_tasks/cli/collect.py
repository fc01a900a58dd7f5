"""``vaeval serve``, ``drive``, ``links``, ``backup`` and ``rater``: collect ratings from people.

The app is imported when a verb runs and not before, so that ``--help`` needs no extra.
"""

from __future__ import annotations

import json
import logging
import secrets
from pathlib import Path
from typing import Any, cast

import click

from vaeval_tasks.cli.sources import FiniteRange
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import write_text
from vaeval_tasks.simulate import driver, rater_preference
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import CHECK_PREFIX, StudyKind

__all__ = ["backup", "drive", "links", "rater", "serve"]

_RUN = click.argument("run", type=click.Path(path_type=Path))
_DB = click.option("--db", metavar="FILE-OR-URL", help="SQLite file or postgresql:// URL. [RUN/ratings.sqlite]")


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were given: what is not given stays as the study has it."""
    return {name: value for name, value in options.items() if value is not None}


@click.command()
@_RUN
@click.option("--kind", type=click.Choice([s.value for s in StudyKind]), default="cmos", show_default=True)
@_DB
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65_535), default=8000, show_default=True)
@click.option("--admin-password", help="Of the page /admin. [$VAEVAL_ADMIN_PASSWORD, or one is made and printed]")
@click.option(
    "--on-missing",
    type=click.Choice(["error", "exclude"]),
    default="error",
    show_default=True,
    help="A prompt of which a response has no sound: stop, or leave it out for all configurations.",
)
@click.option("--overall", type=click.Choice(["first", "last"]), help="Where the overall question is asked. [last]")
@click.option("--loudness", type=FiniteRange(), metavar="LUFS", help="Bring responses to this loudness. [as they are]")
@click.option("--mos-raters", type=click.IntRange(1), help="Raters per response in a MOS study. [2]")
@click.option("--lease", type=click.IntRange(1), metavar="MINUTES", help="Before an abandoned task is given on. [30]")
@click.option("--lease-cap", type=click.IntRange(1), metavar="MINUTES", help="A task can be held at most. [120]")
@click.option("--accept-late/--refuse-late", default=None, help="Count late answers while the slot is free. [refuse]")
@click.option("--dwell", type=FiniteRange(0, 1), help="Share of the clips' length that must pass. [0.9]")
@click.option("--coverage", type=FiniteRange(0, 1), help="Share of each clip that must be played. [0.95]")
@click.option("--check-every", type=click.IntRange(1), metavar="N", help="A trap or gold task each N tasks. [12]")
@click.option("--repeat-gap", type=click.IntRange(1), metavar="N", help="Tasks between a pair and its repeat. [10]")
@click.option("--break-every", type=click.IntRange(1), metavar="N", help="Offer a break after N tasks. [20]")
@click.option("--tasks-per-rater", type=click.IntRange(1), help="Where a rater is done. [when none is left]")
@click.option("--open/--links", "open_entry", default=None, help="Let anybody join, or only by link. [links]")
@click.option("--prolific/--no-prolific", default=None, help="Admit by Prolific's parameters.")
@click.option("--simulated/--human", default=None, help="A study of simulated raters only (see vaeval drive).")
@click.option("--completion-code", help="Shown at the end. [one is made]")
@click.option("--full-code", help="Shown to those who come when no task is left.")
@click.option("--title", help="Heading of the pages. [Listening study]")
@click.option("--contact", help="Whom raters can ask, shown on every page.")
@click.option("--retention-days", type=click.IntRange(1), help="Until personal data are deleted. [365]")
def serve(
    run: Path,
    kind: str,
    db: str | None,
    host: str,
    port: int,
    admin_password: str | None,
    on_missing: str,
    **options: Any,
) -> None:
    """Serve the rating app for the design in RUN.

    Settings are kept in the database; those not given stay as they were. Example: vaeval serve study --port 8000
    """
    from vaeval_tasks.collect import serve as server
    from vaeval_tasks.collect.store.importer import OnMissing

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    opened = server.open_study(
        RunDir.existing(run),
        StudyKind(kind),
        _settings(options),
        db=db,
        on_missing=cast("OnMissing", on_missing),
        admin_password=admin_password,
    )
    imported = opened.imported
    click.echo(f"{imported.tasks} tasks, {imported.clips} clips, completion code {imported.settings.completion_code}")
    if imported.excluded:
        click.echo(f"left out for all configurations: {', '.join(imported.excluded)}")
    if imported.named:
        shown = ", ".join(imported.named[:5])
        click.echo(f"warning: {len(imported.named)} response(s) name a maker, model or voice: {shown} …")
    entry = "simulated raters: vaeval drive URL" if imported.settings.simulated else "links: vaeval links RUN"
    click.echo(f"http://{host}:{port}/  ({entry})")
    click.echo(f"http://{host}:{port}/admin  password {opened.admin_password}")
    server.run_server(opened, host=host, port=port)


@click.command()
@_RUN
@click.option("--count", type=click.IntRange(1, 100_000), default=1, show_default=True, help="How many people.")
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="Where the app is reached.")
@_DB
def links(run: Path, count: int, url: str, db: str | None) -> None:
    """Make personal links, one a line.

    Example: vaeval links study --count 20 --url https://study.example.org
    """
    from vaeval_tasks.collect.people import identity
    from vaeval_tasks.collect.rules.settings import Settings
    from vaeval_tasks.collect.serve import database_of
    from vaeval_tasks.collect.server_clock import now_ms
    from vaeval_tasks.collect.store.importer import stored_settings

    folder = RunDir.existing(run)
    if not folder.has("pairs") or not folder.read("pairs"):
        raise InputError("there is nothing to rate yet; run vaeval generate and vaeval pair first", path=run)
    database = database_of(folder, db, make=True)
    with database.read() as connection:
        found = [s for study in StudyKind if (s := stored_settings(connection, study)) is not None]
    # a link opens both studies of a run: the shorter promise counts
    days = min(s.retention_days for s in found or [Settings(study=StudyKind.cmos)])
    for _ in range(count):
        code = secrets.token_urlsafe(12)
        identity.new_rater(database, "link", code, now=now_ms(), retention_days=days)
        click.echo(f"{url.rstrip('/')}/join/{code}")
    database.close()


@click.command()
@_RUN
@_DB
def backup(run: Path, db: str | None) -> None:
    """Copy the SQLite databases of a run, checked, to the folder backups beside them. A running server may go on."""
    from vaeval_tasks.collect.serve import database_of
    from vaeval_tasks.collect.server_clock import now_ms
    from vaeval_tasks.collect.store import backup as backups

    database = database_of(RunDir.existing(run), db)
    folder = Path(str(database.public.url.database)).parent / "backups"
    for path in backups.backup(database, folder, now=now_ms()):
        click.echo(str(path))
    database.close()


@click.group()
def rater() -> None:
    """Manage what is known of raters."""


@rater.command()
@_RUN
@click.argument("rater_id")
@_DB
def delete(run: Path, rater_id: str, db: str | None) -> None:
    """Delete a rater's personal data (panel id, age, gender); the pseudonymous ratings stay."""
    from vaeval_tasks.collect.people import identity
    from vaeval_tasks.collect.serve import database_of

    database = database_of(RunDir.existing(run), db)
    identity.delete_person(database, rater_id)
    database.close()
    click.echo(f"{rater_id}: personal data deleted, ratings kept")


@click.command()
@click.argument("url")
@click.option("--run", type=click.Path(path_type=Path), required=True, help="The run that is served.")
@click.option(
    "--raters", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Simulated raters at once."
)
@click.option("--tasks", type=click.IntRange(1), help="Stop each after so many tasks. [to the end]")
@click.option("--ramp", type=FiniteRange(0), default=0.0, show_default=True, help="Seconds until all have come.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--truth", type=click.Path(path_type=Path, dir_okay=False), help="JSON of Elo points by configuration.")
def drive(url: str, run: Path, raters: int, tasks: int | None, ramp: float, seed: int, truth: Path | None) -> None:
    """Let SIMULATED raters take the study at URL, with known preferences.

    The study must have been started with --simulated. Without --truth, strengths are planted evenly over 600 Elo
    points and written to RUN/simulated-truth.json. Example: vaeval drive http://127.0.0.1:8000 --run study --raters 40
    """
    opened = RunDir.existing(run)
    sounds = driver.sounds_of(opened)
    systems = {config for config in sounds.values() if not config.startswith(CHECK_PREFIX)}
    if truth is not None:
        strengths = rater_preference.read_truth(truth, systems)
    else:
        strengths = rater_preference.planted(sorted(systems), seed=seed)
        write_text(opened.root / "simulated-truth.json", json.dumps(strengths, indent=1, sort_keys=True) + "\n")
    liking = rater_preference.Preference(strengths=strengths)
    outcomes = driver.drive(url, liking, sounds, raters=raters, seed=seed, limit=tasks, ramp=ramp)
    done = sum(o.tasks for o in outcomes)
    codes = sum(bool(o.code) for o in outcomes)
    click.echo(f"{raters} simulated raters, {done} tasks, {codes} completion codes")
