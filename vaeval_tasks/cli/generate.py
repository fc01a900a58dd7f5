"""``vaeval generate``: ask models for responses."""

from __future__ import annotations

from pathlib import Path

import click

from vaeval_tasks.generate.pending import AskingPlan, make_plan, parse_sessions, settle_configs
from vaeval_tasks.generate.runner import generate_study, stopped_error
from vaeval_tasks.models.configs import select
from vaeval_tasks.store.run import RunDir

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
def generate(
    run: Path,
    configs: tuple[str, ...],
    sessions: tuple[str, ...],
    processes: int,
    limit: int | None,
    retry_failed: bool,
    seed: int,
    dry_run: bool,
) -> None:
    """Ask models for a response to every prompt of RUN.

    Keys come from the environment. A run that was stopped goes on where it was; nothing is paid for twice.
    Example: vaeval generate study --config 'gpt-realtime-2.1/*' --config mine.yaml
    """
    folder = RunDir.existing(run)
    named, limits = select(configs), parse_sessions(sessions)
    if dry_run:
        chosen = settle_configs(folder, named)
        _print_plan(make_plan(folder, chosen, limits=limits, limit=limit, retry_failed=retry_failed))
        return
    outcome = generate_study(
        folder,
        named,
        limits=limits,
        limit=limit,
        retry_failed=retry_failed,
        seed=seed,
        processes=processes,
    )
    counts = ", ".join(f"{n} {status}" for status, n in sorted(outcome.statuses.items())) or "nothing was left to ask"
    click.echo(f"{folder.root}: {counts}")
    if outcome.stopped:
        raise stopped_error(outcome)


def _print_plan(plan: AskingPlan) -> None:
    width = max(16, *map(len, plan.sessions))
    click.echo(
        f"{'provider':{width}} {'configurations':>14} {'requests':>9} {'audio min':>10} {'at hand':>8} {'at once':>8}"
    )
    for share in plan.shares():
        click.echo(
            f"{share.provider:{width}} {share.configs:14} {share.requests:9} {share.minutes:10.1f} {share.done:8} "
            f"{share.sessions:8}"
        )
