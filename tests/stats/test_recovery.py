"""The published board comes back from a study simulated with it."""

from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.stats import ELO_PER_LOGIT, Comparisons, Draws, bootstrap, elo, fit, sandwich, standings


def test_the_published_elos_lie_in_their_intervals(simulate: object, published: tuple[list[str], np.ndarray]) -> None:
    """Over 40 studies with rater and prompt clusters the sandwich covers at the nominal rate (binomial sd .013)."""
    _, board = published
    truth = (board[0] - board[0].mean()) / ELO_PER_LOGIT
    covered = []
    for seed in range(40):
        data: Comparisons = simulate(truth, seed=seed, n=1500, n_raters=60, n_prompts=120)  # type: ignore[operator]
        got = standings(sandwich(data, fit(data, "r0")), "r0")
        covered += [not i.excludes(e) for i, e in zip(got.intervals, elo(truth), strict=True)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.04)


def test_separated_models_are_in_the_right_order(simulate: object, published: tuple[list[str], np.ndarray]) -> None:
    _, board = published
    truth = (board - board.mean(axis=1, keepdims=True)) / ELO_PER_LOGIT
    data: Comparisons = simulate(truth, n=4000, n_raters=60, n_prompts=120)  # type: ignore[operator]
    resamples = bootstrap(data, Draws(replicates=200))
    for rubric, expected in zip(data.rubrics, truth, strict=True):
        got = standings(resamples, rubric)
        for i in range(7):
            for j in range(7):
                if got.rank_high[i] < got.rank_low[j]:
                    assert expected[i] > expected[j]
    overall = standings(resamples, "r0")
    assert overall.rank_high[0] <= 2
    assert overall.rank_low[6] == 7
