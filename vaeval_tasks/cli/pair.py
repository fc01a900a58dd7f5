"""``vaeval pair``: the pair design and its balance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from vaeval_tasks.cli.sources import FiniteRange
from vaeval_tasks.design import Balance, Range
from vaeval_tasks.verbs.pair import pair as design

__all__ = ["pair"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="ID",
    help="Compare these configurations; may be repeated. Default: all with responses.",
)
@click.option(
    "--raters",
    type=click.IntRange(1, 1000),
    default=2,
    show_default=True,
    help="Raters per pair; the sides are mirrored from one to the next.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the random relabelling and of the checks.",
)
@click.option(
    "--repeats",
    type=FiniteRange(0, 1),
    default=0.03,
    show_default=True,
    help="Share of the pairs that their raters get again.",
)
@click.option(
    "--checks-every",
    type=click.IntRange(0),
    default=12,
    show_default=True,
    help="One trap or gold pair for that many pairs; 0 for none.",
)
@click.option("--training", type=click.IntRange(0, 1000), default=5, show_default=True, help="Practice pairs.")
@click.option(
    "--gold",
    type=click.Path(path_type=Path),
    help="A file (CSV, JSONL, YAML) of further gold pairs: prompt_id, a, b, expect.",
)
@click.option(
    "--exclude-unanswered", is_flag=True, help="Leave out, for all configurations, prompts that one did not answer."
)
@click.option("--add", is_flag=True, help="Add a wave for configurations that joined since; the pairs so far stay.")
@click.option("--show", is_flag=True, help="Only show the balance of the design there is.")
@click.option("--json", "as_json", is_flag=True, help="Print the balance as JSON.")
def pair(run: Path, as_json: bool, **options: Any) -> None:
    """Design which configurations are compared on which prompt, by how many raters, on which side.

    Every configuration stands on every prompt, and all configurations meet equally often. Writes
    pairs.parquet, which is frozen from then on, and prints its balance.
    Example: vaeval pair RUN --raters 2
    """
    found = design(run, **options)
    click.echo(json.dumps(found.to_json(), indent=1, sort_keys=True) if as_json else _text(found.balance))


def _text(b: Balance) -> str:
    shares = b.left_share.values()
    kinds = ", ".join(f"{n} {kind}" for kind, n in b.kinds.items())
    lines = [
        f"{b.prompts} prompts x {len(b.configs)} configurations: {kinds}",
        f"{b.tasks} rating tasks, {b.ratings} ratings when complete",
        f"each pair of configurations meets {b.pair_rate} times",
        f"each configuration stands in {Range.of(b.appearances.values())} pairs",
        f"left against right in the first slot differs by {b.side_gap} at most within a pair of configurations; "
        f"over all slots each is on the left {100 * min(shares):.1f}-{100 * max(shares):.1f} % of the time",
    ]
    if b.added_rate.high:
        lines.insert(3, f"with those added later, pairs meet {b.added_rate} times")
    if b.uncovered:
        lines.append("configurations absent from prompts: " + ", ".join(f"{c} ({n})" for c, n in b.uncovered.items()))
    else:
        lines.append("every configuration stands on every prompt")
    lines.append("\npairs of configurations meet within a stratum:")
    lines.extend(f"  {name:32} {r}" for name, r in b.strata.items())
    lines.append("\nprompts on which two configurations meet:")
    lines.extend(f"  {i:3} {name}" for i, name in enumerate(b.configs, 1))
    width = max(len(str(n)) for row in b.matrix for n in (*row, len(b.configs))) + 1
    lines.append("      " + "".join(f"{i:{width}}" for i in range(1, len(b.configs) + 1)))
    for i, row in enumerate(b.matrix, 1):
        cells = "".join(f"{'.' if i == j else n:>{width}}" for j, n in enumerate(row, 1))
        lines.append(f"  {i:3} {cells}")
    return "\n".join(lines)
