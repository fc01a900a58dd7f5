"""Data and simulated studies for the tests of the statistics."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.stats import Comparisons, comparisons

DATA = Path(__file__).parent.parent / "data"
Simulate = Callable[..., Comparisons]


def _table(name: str) -> list[dict[str, str]]:
    path = DATA / name
    with gzip.open(path, "rt") if name.endswith(".gz") else path.open() as stream:
        return list(csv.DictReader(stream))


def _pairs(rows: list[dict[str, str]], *, scale: int, left: bool) -> Comparisons:
    """Code the columns a, b, rating and, where they are, rater, prompt and count."""
    entities = sorted({row["a"] for row in rows} | {row["b"] for row in rows})
    codes = {name: {} for name in ("rater", "prompt")}
    columns = {name: [seen.setdefault(row.get(name, ""), len(seen)) for row in rows] for name, seen in codes.items()}
    return comparisons(
        entities=entities,
        a=[entities.index(row["a"]) for row in rows],
        b=[entities.index(row["b"]) for row in rows],
        score=[int(row["rating"]) for row in rows],
        weight=[float(row.get("count", 1)) for row in rows],
        side=np.full(len(rows), int(left)),
        scale=scale,
        **columns,
    )


@pytest.fixture(scope="session")
def ribbons() -> Comparisons:
    return _pairs(_table("ratings/agresti_ribbon_pairs.csv"), scale=3, left=False)


@pytest.fixture(scope="session")
def llmfao() -> Comparisons:
    return _pairs(_table("ratings/llmfao_pairs.csv.gz"), scale=1, left=True)


@pytest.fixture(scope="session")
def light_fields() -> Comparisons:
    return _pairs(_table("ratings/pwcmp_lf_pairs.csv.gz"), scale=1, left=True)


@pytest.fixture(scope="session")
def baseball() -> Comparisons:
    rows = [
        {"a": row["home"], "b": row["away"], "rating": sign, "count": row[column]}
        for row in _table("ratings/baseball.csv")
        for sign, column in (("1", "home_wins"), ("-1", "away_wins"))
    ]
    return _pairs(rows, scale=1, left=True)


@pytest.fixture(scope="session")
def published() -> tuple[list[str], np.ndarray]:
    """The rubrics and the CMOS Elo (12, 7) of table A10."""
    rows = _table("elo_table_a10.csv")
    return [row["rubric"] for row in rows], np.array([[float(x) for x in list(row.values())[2:]] for row in rows])


@pytest.fixture(scope="session")
def simulate() -> Simulate:
    """A study with known strengths (rubrics, entities) in logits; rater and prompt effects are optional."""

    def make(
        strengths: object,
        *,
        seed: int = 0,
        n_raters: int = 20,
        n_prompts: int = 30,
        n: int = 600,
        thresholds: tuple[float, float, float] = (0.5, 1.3, 2.3),
        prompt_sd: float = 0.0,
        side: float = 0.0,
    ) -> Comparisons:
        rng = np.random.default_rng(seed)
        s = np.atleast_2d(np.asarray(strengths, dtype=float))
        n_rubrics, m = s.shape
        prompt, rater = rng.integers(n_prompts, size=n), rng.integers(n_raters, size=n)
        a = rng.integers(m, size=n)
        b = (a + rng.integers(1, m, size=n)) % m
        shown = rng.choice([-1, 1], size=n)
        local = rng.normal(0, prompt_sd, (n_prompts, m))
        delta = s[:, a] - s[:, b] + local[prompt, a] - local[prompt, b] + side * shown
        t = np.array(thresholds)
        tau = np.concatenate([-t[::-1], t])
        score = np.searchsorted(tau, delta + rng.logistic(size=delta.shape)) - 3
        rows = np.tile(np.arange(n), n_rubrics)
        return comparisons(
            entities=[f"m{i}" for i in range(m)],
            rubrics=[f"r{i}" for i in range(n_rubrics)],
            rubric=np.repeat(np.arange(n_rubrics), n),
            a=a[rows],
            b=b[rows],
            rater=rater[rows],
            prompt=prompt[rows],
            side=shown[rows],
            score=score.ravel(),
        )

    return make
