"""Prompts and raters of a simulated study: the published counts, scaled to any size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.rubrics import GATED
from vaeval_tasks.simulate.published_study import (
    CATEGORIES,
    DEGRADED_PROMPTS,
    DIFFICULTIES,
    GATE_SHARES,
    IN_BOTH_POOLS,
    POOL,
)
from vaeval_tasks.store.schema import Condition, Prompt, Rater, RaterKind, StudyKind

__all__ = ["make_prompts", "make_raters", "scaled_counts"]

_BAND_YEARS = {"18-25": (18, 25), "26-35": (26, 35), "36-45": (36, 45), "46-55": (46, 55), "56-65": (56, 65)}
_OLDEST = (66, 78)


def scaled_counts(counts: Sequence[int], total: int) -> NDArray[np.int64]:
    """Scale counts to sum to ``total`` by largest remainders; unchanged where they already do."""
    exact = np.asarray(counts, dtype=np.float64) * total / max(sum(counts), 1)
    out = np.floor(exact + 1e-9).astype(np.int64)
    short = total - int(out.sum())
    out[np.argsort(-(exact - out), kind="stable")[:short]] += 1
    return out


def make_prompts(count: int, rng: np.random.Generator) -> list[Prompt]:
    """Return prompts with the published shares of difficulty levels, degraded conditions and gates.

    They come by level, then category; the degraded ones last.
    """
    per_level = scaled_counts([*DIFFICULTIES.values(), DEGRADED_PROMPTS], count)
    levels = [level for level, n in zip([*DIFFICULTIES, ""], per_level, strict=True) for _ in range(n)]
    noisy = [c for c in Condition if c is not Condition.clean]
    gates: list[list[str]] = [[] for _ in range(count)]
    for key in GATED:
        for i in rng.choice(count, size=round(GATE_SHARES[key] * count), replace=False):
            gates[int(i)].append(key)
    within: dict[str, int] = {}
    out = []
    for i, level in enumerate(levels):
        nth = within[level] = within.get(level, -1) + 1
        size = int(per_level[-1] if not level else per_level[list(DIFFICULTIES).index(level)])
        out.append(
            Prompt(
                prompt_id=f"p{i + 1:04d}",
                category=CATEGORIES[nth * len(CATEGORIES) // size],
                difficulty=level,
                condition=Condition.clean if level else noisy[nth % len(noisy)],
                gates=tuple(sorted(gates[i])),
            )
        )
    return out


def make_raters(cmos: int, mos: int, rng: np.random.Generator) -> list[Rater]:
    """Return raters with the gender and age cells of table A1 and the published overlap of the two pools.

    Args:
        cmos: raters of the CMOS collection.
        mos: raters of the MOS collection, 0 for none.
        rng: draws ages within their band and shuffles the identifiers.
    """
    in_cmos = scaled_counts([cell.cmos for cell in POOL], cmos)
    in_mos = scaled_counts([cell.mos for cell in POOL], mos)
    most = np.minimum(in_cmos, in_mos)
    wanted = min(int(most.sum()), round(IN_BOTH_POOLS / sum(cell.cmos for cell in POOL) * cmos))
    both = np.minimum(scaled_counts(most.tolist(), wanted), most)
    cells: list[tuple[str, str, tuple[str, ...]]] = []
    for cell, n_cmos, n_mos, n_both in zip(POOL, in_cmos, in_mos, both, strict=True):
        cells += [(cell.gender, cell.band, tuple(StudyKind))] * int(n_both)
        cells += [(cell.gender, cell.band, (StudyKind.cmos,))] * int(n_cmos - n_both)
        cells += [(cell.gender, cell.band, (StudyKind.mos,))] * int(n_mos - n_both)
    out = []
    for i, at in enumerate(rng.permutation(len(cells))):
        gender, band, pools = cells[int(at)]
        low, high = _BAND_YEARS.get(band, _OLDEST)
        age = int(rng.integers(low, high + 1))
        out.append(Rater(rater_id=f"r{i + 1:04d}", kind=RaterKind.simulated, gender=gender, age=age, pools=pools))
    return out
