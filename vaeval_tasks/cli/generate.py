"""``vaeval generate``: ask models for responses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from vaeval_tasks.asking.pending import Share
from vaeval_tasks.verbs.generate import generate as ask

__all__ = ["generate"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="NAME",
    help="A configuration (see `vaeval configs list`), a pattern, `all`, or a YAML file; may be repeated. "
    "By default those the run has used before.",
)
@click.option(
    "--sessions",
    multiple=True,
    metavar="[PROVIDER=]N",
    help="Requests at once, for every provider or for one (under torchrun, in each process); may be repeated.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that share the sessions; more than one pays from about 150 answers a second on. Each loads its "
    "own copy of a model in process.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N prompts.")
@click.option("--retry-failed", is_flag=True, help="Ask again for responses that failed or timed out.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seeds local sampling.")
@click.option("--dry-run", is_flag=True, help="Print requests and audio minutes per provider; ask nothing.")
def generate(run: Path, dry_run: bool, **options: Any) -> None:
    """Ask models for a response to every prompt of RUN.

    Keys come from the environment. A run that was stopped goes on where it was; nothing is paid for twice.
    Example: vaeval generate study --config 'gpt-realtime-2.1/*' --config mine.yaml
    """
    if dry_run:
        _print_shares(ask(run, dry_run=True, **options).shares)
        return
    found = ask(run, **options)
    counts = ", ".join(f"{n} {status}" for status, n in sorted(found.statuses.items())) or "nothing was left to ask"
    click.echo(f"{found.run.root}: {counts}")
    for table in found.latency_tables():
        click.echo(f"\n{table.text()}", nl=False)
    found.raise_for_stopped()


def _print_shares(shares: Sequence[Share]) -> None:
    width = max(16, *(len(share.provider) for share in shares))
    click.echo(
        f"{'provider':{width}} {'configurations':>14} {'requests':>9} {'audio min':>10} {'at hand':>8} {'at once':>8}"
    )
    for share in shares:
        click.echo(
            f"{share.provider:{width}} {share.configs:14} {share.requests:9} {share.minutes:10.1f} {share.done:8} "
            f"{share.sessions:8}"
        )
