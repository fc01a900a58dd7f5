"""Resampling weights of raters and prompts, the same for every rubric, engine and number of threads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["Draws", "Lanes", "Scheme", "halves", "lanes", "unit_lanes"]

Floats = NDArray[np.float64]


class Scheme(StrEnum):
    """What is drawn with replacement, and how a rating is weighted by it."""

    product = "product"
    """Raters and prompts; a rating counts (times its rater was drawn) x (times its prompt was drawn) (Owen 2007)."""
    subset = "subset"
    """Raters and prompts; a rating counts once if both were drawn at all."""
    rater = "rater"
    prompt = "prompt"
    iid = "iid"
    """Sessions (one rater on one pair for one prompt; single ratings where these are not named), as if independent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """A plan of draws: a seed, a scheme and a number of replicates. Equal plans draw equal weights."""

    replicates: int = 1000
    seed: int = 0
    scheme: Scheme = Scheme.product

    def __post_init__(self) -> None:
        if self.replicates < 1:
            raise ValueError(f"a bootstrap needs one replicate or more, got {self.replicates}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lanes:
    """The weights of some successive replicates."""

    rater: Floats
    """(raters, replicates)."""
    prompt: Floats
    """(prompts, replicates)."""


def lanes(draws: Draws, start: int, stop: int, n_raters: int, n_prompts: int) -> Lanes:
    """Return the weights of replicates ``start`` to ``stop``. Replicate b depends on the seed and b alone."""
    by_rater = np.ones((stop - start, n_raters))
    by_prompt = np.ones((stop - start, n_prompts))
    for row, replicate in enumerate(range(start, stop)):
        rng = _generator(draws.seed, replicate)
        if draws.scheme is not Scheme.prompt:
            by_rater[row] = _multiplicities(rng, n_raters)
        if draws.scheme in (Scheme.product, Scheme.subset, Scheme.prompt):
            by_prompt[row] = _multiplicities(rng, n_prompts)
    if draws.scheme is Scheme.subset:
        by_rater, by_prompt = np.minimum(by_rater, 1.0), np.minimum(by_prompt, 1.0)
    return Lanes(rater=np.ascontiguousarray(by_rater.T), prompt=np.ascontiguousarray(by_prompt.T))


def unit_lanes(draws: Draws, start: int, stop: int, weight: Floats) -> Lanes:
    """Return how often each row of a table of counts is drawn: as many units as there are, each from all of them."""
    total = weight.sum()
    drawn = [_generator(draws.seed, b).multinomial(round(total), weight / total) for b in range(start, stop)]
    rows = np.ascontiguousarray(np.array(drawn, dtype=np.float64).T)
    return Lanes(rater=rows, prompt=np.ones((1, stop - start)))


def halves(seed: int, start: int, stop: int, n_raters: int) -> Floats:
    """Return 0/1 weights (raters, splits): 1 for the raters of the first half, which has the smaller head count."""
    chosen = np.zeros((n_raters, stop - start))
    for column, split in enumerate(range(start, stop)):
        chosen[_generator(seed, split).permutation(n_raters)[: n_raters // 2], column] = 1.0
    return chosen


def _generator(seed: int, index: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(index,))))


def _multiplicities(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    return np.bincount(rng.integers(n, size=n), minlength=n)
