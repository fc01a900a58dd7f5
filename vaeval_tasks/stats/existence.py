"""Whether finite strengths exist, and which entities are to blame if not.

A finite maximum exists exactly if the comparisons connect all entities and no direction of (strengths, thresholds)
raises the likelihood for ever. The second is a linear programme.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats.cells import Cells
from vaeval_tasks.stats.cumulative import Problem

__all__ = ["recession_direction", "require_connected", "require_ratings", "separation_error"]

_SHOWN = 5


def require_ratings(cells: Cells) -> None:
    """Raise if there is nothing to fit.

    Raises:
        EstimationError: the rubric has no ratings.
    """
    if not len(cells.counts):
        raise EstimationError("there are no ratings to fit", rubric=cells.rubric)


def require_connected(cells: Cells) -> None:
    """Raise if some entities are never compared with the others, even through third ones.

    Raises:
        EstimationError: names the entities without a comparison, or the parts.
    """
    m = len(cells.entities)
    part = _parts(cells.first, cells.second, m)
    n_parts = int(part.max(initial=-1)) + 1
    if n_parts == 1:
        return
    members = [[cells.entities[i] for i in np.flatnonzero(part == p)] for p in range(n_parts)]
    compared = np.zeros(m, dtype=bool)
    apart = cells.first != cells.second
    compared[cells.first[apart]] = compared[cells.second[apart]] = True
    lone = [cells.entities[i] for i in np.flatnonzero(~compared)]
    if lone:
        raise EstimationError(
            f"{_names(lone)} has no comparison with another entity. "
            "Leave it out, collect ratings of it, or ask for a ridge (vaeval rank --ridge)",
            rubric=cells.rubric,
        )
    parts = " | ".join(f"{{{_names(names)}}}" for names in members)
    raise EstimationError(
        f"the entities fall into {n_parts} parts that are never compared with each other: "
        f"{parts}. Collect ratings across them, rank them apart, or ask for a ridge (vaeval rank --ridge)",
        rubric=cells.rubric,
    )


def _parts(first: NDArray[np.int64], second: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the part of each entity, numbered by its first member; those compared, even through others, share one."""
    part = np.arange(n)
    while True:  # every entity takes the lowest label beside it, then that one's label, until nothing changes
        lowest = part.copy()
        np.minimum.at(lowest, first, part[second])
        np.minimum.at(lowest, second, part[first])
        lowest = lowest[lowest]
        if np.array_equal(lowest, part):
            return np.unique(part, return_inverse=True)[1]
        part = lowest


def recession_direction(problem: Problem) -> NDArray[np.float64] | None:
    """Return strengths of a direction along which the likelihood never falls and somewhere rises, or None.

    Every observed category k of a pair asks for u[k-1] <= v_a - v_b <= u[k] of a direction (v, u), one-sided at the
    ends; if some of these can be strict, the maximum is at infinity.
    """
    from scipy.optimize import linprog  # a third of a second, paid only where a fit has no finite maximum
    from scipy.sparse import csr_matrix, hstack, vstack

    pair, category = np.nonzero(problem.counts)
    delta = problem.incidence[pair]
    tau = csr_matrix(problem.design)
    n_thresholds = problem.design.shape[0]
    upper, lower = category < n_thresholds, category > 0
    rows = vstack(
        [
            hstack([delta[upper], -tau[category[upper]]]),
            hstack([-delta[lower], tau[category[lower] - 1]]),
        ]
    ).tocsr()
    found = linprog(
        np.asarray(rows.sum(axis=0)).ravel(), A_ub=rows, b_ub=np.zeros(rows.shape[0]), bounds=(-1, 1), method="highs"
    )
    if found.status != 0 or found.fun > -1e-7:
        return None
    return np.asarray(found.x[: problem.n_centred], dtype=np.float64)


def separation_error(cells: Cells, problem: Problem) -> EstimationError:
    """Return the error that says why a fit of connected entities found no finite maximum."""
    direction = recession_direction(problem)
    if direction is None:
        return EstimationError(
            "the fit did not converge. Ask for a ridge (vaeval rank --ridge) or collect more ratings",
            rubric=cells.rubric,
        )
    spread = direction - direction.min()
    if spread.max() < 1e-7:
        return EstimationError(
            "the thresholds have no finite estimate. Ask for a ridge (vaeval rank --ridge)", rubric=cells.rubric
        )
    top = [cells.entities[i] for i in np.flatnonzero(spread > spread.max() - 1e-7)]
    rest = [cells.entities[i] for i in np.flatnonzero(spread <= spread.max() - 1e-7)]
    if len(rest) == 1 and len(top) > 1:
        blame = f"{_names(rest)} lost every comparison with the others by the largest score given"
    else:
        blame = f"{_names(top)} won every comparison with {_names(rest)} by the largest score given"
    return EstimationError(
        f"{blame}: no finite strength exists. Collect more ratings, or ask for a ridge (vaeval rank --ridge)",
        rubric=cells.rubric,
    )


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
