"""``pair``: the pair design and its balance."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.design import Balance, DesignSettings, balance
from vaeval_tasks.design.study import Request, design_run
from vaeval_tasks.progress import progress_shown
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Pair
from vaeval_tasks.verbs.options import finite, names_of, whole
from vaeval_tasks.verbs.source import run_folder

__all__ = ["PairDesign", "pair"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PairDesign(ShownResult):
    """The pairs of a run, and how balanced they are."""

    pairs: tuple[Pair, ...]
    balance: Balance

    def tables(self) -> list[Table]:
        """Return on how many prompts each two configurations meet."""
        b = self.balance
        return [
            Table(
                name="pairs",
                title=f"{b.prompts} prompts x {len(b.configs)} configurations: {b.tasks} tasks, {b.ratings} ratings",
                columns=("a", "b", "prompts"),
                rows=tuple(self._meetings()),
                digits={},
                notes=(f"each pair of configurations meets {b.pair_rate} times",),
            )
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``vaeval pair --json`` prints."""
        return asdict(self.balance)

    def parts(self) -> dict[str, list[Mapping[str, Any]]]:
        """Return the configurations that meet (``rows``), and the pairs."""
        return {"rows": self._meetings(), "pairs": [{**asdict(pair), "kind": str(pair.kind)} for pair in self.pairs]}

    def _meetings(self) -> list[Mapping[str, Any]]:
        names, matrix = self.balance.configs, self.balance.matrix
        return [{"a": names[i], "b": names[j], "prompts": matrix[i][j]} for i, j in combinations(range(len(names)), 2)]


def pair(
    run: str | os.PathLike[str] | RunDir,
    *,
    configs: str | Iterable[str] = (),
    raters: int = 2,
    seed: int = 0,
    repeats: float = 0.03,
    checks_every: int = 12,
    training: int = 5,
    gold: str | os.PathLike[str] | None = None,
    exclude_unanswered: bool = False,
    add: bool = False,
    show: bool = False,
    progress: bool = True,
) -> PairDesign:
    """Design which configurations are compared on which prompt, as ``vaeval pair`` does, and write ``pairs.parquet``.

    Example::

        vaeval.pair("study", raters=2)

    Args:
        run: the run folder.
        configs: compare these; by default all with responses.
        raters: per pair; the sides are mirrored from one to the next.
        seed: of the random relabelling and of the checks.
        repeats: share of the pairs that their raters get again.
        checks_every: one trap or gold pair for that many pairs; 0 for none.
        training: practice pairs.
        gold: a file of further gold pairs: prompt_id, a, b, expect.
        exclude_unanswered: leave out, for all configurations, prompts that one did not answer.
        add: add a wave for configurations that joined since; the pairs so far stay.
        show: only return the design there is.
        progress: show a bar on a terminal or in a notebook, where gold clips are made.

    Raises:
        InputError: the run has no prompts or responses, the design is frozen, or an option is wrong.
        UnknownNameError: there is no such configuration.
        RunBusyError: another process designs pairs of this run.
    """
    folder = run_folder(run)
    settings = DesignSettings(
        seed=whole("seed", seed, 0),
        raters_per_pair=whole("raters", raters, 1, 1000),
        repeat_share=finite("repeats", repeats),
        check_every=whole("checks_every", checks_every, 0),
        training=whole("training", training, 0, 1000),
    )
    request = Request(
        configs=names_of("configs", configs),
        add=add,
        exclude_unanswered=exclude_unanswered,
        gold=None if gold is None else Path(gold),
    )
    if show:
        pairs = folder.read("pairs")
    else:
        # the prompts must not change under the design
        with progress_shown(progress), writing(folder.root, Writer.pair), writing(folder.root, Writer.prompts):
            pairs = design_run(folder, settings, request)
    return PairDesign(pairs=tuple(pairs), balance=balance(pairs, folder.read("prompts")))
