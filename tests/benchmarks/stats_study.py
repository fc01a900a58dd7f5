"""Ratings in the published study's shape, with known strengths, for the benchmarks of the statistics."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vaeval_tasks.stats import ELO_PER_LOGIT, Comparisons, comparisons

TABLE = Path(__file__).parents[1] / "data" / "elo_table_a10.csv"
MODELS = np.repeat(np.arange(7), [4, 2, 4, 4, 2, 1, 2])  # of the 19 configurations
GATES = {3: 0.282, 7: 0.179, 8: 0.275}  # emotional appropriateness, instruction following, reasoning
FIRST_THRESHOLDS = np.array([0.25, 0.9, 0.7, 0.8, 0.9, 0.9, 0.8, 1.1, 1.1, 1.5, 2.4, 1.7])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """Simulated ratings and what they were simulated from."""

    configurations: Comparisons
    models: Comparisons
    names: tuple[str, ...]


def published() -> tuple[list[str], list[str], np.ndarray]:
    """Return rubrics, models and CMOS Elo (12, 7)."""
    with TABLE.open() as stream:
        header, *rows = list(csv.reader(stream))
    return [row[1] for row in rows], header[2:], np.array([[float(x) for x in row[2:]] for row in rows])


def simulate(
    seed: int, *, n_raters: int = 283, n_prompts: int = 819, pairs_per_prompt: int = 12, n_rubrics: int = 12
) -> Study:
    """Simulate sessions: a rater compares two configurations on a prompt and answers the rubrics that apply.

    Dependence: a halo per (prompt, configuration), a part of it per rubric, each rater's scale, and a session's own
    luck that all its rubrics share. About 56 % of the pairs have two raters.
    """
    rng = np.random.default_rng(seed)
    rubrics, models, table = published()
    s = ((table - 1000) / ELO_PER_LOGIT)[:n_rubrics, MODELS]
    prompt, a, b = _pairs(rng, n_prompts, pairs_per_prompt)
    again = rng.random(len(prompt)) < 0.5627
    prompt, a, b = (np.concatenate([x, x[again]]) for x in (prompt, a, b))
    n = len(prompt)
    active = rng.gamma(1.2, 1, n_raters)
    rater = rng.choice(n_raters, size=n, p=active / active.sum())
    halo = rng.normal(0, 0.45, (n_prompts, 19))
    luck, scale = rng.logistic(0, 0.8, n), np.exp(rng.normal(0, 0.3, n_raters))
    columns: list[tuple[np.ndarray, ...]] = []
    for k in range(n_rubrics):
        own = rng.normal(0, 0.3, (n_prompts, 19)) + halo
        delta = s[k, a] - s[k, b] + own[prompt, a] - own[prompt, b]
        latent = delta * scale[rater] + luck + rng.logistic(0, 0.6, n)
        t = FIRST_THRESHOLDS[k] + np.array([0.0, 0.7, 1.6])
        score = np.searchsorted(np.concatenate([-t[::-1], t]), latent) - 3
        asked = (rng.random(n_prompts) < GATES.get(k, 1.0))[prompt]
        columns.append((np.full(asked.sum(), k), a[asked], b[asked], rater[asked], prompt[asked], score[asked]))
    rubric, a, b, rater, prompt, score = (np.concatenate(column) for column in zip(*columns, strict=True))
    made = comparisons(
        entities=[f"{models[m]}/{i}" for i, m in enumerate(MODELS)], rubrics=rubrics[:n_rubrics], rubric=rubric, a=a,
        b=b, rater=rater, prompt=prompt, score=score,
    )  # fmt: skip
    return Study(configurations=made, models=made.relabel([models[m] for m in MODELS]), names=tuple(models))


def _pairs(rng: np.random.Generator, n_prompts: int, per_prompt: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return prompt and both configurations of every pair; each prompt covers its configurations evenly."""
    a, b = [], []
    for _ in range(n_prompts):
        order = np.concatenate([rng.permutation(19) for _ in range(2 * per_prompt // 19 + 1)])[: 2 * per_prompt]
        left, right = order[::2].copy(), order[1::2]
        same = left == right
        left[same] = (left[same] + rng.integers(1, 19, same.sum())) % 19
        a.append(left)
        b.append(right)
    return np.repeat(np.arange(n_prompts), per_prompt), np.concatenate(a), np.concatenate(b)
