"""Who hears which pair: the tasks of a simulated CMOS collection, and of a MOS one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.simulate.shape import Shape

__all__ = ["MosTasks", "PairTasks", "cyclic_pairs", "mos_tasks", "pair_tasks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTasks:
    """One row a task: one rater on one pair. All arrays have one entry a task."""

    prompt: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    rater: NDArray[np.int64]
    slot: NDArray[np.int64]
    pair: NDArray[np.int64]
    """Index of the planned pair."""
    left_is_a: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class MosTasks:
    """One row a task: one rater on one response."""

    prompt: NDArray[np.int64]
    config: NDArray[np.int64]
    rater: NDArray[np.int64]


def cyclic_pairs(prompt: int, configs: int, count: int) -> list[tuple[int, int]]:
    """Return the pairs of one prompt, ``a < b``: the cyclic near-factorisation for an odd number of configurations.

    Near-factor r holds the pairs (r + i, r - i), and misses r, which an extra pair brings in. Over 171
    prompts in a row every pair of 19 configurations comes exactly ten times.
    """
    r, turn = prompt % configs, prompt // configs
    half = (configs - 1) // 2
    pairs = [((r + i) % configs, (r - i) % configs) for i in range(1, half + 1)]
    pairs += [(r, (r + (turn + extra) % (configs - 1) + 1) % configs) for extra in range(max(0, count - half))]
    chosen = dict.fromkeys((min(p), max(p)) for p in pairs)
    return list(chosen)[:count]


def _balanced(groups: int, size: NDArray[np.int64], raters: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Choose raters for each group of tasks: nobody twice in a group while there are enough, equal loads."""
    load = np.zeros(raters)
    out = []
    for i in range(groups):
        order = np.argsort(load + rng.uniform(0, 8, raters), kind="stable")
        chosen = np.resize(order, int(size[i]))
        load += np.bincount(chosen, minlength=raters)
        out.append(chosen)
    return out


def pair_tasks(shape: Shape, configs: int, rng: np.random.Generator) -> PairTasks:
    """Plan the pairs of every prompt, give each to its raters, and drop the tasks that were never done."""
    planned = [(p, a, b) for p in range(shape.prompts) for a, b in cyclic_pairs(p, configs, shape.pairs_per_prompt)]
    pairs = np.array(planned, dtype=np.int64)
    per_prompt = np.bincount(pairs[:, 0], minlength=shape.prompts) * shape.raters_per_pair
    raters = np.concatenate(_balanced(shape.prompts, per_prompt, shape.raters, rng))
    index = np.repeat(np.arange(len(pairs)), shape.raters_per_pair)
    slot = np.tile(np.arange(shape.raters_per_pair), len(pairs))
    first_left = rng.permuted(np.arange(len(pairs)) % 2).astype(bool)
    done = rng.random(len(index)) < shape.completion
    return PairTasks(
        prompt=pairs[index, 0][done],
        a=pairs[index, 1][done],
        b=pairs[index, 2][done],
        rater=raters[done],
        slot=slot[done],
        pair=index[done],
        left_is_a=(first_left[index] ^ (slot % 2 == 1))[done],
    )


def mos_tasks(shape: Shape, configs: int, rng: np.random.Generator) -> MosTasks:
    """Give every response to the whole part of ``mos_per_sample`` raters, and the rest to one more."""
    samples = shape.prompts * configs
    whole = int(shape.mos_per_sample)
    times = whole + (rng.random(samples) < shape.mos_per_sample - whole)
    prompt = np.repeat(np.arange(samples) // configs, times)
    per_prompt = np.bincount(prompt, minlength=shape.prompts)
    return MosTasks(
        prompt=prompt,
        config=np.repeat(np.arange(samples) % configs, times),
        rater=np.concatenate(_balanced(shape.prompts, per_prompt, shape.mos_raters, rng)),
    )
