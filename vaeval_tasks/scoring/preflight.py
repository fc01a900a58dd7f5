"""Before anything is asked: can the scorers of a run score? Weights, packages, and the judge by one test question.

A scorer that has ``ready()`` loads what it needs, or asks its judge one easy thing, and returns what is odd, in words
("" where nothing is). Of any other the signature is read, which names its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.scoring.registry import response_metrics

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["ScorerReadiness", "check_scorer", "check_scorers", "roles_needed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerReadiness:
    """A scorer that can score."""

    role: str
    signature: str
    remark: str = ""
    """What is odd about it; "" where nothing is."""

    def __str__(self) -> str:
        """One line for who watches."""
        return f"ready: {self.role}: {self.signature}{f'; {self.remark}' if self.remark else ''}"


def roles_needed(scorers: Scorers, tasks: Iterable[str]) -> list[str]:
    """Return the roles that responses to some tasks need a scorer for and have one; the judge, who may cost, is last."""
    wanted = set(tasks)
    roles = {m.backend for m in response_metrics() if m.backend and any(m.concerns(task) for task in wanted)}
    return sorted((role for role in roles if getattr(scorers, role, None) is not None), key=lambda r: (r == "judge", r))


def check_scorer(scorers: Scorers, role: str) -> ScorerReadiness:
    """Return that a scorer can score.

    Raises:
        VaevalError: it cannot; the message says what to do.
    """
    scorer = getattr(scorers, role)
    ready = getattr(scorer, "ready", None)
    remark = str(ready() or "") if callable(ready) else ""
    return ScorerReadiness(role=role, signature=scorer.signature, remark=remark)


def check_scorers(scorers: Scorers, roles: Iterable[str], *, say: Callable[[str], object]) -> None:
    """Check the scorers of some roles and say one line about each.

    Raises:
        VaevalError: one cannot score. Of several, all are named, each on a line.
    """
    failed: list[tuple[str, VaevalError]] = []
    for role in roles:
        try:
            say(str(check_scorer(scorers, role)))
        except VaevalError as error:
            failed.append((role, error))
    if len(failed) == 1:
        raise failed[0][1]
    if failed:
        lines = "".join(f"\n  {role}: {error}" for role, error in failed)
        raise InputError(f"{len(failed)} scorers are not ready, and nothing was asked:{lines}")
