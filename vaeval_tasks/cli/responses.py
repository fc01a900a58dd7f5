"""``vaeval responses``: answers that were recorded elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from vaeval_tasks.asking.recordings import import_recordings, recorded_config
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.run import RunDir

__all__ = ["responses"]

_FOLDER = click.Path(path_type=Path)
_NAMED = 5
"""So many names are printed of a list."""


@click.group()
def responses() -> None:
    """Bring answers that were recorded elsewhere into a study."""


@responses.command("import")
@click.argument("run", type=_FOLDER)
@click.argument("folder", type=_FOLDER)
@click.option(
    "--config",
    "name",
    required=True,
    metavar="NAME",
    help="What to call the system: model, model/voice or model/thinking/voice.",
)
def import_(run: Path, folder: Path, name: str) -> None:
    """Make the recordings of FOLDER the responses of one configuration of RUN.

    A file is named after its prompt: p0001.wav, or .flac, .mp3, .opus, .ogg, .aiff; p0001.txt beside it may hold the
    words. The same command again brings what has come since. Example: vaeval responses import study answers --config
    our-assistant/anna
    """
    config = recorded_config(name)
    found = import_recordings(RunDir(run), folder, config)
    click.echo(f"{run}: {config.config_id}: {found.kept} responses brought in, {found.known} were there")
    _name("prompts have no recording", found.missing)
    _name("sound files are named after no prompt", found.strangers)
    for path, why in found.faults.items():
        click.echo(f"{path}: {why}", err=True)
    if found.faults:
        raise InputError(
            f"{len(found.faults)} recordings cannot be used, see above; mend them and run the same command again"
        )


def _name(what: str, names: Sequence[str]) -> None:
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        click.echo(f"{len(names)} {what}: {', '.join(names[:_NAMED])}{more}", err=True)
