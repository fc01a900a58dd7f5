"""Who hears which pair: the tasks of a simulated CMOS collection, and of a MOS one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.simulate.published_study import CONFIGS
from vaeval_tasks.simulate.shape import Shape
from vaeval_tasks.store.schema import Pair, Prompt

__all__ = ["MosTasks", "PairTasks", "mos_tasks", "pair_tasks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTasks:
    """One row a task: one rater on one pair. All arrays have one entry a task."""

    prompt: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    rater: NDArray[np.int64]
    slot: NDArray[np.int64]
    pair: NDArray[np.int64]
    """Index of the pair in the design."""
    left_is_a: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class MosTasks:
    """One row a task: one rater on one response."""

    prompt: NDArray[np.int64]
    config: NDArray[np.int64]
    rater: NDArray[np.int64]


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


def pair_tasks(pairs: Sequence[Pair], shape: Shape, prompts: Sequence[Prompt], rng: np.random.Generator) -> PairTasks:
    """Give each pair of a design to its raters, and drop the tasks that were never done.

    Args:
        pairs: the design, prompt after prompt, each prompt with as many pairs.
        shape: raters per pair, number of raters, completion.
        prompts: whose order the codes follow.
        rng: the generator.
    """
    config = {c.config_id: i for i, c in enumerate(CONFIGS)}
    prompt = {p.prompt_id: i for i, p in enumerate(prompts)}
    coded = np.array([(prompt[p.prompt_id], config[p.a], config[p.b], p.left_is_a) for p in pairs], dtype=np.int64)
    per_prompt = np.full(len(prompts), len(pairs) // len(prompts) * shape.raters_per_pair)
    raters = np.concatenate(_balanced(len(prompts), per_prompt, shape.raters, rng))
    index = np.repeat(np.arange(len(pairs)), shape.raters_per_pair)
    slot = np.tile(np.arange(shape.raters_per_pair), len(pairs))
    done = rng.random(len(index)) < shape.completion
    return PairTasks(
        prompt=coded[index, 0][done],
        a=coded[index, 1][done],
        b=coded[index, 2][done],
        rater=raters[done],
        slot=slot[done],
        pair=index[done],
        left_is_a=((coded[index, 3] == 1) ^ (slot % 2 == 1))[done],
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
