"""The settings of a study. They are kept in its database, beside the answers they shaped."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.schema import StudyKind

__all__ = ["FROZEN", "Settings", "decode", "encode", "merge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How one study is run. Times are minutes; see :data:`FROZEN` for what cannot change once answers exist."""

    study: StudyKind
    overall: Literal["first", "last"] = "last"
    """Where the overall question is asked; the published study does not say."""
    simulated: bool = False
    """Whether the raters are programs. Simulated and human raters are never mixed in one study."""
    loudness: float | None = None
    """Integrated loudness that responses are brought to by a linear gain, LUFS (BS.1770); None leaves them."""
    mos_raters: int = 2
    """Raters per response in a MOS study; a CMOS study takes its slots from the design."""
    dwell: float = 0.9
    """The share of the clips' duration that must pass on the server between first play and the questions."""
    coverage: float = 0.95
    """The share of each clip that must have been played."""
    lease: int = 30
    """Minutes without a sign of life after which a task is given to somebody else."""
    lease_cap: int = 120
    """Minutes that a task can be held at most, signs of life or not."""
    accept_late: bool = False
    """Whether an answer that comes after the lease counts if nobody else has taken the slot."""
    check_every: int = 12
    """A trap or gold task about every so many tasks."""
    repeat_gap: int = 10
    """Tasks between a pair and its repeat."""
    break_every: int = 20
    """A break is offered after so many tasks."""
    tasks_per_rater: int | None = None
    """Where a rater is done, training not counted; None: when no task is left."""
    open_entry: bool = False
    """Whether anybody may join without a personal link."""
    prolific: bool = False
    """Whether Prolific's parameters admit."""
    completion_code: str = ""
    full_code: str = ""
    """The code for those who come when no task is left."""
    title: str = "Listening study"
    contact: str = ""
    retention_days: int = 365
    """After so many days age, gender and panel id are deleted."""


FROZEN = ("overall", "simulated", "loudness", "dwell", "coverage")
"""What decides what an answer means: fixed from the first task that was given out."""


def encode(settings: Settings) -> str:
    """Return the settings as JSON."""
    return json.dumps(asdict(settings), sort_keys=True)


def decode(text: str) -> Settings:
    """Read settings that :func:`encode` wrote; a setting of a later version is passed over."""
    stored = json.loads(text)
    known = {f.name for f in fields(Settings)}
    values = {key: value for key, value in stored.items() if key in known}
    return Settings(**values | {"study": StudyKind(values["study"])})


def merge(stored: Settings, given: dict[str, Any], *, answers_exist: bool) -> Settings:
    """Return the stored settings with those given on the command line.

    Raises:
        InputError: a frozen setting would change although tasks were given out.
    """
    for name in FROZEN:
        if answers_exist and name in given and given[name] != getattr(stored, name):
            raise InputError(
                f"the setting {name!r} is {getattr(stored, name)!r} and cannot become {given[name]!r} once tasks were "
                "given out; start a new database with --db"
            )
    return replace(stored, **given)
