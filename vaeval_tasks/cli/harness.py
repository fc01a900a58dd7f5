"""``vaeval lm-eval`` and ``vaeval tasks``: the evaluation harness with our tasks and models."""

from __future__ import annotations

import click

from vaeval_tasks import paths
from vaeval_tasks.scoring.suite import FAMILIES, GROUP

__all__ = ["lm_eval", "tasks"]


@click.command("lm-eval", context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lm_eval(arguments: tuple[str, ...]) -> None:
    """The harness's own command line with our tasks and models registered.

    Example: vaeval lm-eval --model vaeval-offline --tasks voiceassistant_eval
    --metadata dataset_path=sample profile=offline
    """
    from vaeval_tasks.hosts.lm_eval.launch import launch

    launch(arguments)


@click.group()
def tasks() -> None:
    """List the tasks, say where they are, and link them into lm-eval."""


@tasks.command("list")
def list_() -> None:
    """List the groups and the 13 tasks."""
    click.echo(GROUP)
    for family, members in FAMILIES.items():
        click.echo(f"  {GROUP}_{family}")
        for name in members:
            click.echo(f"    {name}")


@tasks.command()
def path() -> None:
    """Print the folder for ``--include_path``.

    Example: lm_eval --include_path "$(vaeval tasks path)" --tasks voiceassistant_eval --model hf
    """
    click.echo(paths.task_configs_dir())


@tasks.command()
def link() -> None:
    """Link the tasks into the installed lm-eval, so that a bare ``lm_eval --tasks voiceassistant_eval`` finds them.

    Models cannot be linked: ``--model vaeval-…`` still needs ``vaeval lm-eval``.
    """
    from vaeval_tasks.hosts.lm_eval import link as links

    folder = links.link_folder()
    click.echo(f"{len(links.link(folder))} links in {folder}; vaeval tasks unlink removes them.")
    click.echo("lm_eval --tasks voiceassistant_eval now works; --model vaeval-... still needs vaeval lm-eval.")


@tasks.command()
def unlink() -> None:
    """Remove the links again."""
    from vaeval_tasks.hosts.lm_eval import link as links

    folder = links.link_folder()
    click.echo(f"{links.unlink(folder)} links removed from {folder}.")
