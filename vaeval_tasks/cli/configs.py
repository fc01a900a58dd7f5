"""``vaeval configs``: the published model configurations, and those of files."""

from __future__ import annotations

import click

from vaeval_tasks.models.configs import dump_configs, select
from vaeval_tasks.models.providers import provider
from vaeval_tasks.plugins import PluginGroup, installed

__all__ = ["configs"]


@click.group()
def configs() -> None:
    """List and show model configurations: the 19 published ones, and those of your own files."""


@configs.command("list")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def list_(names: tuple[str, ...]) -> None:
    """List configurations, their provider and the keys they need; without a NAME the published ones.

    NAME is a name of the list, a pattern, `all` or a YAML file. Without one, systems that other packages have
    installed are named too: each can stand as `provider` in a YAML file.
    """
    found = select(names or ("all",))
    width = max(len(config.config_id) for config in found)
    for config in found:
        known = provider(config.provider)
        needs = ", ".join(known.keys) or ("an address" if known.addresses else "no key")
        gender = config.voice_gender or "-"
        click.echo(f"{config.config_id:{width}}  {gender}  {config.provider:15}  needs {needs}")
    if not names:
        for name, plugin in sorted(installed(PluginGroup.systems).items()):
            click.echo(f"installed: provider {name} ({plugin.target}; {plugin.source})")


@configs.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def show(names: tuple[str, ...]) -> None:
    """Show configurations as YAML, in the form `vaeval generate --config FILE.yaml` reads.

    NAME is a name of the list, a pattern or `all`. Example: vaeval configs show 'gpt-realtime-2.1/*' > mine.yaml
    """
    click.echo(dump_configs(select(names)), nl=False)
