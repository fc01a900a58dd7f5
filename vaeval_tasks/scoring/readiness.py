"""Before anything is asked: can the scorers of a run score? Weights, packages, and the judge by one test question.

A scorer that has ``ready()`` loads what it needs, or asks its judge one easy thing, and returns what is odd, in words
("" where nothing is). Of any other the signature is read, which names its weights.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.scoring.metric import ScoringJob
from vaeval_tasks.scoring.registry import response_metrics
from vaeval_tasks.scoring.score_log import ScoreLog
from vaeval_tasks.scoring.scores import lacks
from vaeval_tasks.store.run import RunDir

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["ScorerReadiness", "check_due", "check_scorer", "check_scorers", "roles_needed"]

log = logging.getLogger(__name__)


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
    """Return the roles that responses to some tasks need a scorer for and have one; the judge may cost and is last."""
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


def check_scorers(
    scorers: Scorers, roles: Iterable[str], *, say: Callable[[str], object], due: Callable[[str], bool] = lambda _: True
) -> None:
    """Check the scorers of some roles and say one line about each.

    Args:
        scorers: the backends.
        roles: which of them.
        say: takes the lines.
        due: whether a role's scorer has anything to do; if not, it is passed over.

    Raises:
        VaevalError: one cannot score. Of several, all are named, each on a line.
    """
    failed: list[tuple[str, VaevalError]] = []
    for role in roles:
        try:
            if due(role):
                found = check_scorer(scorers, role)
                say(str(found))
                if found.remark:
                    log.warning("the %s: %s", role, found.remark)
        except VaevalError as error:
            failed.append((role, error))
    if len(failed) == 1:
        raise failed[0][1]
    if failed:
        lines = "".join(f"\n  {role}: {error}" for role, error in failed)
        raise InputError(f"{len(failed)} scorers are not ready, and nothing was asked:{lines}")


def check_due(run: RunDir, work: Sequence[ScoringJob], scorers: Scorers, *, retry_unjudged: bool = False) -> None:
    """Check the scorers that have something to do in a run folder, and log a line about each.

    Raises:
        VaevalError: one cannot score; nothing was asked.
    """
    scores = ScoreLog(run)
    roles = roles_needed(scorers, {job.item.task for job in work})

    def due(role: str) -> bool:
        metrics = [metric for metric in response_metrics() if metric.backend == role]
        return any(lacks(job, metric, scores, scorers, retry_unjudged) for job in work for metric in metrics)

    check_scorers(scorers, roles, say=log.info, due=due)
