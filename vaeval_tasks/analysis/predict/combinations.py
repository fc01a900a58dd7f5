"""The best small combination of metrics, judged only on prompts and models that it was not made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.predict.pairs import Choices

__all__ = ["MAX_METRICS", "Combination", "combine"]

Floats = NDArray[np.float64]
MAX_METRICS = 3
FOLDS = 5
MIN_MODELS = 4
MIN_COVERAGE = 0.5
"""A metric that lacks a value in more than half of the choices cannot take part."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Combination:
    """A weighted sum of standardised differences, and what it predicts of pairs it has not seen."""

    metrics: tuple[str, ...]
    """Chosen on all data, in the order they were chosen."""
    weights: tuple[float, ...]
    """Of the differences in units of their own root mean square."""
    chosen: tuple[tuple[str, float], ...]
    """In what share of the folds each metric was chosen."""
    gaps: Floats
    """Per choice: the prediction for ``a`` over ``b`` from folds without its prompt and without both its models."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Blocks:
    """Sums of squares per (prompt fold, pair of models): all that least squares needs."""

    gram: Floats
    """(folds, model pairs, metrics, metrics)."""
    cross: Floats
    """(folds, model pairs, metrics)."""
    n: Floats
    """(folds, model pairs): choices."""
    prompts: Floats
    """(folds,): prompts with a choice."""
    touches: NDArray[np.bool_]
    """(model pairs, models)."""


def _blocks(
    x: Floats,
    sign: Floats,
    fold: NDArray[np.int64],
    pair: NDArray[np.int64],
    pairs: Sequence[tuple[int, int]],
    models: int,
    prompt: NDArray[np.int64],
) -> _Blocks:
    m = x.shape[1]
    cell = fold * len(pairs) + pair
    size = FOLDS * len(pairs)
    products = [np.bincount(cell, x[:, i] * x[:, j], size) for i in range(m) for j in range(m)]
    gram: Floats = np.stack(products, axis=-1).astype(np.float64)
    cross: Floats = np.stack([np.bincount(cell, x[:, i] * sign, size) for i in range(m)], axis=-1).astype(np.float64)
    touches = np.zeros((len(pairs), models), dtype=bool)
    for row, members in enumerate(pairs):
        touches[row, list(members)] = True
    return _Blocks(
        gram=gram.reshape(FOLDS, len(pairs), m, m),
        cross=cross.reshape(FOLDS, len(pairs), m),
        n=np.bincount(cell, minlength=size).reshape(FOLDS, len(pairs)).astype(np.float64),
        prompts=np.array([len(np.unique(prompt[fold == f])) for f in range(FOLDS)], dtype=np.float64),
        touches=touches,
    )


def _choose(gram: Floats, cross: Floats, n: float, prompts: float) -> tuple[list[int], Floats]:
    """Choose metrics one by one as long as the BIC falls; return their indices and least-squares weights.

    The BIC counts prompts and not choices as the sample: the choices on one prompt are no independent evidence.
    """
    chosen: list[int] = []
    weights = np.zeros(0)
    left = n  # the sum of squares of signs
    while len(chosen) < MAX_METRICS:
        trials = [c for c in range(len(cross)) if c not in chosen and gram[c, c] > 0]
        best: tuple[float, int, Floats] | None = None
        for c in trials:
            at = [*chosen, c]
            solved: Floats = np.asarray(np.linalg.lstsq(gram[np.ix_(at, at)], cross[at], rcond=1e-10)[0], np.float64)
            residual = max(n - float(cross[at] @ solved), 1e-12)
            if best is None or residual < best[0]:
                best = (residual, c, solved)
        if best is None or prompts * np.log(left / best[0]) <= np.log(prompts):
            break
        left, weights = best[0], best[2]
        chosen.append(best[1])
    return chosen, weights


def _standardised(gaps: Sequence[Floats]) -> tuple[Floats, list[int]]:
    """Return the metrics that cover enough choices, missing differences as 0 (they say nothing), and their indices."""
    usable = [i for i, gap in enumerate(gaps) if np.isfinite(gap).mean() > MIN_COVERAGE and np.nanmax(np.abs(gap)) > 0]
    columns = [gaps[i] / np.sqrt(np.nanmean(gaps[i] ** 2)) for i in usable]
    return np.nan_to_num(np.stack(columns, axis=1)) if columns else np.zeros((len(gaps[0]), 0)), usable


def combine(
    chosen: Choices, gaps: Sequence[Floats], names: Sequence[str], model: Sequence[int], seed: int
) -> Combination:
    """Choose and weigh metrics by least squares on the preferences, and predict every choice from folds without it.

    A choice in prompt fold f between models p and q is predicted by weights that were chosen and fitted, from scratch,
    on the other folds' choices between the other models.

    Args:
        chosen: the choices of one rubric.
        gaps: per metric, the difference per choice, positive where ``a`` has the better value, NaN without.
        names: of the metrics.
        model: the model of each configuration, a code.
        seed: of the prompt folds.
    """
    models = np.asarray(model)
    codes, flat = np.unique(models[np.concatenate([chosen.a, chosen.b])], return_inverse=True)
    first, second = np.sort(flat.reshape(2, -1), axis=0)
    nothing = np.full(len(chosen.sign), np.nan)
    if len(codes) < MIN_MODELS:
        said = f"two models are held out at a time, which takes {MIN_MODELS} or more; there are {len(codes)}"
        return Combination(metrics=(), weights=(), chosen=(), gaps=nothing, reason=said)
    x, usable = _standardised(gaps)
    if not usable:
        said = "no metric has values for half of the choices"
        return Combination(metrics=(), weights=(), chosen=(), gaps=nothing, reason=said)
    pairs = list(combinations_with_replacement(range(len(codes)), 2))
    where = {pair: i for i, pair in enumerate(pairs)}
    pair = np.array([where[p] for p in zip(first.tolist(), second.tolist(), strict=True)])
    fold = np.random.default_rng([seed, 8]).permutation(chosen.n_prompts)[chosen.prompt] % FOLDS
    blocks = _blocks(x, chosen.sign, fold, pair, pairs, len(codes), chosen.prompt)
    held, counts, fits = _held_out(x, fold, pair, pairs, blocks)
    at, weights = _choose(
        blocks.gram.sum((0, 1)), blocks.cross.sum((0, 1)), float(blocks.n.sum()), float(blocks.prompts.sum())
    )
    return Combination(
        metrics=tuple(names[usable[i]] for i in at),
        weights=tuple(float(w) for w in weights),
        chosen=tuple((names[usable[i]], count / fits) for i, count in counts.most_common()),
        gaps=held,
        reason="" if at else "no metric improves on a guess (by the BIC over prompts)",
    )


def _held_out(
    x: Floats, fold: NDArray[np.int64], pair: NDArray[np.int64], pairs: Sequence[tuple[int, int]], blocks: _Blocks
) -> tuple[Floats, Counter[int], int]:
    out = np.zeros(len(x))
    counts: Counter[int] = Counter()
    fits = 0
    for row, (p, q) in enumerate(pairs):
        apart = ~(blocks.touches[:, p] | blocks.touches[:, q])
        for f in range(FOLDS):
            held = (fold == f) & (pair == row)
            if not held.any():
                continue
            others = np.arange(FOLDS) != f
            kept = np.ix_(others, apart)
            at, weights = _choose(
                blocks.gram[kept].sum((0, 1)),
                blocks.cross[kept].sum((0, 1)),
                float(blocks.n[kept].sum()),
                float(blocks.prompts[others].sum()),
            )
            fits += 1
            counts.update(at)
            out[held] = x[held][:, at] @ weights
    return out, counts, max(fits, 1)
