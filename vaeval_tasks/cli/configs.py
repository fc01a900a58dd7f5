"""``vaeval configs``: the published model configurations."""

from __future__ import annotations

import click

from vaeval_tasks.models.configs import dump_configs, published, select
from vaeval_tasks.models.providers import provider

__all__ = ["configs"]


@click.group()
def configs() -> None:
    """List and show the 19 published model configurations."""


@configs.command("list")
def list_() -> None:
    """List the published configurations, their provider and the keys they need."""
    width = max(map(len, published()))
    for name, config in published().items():
        needs = ", ".join(provider(config.provider).keys) or "an address"
        click.echo(f"{name:{width}}  {config.voice_gender}  {config.provider:15}  needs {needs}")


@configs.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def show(names: tuple[str, ...]) -> None:
    """Show configurations as YAML, in the form `vaeval generate --config FILE.yaml` reads.

    NAME is a name of the list, a pattern or `all`. Example: vaeval configs show 'gpt-realtime-2.1/*' > mine.yaml
    """
    click.echo(dump_configs(select(names)), nl=False)
