"""``compare``: scored runs on the items they share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.paired.comparison import RunComparison, compare_sides
from vaeval_tasks.paired.page import PageAudio, comparison_page
from vaeval_tasks.paired.sides import RunSide, read_sides
from vaeval_tasks.scoring.suite import TASKS
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.verbs.options import FEWEST_DRAWS, MOST_DRAWS, finite, member, names_of, whole
from vaeval_tasks.verbs.source import run_folder

__all__ = ["Compared", "compare", "known_tasks", "sides_of"]

Compared: TypeAlias = str | os.PathLike[str] | RunDir
"""A run folder, or ``FOLDER@CONFIGURATION`` for one of its configurations."""


def compare(
    *runs: Compared,
    all_pairs: bool = False,
    tasks: str | Iterable[str] | None = None,
    margin: float | None = None,
    allow_different: bool = False,
    html: str | os.PathLike[str] | None = None,
    audio: str = "embed",
    resamples: int = 4999,
    seed: int = 0,
) -> RunComparison:
    """Compare scored runs on the items they share, as ``vaeval compare`` does. The first is what others differ from.

    Example::

        found = vaeval.compare("runs/old", "runs/new", margin=1)
        found.to_pandas("flips")

    Args:
        runs: two or more run folders; or one that holds several configurations.
        all_pairs: compare each with every other one, not with the first only.
        tasks: only these.
        margin: points of score within which two runs are taken as equal; without it no difference is ``equivalent``.
        allow_different: compare, and mark it, where scorers, revisions of the data or prompts differ.
        html: write a page with players there.
        audio: ``embed``: the page holds the sound of the worst flipped items itself; ``link``: it links to the files.
        resamples: exchanges of the two runs that are drawn for each p value, 20 to 1,000,000.
        seed: of the draws.

    Raises:
        InputError: a folder is no scored run, two runs share no items, or they are not comparable.
        UnknownNameError: there is no such configuration or task.
    """
    sound = member("audio", audio, PageAudio)
    found = compare_sides(
        sides_of(runs),
        all_pairs=bool(all_pairs),
        tasks=known_tasks(tasks),
        margin=None if margin is None else finite("margin", margin),
        allow_different=bool(allow_different),
        resamples=whole("resamples", resamples, FEWEST_DRAWS, MOST_DRAWS),
        seed=whole("seed", seed, 0),
    )
    if html is not None:
        comparison_page(found, Path(html), sound)
    return found


def known_tasks(tasks: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the tasks that are named.

    Raises:
        UnknownNameError: one is none of the 13.
    """
    names = names_of("tasks", tasks)
    for name in names:
        if name not in TASKS:
            raise UnknownNameError("task", name, TASKS)
    return names


def sides_of(runs: Iterable[Compared]) -> list[RunSide]:
    """Return the sides that run folders hold; of one that is named beside others there must be one.

    Raises:
        InputError: a folder holds several configurations and none is named, or is no scored run.
    """
    given = list(runs)
    out: list[RunSide] = []
    for run in given:
        folder, config = _named(run)
        found = read_sides(folder, config)
        if len(found) > 1 and len(given) > 1:
            names = ", ".join(side.config for side in found)
            said = f"holds several configurations; name one as {folder.root}@{found[0].config} (there are {names})"
            raise InputError(said, path=folder.root)
        out += found
    return out


def _named(run: Compared) -> tuple[RunDir, str | None]:
    if isinstance(run, RunDir) or Path(run).exists() or "@" not in os.fspath(run):
        return run_folder(run), None
    folder, _, config = os.fspath(run).rpartition("@")  # no configuration's name holds one
    return run_folder(folder), config
