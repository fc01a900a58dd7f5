"""Refits in batches against one fit at a time, on tables so sparse that many have no finite maximum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vaeval_tasks.stats import Comparisons, batches, comparisons, refits
from vaeval_tasks.stats import tally as tallies
from vaeval_tasks.stats.draws import halves
from vaeval_tasks.stats.engines import fit_all
from vaeval_tasks.stats.fits import Engine
from vaeval_tasks.stats.refits import plan, refit_tables
from vaeval_tasks.stats.tally import tally, weighted_counts

PAIRS = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
SPLITS = 300


def sparse(spread: float) -> Comparisons:
    """Draw thirty ratings of four entities on seven levels, by twenty raters."""
    draw, n = np.random.default_rng(3), 30
    pair = PAIRS[draw.integers(6, size=n)]
    truth = spread * np.array([1.0, 0.3, -0.3, -1.0])
    score = np.rint(np.clip(truth[pair[:, 0]] - truth[pair[:, 1]] + draw.logistic(size=n), -3, 3))
    return comparisons(
        entities=["a", "b", "c", "d"],
        a=pair[:, 0],
        b=pair[:, 1],
        score=score.astype(int),
        rater=np.arange(n) % 20,
        prompt=np.zeros(n, dtype=int),
        scale=3,
    )


@pytest.fixture(params=["plain", "compiled"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to take the steps and to count: in NumPy, for small problems, and compiled."""
    for module, name in ((batches, "SMALL_STEPS"), (tallies, "SMALL_COUNTS")):
        monkeypatch.setattr(module, name, 1 << 40 if request.param == "plain" else -1)
    return str(request.param)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("engine", [Engine.ordinal, Engine.fractional])
@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_a_batch_finds_what_single_fits_find(monkeypatch: pytest.MonkeyPatch, engine: Engine, spread: float) -> None:
    """None needs a fit of its own, which costs a hundred times as much, and a ridge helps in the same ones."""
    data = sparse(spread)
    task = plan(tally(data), fit_all(data, engine=engine))
    chosen = halves(1, 0, SPLITS, data.n_raters)
    tables = weighted_counts(task.tally, chosen, np.ones((data.n_prompts, SPLITS)))
    single = refits._refit_safely
    monkeypatch.delattr(refits, "_refit_safely")
    got = refit_tables(task, tables)
    fitted = np.flatnonzero(np.isfinite(got.strengths[:, 0, 0]))
    assert len(fitted) > SPLITS * 0.7
    expected = [single(task, tables[:, :, replicate].T) for replicate in fitted]
    np.testing.assert_allclose(got.strengths[fitted, 0], [strengths for strengths, _ in expected], atol=1e-6)
    np.testing.assert_array_equal(got.ridged[fitted, 0], [ridged for _, ridged in expected])
    if spread > 1:
        assert 0.1 < got.ridged.mean() < 0.9, "the design has both kinds"


@pytest.mark.parametrize("engine", [Engine.ordinal, Engine.fractional])
@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_plain_and_compiled_steps_end_alike(
    monkeypatch: pytest.MonkeyPatch, engine: Engine, levels: int, ridge: float
) -> None:
    """Counts are the same numbers, strengths the same to the last digits that matter, verdicts the same."""
    data = sparse(1.0)
    score = np.sign(data.score) * np.minimum(np.abs(data.score), levels)
    data = replace(data, score=score, weight=(np.arange(len(score)) % 3 + 0.5).astype(np.float64))
    found = {}
    for small in (1 << 40, -1):
        monkeypatch.setattr(batches, "SMALL_STEPS", small)
        monkeypatch.setattr(tallies, "SMALL_COUNTS", small)
        task = plan(tally(data), fit_all(data, engine=engine, ridge=ridge))
        tables = weighted_counts(task.tally, halves(1, 0, SPLITS, data.n_raters), np.ones((data.n_prompts, SPLITS)))
        found[small] = tables, refit_tables(task, tables)
    (tables, plain), (counted, compiled) = found.values()
    np.testing.assert_allclose(tables, counted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(plain.strengths, compiled.strengths, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(plain.ridged, compiled.ridged)
