"""``vaeval publish``: upload a metric module to the Hub as a Space."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["publish"]


@click.command()
@click.argument("name")
@click.option("--to", "namespace", required=True, metavar="NAMESPACE", help="A user or organisation of the Hub.")
@click.option("--private", is_flag=True, help="Make a new Space private.")
@click.option("--check-only", is_flag=True, help="Check and do not upload.")
def publish(name: str, namespace: str, private: bool, check_only: bool) -> None:
    """Check a metric module's card, examples and demo page, then upload it as the Space NAMESPACE/NAME.

    The token is read from HF_TOKEN; HF_ENDPOINT names another Hub.

    Example: HF_TOKEN=… vaeval publish cmos_elo --to my-team
    """
    from vaeval_tasks.hosts.evaluate import spaces as hub
    from vaeval_tasks.paths import metric_module

    script = Path(metric_module(name))
    hub.check_card(script.parent)
    click.echo("card: front matter agrees with the script")
    click.echo(f"examples: {hub.check_doctest(script)} pass")
    click.echo(f"demo page: answered after {hub.check_app(script.parent):.1f} s")
    if not check_only:
        click.echo(f"uploaded: {hub.publish(name, namespace, private=private).url}")
