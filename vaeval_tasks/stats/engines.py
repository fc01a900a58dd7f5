"""One door to the three engines."""

from __future__ import annotations

from vaeval_tasks.stats.cells import Cells, count_cells
from vaeval_tasks.stats.comparisons import Comparisons
from vaeval_tasks.stats.fits import Engine, Fit
from vaeval_tasks.stats.fractional import fit_fractional_cells
from vaeval_tasks.stats.massey import fit_massey_cells
from vaeval_tasks.stats.ordinal import fit_ordinal_cells

__all__ = ["fit", "fit_all", "fit_cells"]


def fit(data: Comparisons, rubric: str, *, engine: Engine = Engine.ordinal, ridge: float = 0.0) -> Fit:
    """Fit one rubric with one engine.

    Args:
        data: the comparisons.
        rubric: its name.
        engine: which of the three.
        ridge: precision of a zero-mean normal penalty on the strengths; only to be given where the data have no finite
            estimate. Massey needs none for separation, only for connectivity.

    Raises:
        EstimationError: there are no ratings, the entities fall into parts that are never compared (named), or an
            entity won or lost everything so that no finite strength exists (named), and ``ridge`` is 0.
        UnknownNameError: there is no such rubric.
    """
    return fit_cells(count_cells(data.only(rubric))[0], engine=engine, ridge=ridge)


def fit_all(data: Comparisons, *, engine: Engine = Engine.ordinal, ridge: float = 0.0) -> tuple[Fit, ...]:
    """Fit every rubric of ``data`` in their order; see :func:`fit`. The ratings are read once."""
    return tuple(fit_cells(cells, engine=engine, ridge=ridge) for cells in count_cells(data))


def fit_cells(cells: Cells, *, engine: Engine, ridge: float = 0.0) -> Fit:
    """Fit one table of counts; see :func:`fit`."""
    if engine is Engine.ordinal:
        return fit_ordinal_cells(cells, ridge=ridge)
    if engine is Engine.fractional:
        return fit_fractional_cells(cells, ridge=ridge)
    return fit_massey_cells(cells, ridge=ridge)
