"""What a run of the harness needs is checked before the first request: scorers, the judge, the model's eyes, the disk.

The harness loads the data of all tasks before it asks a model, so that each task's :func:`check_task` comes in time
whatever the door: ``vaeval lm-eval``, a bare ``lm_eval``, or Python. Nothing is checked twice in a process.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks.asking.ranks import rank
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings, yes
from vaeval_tasks.scoring.readiness import check_scorers, roles_needed

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["ANSWER_BYTES", "check_asking", "check_task", "loaded_scorers", "predicts_only"]

ANSWER_BYTES = 1_500_000
"""The sound of one answer on disk, as far as one can tell before: half a minute of 16-bit mono at 24 kHz."""


@cache
def loaded_scorers(profile: str, scoring: str) -> Scorers:
    """Return the scorers of a run, made once a process, by its :attr:`HarnessSettings.scored_by`."""
    return HarnessSettings(profile=profile, scoring=json.loads(scoring)).scorers()


def predicts_only(metadata: Mapping[str, Any]) -> bool:
    """Whether answers are all that is wanted. The harness does not tell tasks; a bare ``lm_eval`` shows its arguments.

    Raises:
        InputError: the metadata's ``predict_only`` is neither true nor false.
    """
    return yes(metadata, "predict_only") or "--predict_only" in sys.argv[1:]


def check_task(settings: HarnessSettings, tasks: Iterable[str]) -> None:
    """Check the scorers that tasks need, on the process that scores; say one line about each.

    Raises:
        VaevalError: one is absent or cannot score; nothing was asked.
    """
    if rank() > 0:
        return
    scorers, known = loaded_scorers(*settings.scored_by), _checked_roles(*settings.scored_by)
    fresh = [role for role in roles_needed(scorers, tasks) if role not in known]
    check_scorers(scorers, fresh, say=_say)
    known.update(fresh)


@cache
def _checked_roles(profile: str, scoring: str) -> set[str]:
    """The roles whose scorers were checked in this process already."""
    return set()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def check_asking(root: Path, units: Iterable[AskingUnit], *, sees: bool | None) -> None:
    """Check what is to be asked against the disk and the model's eyes, before the first request.

    Args:
        root: the run folder.
        units: what is still to be asked.
        sees: whether the model takes pictures; None where that shows only when it is loaded.

    Raises:
        InputError: the answers would not fit on the disk.
    """
    asked = list(units)
    blind = Counter(unit.task for unit in asked if any(turn.images for turn in unit.turns)) if sees is False else {}
    for task, n in sorted(blind.items()):
        _say(f"note: {task}: {n} of its documents hold pictures, which this model does not see; they are not scored")
    need = sum(len(unit.turns) for unit in asked) * ANSWER_BYTES
    folder = next(path for path in (root, *root.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if free < need:
        raise InputError(
            f"{len(asked)} answers need about {_gigabytes(need)} and {_gigabytes(free)} are free; make room, or give "
            "--metadata run_dir=DIR on another disk",
            path=root,
        )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
