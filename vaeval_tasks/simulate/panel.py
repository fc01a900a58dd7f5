"""A simulated panel on real responses: raters who follow one automatic score, with noise of their own.

It shows what the analyses do with a run before any person has rated it, and it is a test of the bridge: the
score that drives the panel must come out as the predictor. It says nothing about people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vaeval_tasks.errors import InputError
from vaeval_tasks.rubrics import RUBRICS
from vaeval_tasks.simulate.truth import LEVELS, answer_probabilities
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import (
    CHECK_PREFIX,
    MosRating,
    Pair,
    PairKind,
    Prompt,
    Rater,
    RaterKind,
    Rating,
    StudyKind,
)

__all__ = ["simulate_panel"]

THRESHOLDS = np.array([0.4, 1.3, 2.4])
"""Cut points of the answers, logits."""
NOISE = 0.5
"""Standard deviation, in logits, of a rater's view of one pair, shared by its questions."""
MOS_MEAN, MOS_SLOPE, MOS_NOISE = 3.5, 0.6, 0.7


def simulate_panel(run: RunDir, *, metric: str = "mos", raters: int = 24, strength: float = 0.8, seed: int = 0) -> None:
    """Write simulated ratings of a run's design: ``ratings``, ``mos`` and ``raters``, marked as simulated.

    Args:
        run: a run with prompts, pairs, responses and scores.
        metric: the score that drives preference; a response without it counts as the lowest one.
        raters: how many simulated raters.
        strength: preference, in logits, for one standard deviation of the metric.
        seed: 0 or more.

    Raises:
        InputError: the run was rated by others already, or no response has the metric.
    """
    if run.has("raters") and any(rater.kind is not RaterKind.simulated for rater in run.read("raters")):
        raise InputError("was rated already; a simulated panel is not mixed with others", path=run.path("raters"))
    standing = _standing(run, metric)
    rng = np.random.default_rng(seed)
    prompts: dict[str, Prompt] = {prompt.prompt_id: prompt for prompt in run.read("prompts")}
    people = [
        Rater(rater_id=f"simulated-{i + 1:03d}", kind=RaterKind.simulated, pools=tuple(StudyKind))
        for i in range(raters)
    ]
    pairs = [pair for pair in run.read("pairs") if pair.kind is PairKind.main]
    ratings = [r for pair in pairs for r in _compare(pair, prompts[pair.prompt_id], standing, people, strength, rng)]
    mos = list(_rate(prompts, standing, people, rng))
    about: dict[str, Any] = {"made_by": "a simulated panel", "seed": seed, "driven_by": metric}
    with writing(run.root, Writer.export):
        _write(run, people, ratings, mos, about, metric)


def _write(
    run: RunDir, people: list[Rater], ratings: list[Rating], mos: list[MosRating], about: dict[str, Any], metric: str
) -> None:
    run.write("raters", people, **about)
    run.write("ratings", ratings, inputs=["pairs", f"scores:{metric}"], **about)
    run.write("mos", mos, inputs=[f"scores:{metric}"], **about)
    run.note(simulated=True, panel=f"simulated raters who follow the score {metric!r}; not people")


def _standing(run: RunDir, metric: str) -> dict[tuple[str, str], float]:
    """The metric of every response, standardised over the run."""
    values: dict[str, float] = {
        s.response_id: s.value for s in run.scores() if s.metric == metric and s.value is not None
    }
    # the worse copies that a study plays as checks are no configuration's answers
    responses = [r for r in run.responses() if not r.config_id.startswith(CHECK_PREFIX)]
    if not values:
        raise InputError(f"no response has the score {metric!r}; run: vaeval score RUN", path=run.root)
    lowest = min(values.values())
    found = {(r.prompt_id, r.config_id): values.get(r.response_id, lowest) for r in responses}
    spread = float(np.std(list(found.values()))) or 1.0
    mean = float(np.mean(list(found.values())))
    return {key: (value - mean) / spread for key, value in found.items()}


def _asked(prompt: Prompt) -> list[str]:
    return [r.key for r in RUBRICS if not r.gated or r.key in prompt.gates]


def _compare(
    pair: Pair,
    prompt: Prompt,
    standing: dict[tuple[str, str], float],
    people: list[Rater],
    strength: float,
    rng: np.random.Generator,
) -> Iterator[Rating]:
    chosen = rng.choice(len(people), size=min(pair.slots, len(people)), replace=False)
    better = strength * (standing[prompt.prompt_id, pair.a] - standing[prompt.prompt_id, pair.b])
    for slot, rater in enumerate(chosen):
        delta = better + rng.normal(0, NOISE)
        for key in _asked(prompt):
            score = int(rng.choice(LEVELS, p=answer_probabilities(np.array(delta), THRESHOLDS)))
            yield Rating(
                prompt_id=prompt.prompt_id,
                a=pair.a,
                b=pair.b,
                rater_id=people[rater].rater_id,
                rubric=key,
                score=score,
                left_is_a=pair.left_is_a == (slot % 2 == 0),
                assignment_id=f"{pair.pair_id}.{slot}",
            )


def _rate(
    prompts: dict[str, Prompt],
    standing: dict[tuple[str, str], float],
    people: list[Rater],
    rng: np.random.Generator,
) -> Iterator[MosRating]:
    for (prompt_id, config), value in standing.items():
        for rater in rng.choice(len(people), size=min(2, len(people)), replace=False):
            for key in _asked(prompts[prompt_id]):
                score = int(np.clip(np.round(rng.normal(MOS_MEAN + MOS_SLOPE * value, MOS_NOISE)), 1, 5))
                yield MosRating(
                    prompt_id=prompt_id,
                    config_id=config,
                    rater_id=people[rater].rater_id,
                    rubric=key,
                    score=score,
                    assignment_id=f"mos:{prompt_id}:{config}",
                )
