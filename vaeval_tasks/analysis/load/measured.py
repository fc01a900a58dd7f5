"""Automatic scores of responses, lined up with the prompts and configurations that people rated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.load.ratings import Ratings
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.errors import InputError
from vaeval_tasks.scoring.metric import Direction
from vaeval_tasks.scoring.registry import direction_of, label_of
from vaeval_tasks.store.answers import study_answers
from vaeval_tasks.store.schema import ResponseStatus, Score

__all__ = ["MeasuredMetric", "load_measured"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredMetric:
    """One metric on every rated response."""

    key: str
    """In the score table."""
    name: str
    """The key; with the signature where the run has several of it."""
    label: str
    """On a page."""
    signature: str
    direction: Direction
    values: NDArray[np.float64]
    """(prompts, configurations) in the order of the ratings; NaN where there is no value."""
    n_responses: int
    """Rated responses."""
    n_scored: int
    reasons: tuple[tuple[str, int], ...] = ()
    """Why rated responses have no value, most frequent first."""

    @property
    def sign(self) -> int:
        """-1 where less is better, else +1: where neither is, an accuracy below one half says people prefer less."""
        return -1 if self.direction is Direction.less else 1


def _rated(ratings: Ratings) -> NDArray[np.bool_]:
    data = ratings.data
    out = np.zeros((len(ratings.prompts), len(data.entities)), dtype=bool)
    out[data.prompt, data.a] = out[data.prompt, data.b] = True
    return out


def _one(
    name: str,
    signature: str,
    scores: Sequence[Score],
    at: dict[str, tuple[int, int]],
    rated: NDArray[np.bool_],
    failed: dict[tuple[int, int], str],
) -> MeasuredMetric:
    values = np.full(rated.shape, np.nan)
    told = {at[s.response_id]: s.detail or "no reason given" for s in scores if s.value is None and s.response_id in at}
    why = failed | told
    for score in scores:
        if score.value is not None and score.response_id in at:
            values[at[score.response_id]] = score.value
    values[~rated] = np.nan
    missing = rated & np.isnan(values)
    reasons = Counter(why.get((int(p), int(c)), "not scored") for p, c in zip(*np.nonzero(missing), strict=True))
    return MeasuredMetric(
        key=name,
        name=name,
        label=label_of(name),
        signature=signature,
        direction=direction_of(name),
        values=values,
        n_responses=int(rated.sum()),
        n_scored=int(rated.sum() - missing.sum()),
        reasons=tuple(reasons.most_common()),
    )


def load_measured(source: Source, ratings: Ratings) -> list[MeasuredMetric]:
    """Return every metric of a run's scores.

    Scores of different signatures do not compare: each is a metric of its own. Metrics without one value (those that
    only tell things in words) are left out.

    Raises:
        InputError: the source is no run folder, or holds no scores, or none of a rated response.
    """
    run = source.run
    if run is None:
        raise InputError("is a plain file; automatic scores are in a run folder", path=source.path)
    scores = run.scores()
    if not scores:
        raise InputError("the run has no scores; run: vaeval score RUN", path=source.path)
    responses = study_answers(run.responses()).values()
    prompts = {name: i for i, name in enumerate(ratings.prompts)}
    configs = {name: i for i, name in enumerate(ratings.data.entities)}
    at = {
        r.response_id: (prompts[r.prompt_id], configs[r.config_id])
        for r in responses
        if r.prompt_id in prompts and r.config_id in configs
    }
    failed = {
        at[r.response_id]: f"the response is {r.status}"
        for r in responses
        if r.response_id in at and r.status is not ResponseStatus.ok
    }
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.metric, score.signature), []).append(score)
    several = {name for name, n in Counter(metric for metric, _ in groups).items() if n > 1}
    rated = _rated(ratings)
    found = [
        _one(metric, signature, rows, at, rated, failed)
        for (metric, signature), rows in sorted(groups.items())
        if any(row.value is not None for row in rows)
    ]
    out = [_renamed(m) if m.name in several else m for m in found if m.n_scored]
    if not out:
        raise InputError("no score is of a response that was rated", path=run.path("scores"))
    return out


def _renamed(measured: MeasuredMetric) -> MeasuredMetric:
    told = f" ({measured.signature})"
    return replace(measured, name=measured.name + told, label=measured.label + told)
