"""Where the marks of the board's drawings go: percentages of a width, so that they fit any screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vaeval_tasks.report.records import Figure, MarginGroup, PlacedEntity, RubricPage, RubricTree, Scatter

__all__ = [
    "ROW_HEIGHT",
    "Axis",
    "Branch",
    "Drawing",
    "all_standings",
    "axis_of",
    "branches",
    "elo_axis",
    "margin_axis",
    "row_shades",
    "scatter_axes",
]

ROW_HEIGHT = 26
"""Height of one leaf of the dendrogram, CSS pixels."""
_STEPS = (0.1, 0.25, 0.5, 1, 5, 10, 25, 50, 100, 200, 500)
_MOST_TICKS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A linear axis from ``low`` to ``high`` with tick marks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    zero: float
    """The value that stands out: 1000 Elo points, or 0 CMOS points."""

    def at(self, value: float) -> str:
        """Return where a value lies, as a percentage of the width."""
        return f"{100 * (value - self.low) / (self.high - self.low):.2f}%"

    def down(self, value: float) -> str:
        """Return where a value lies on an upright axis, as a percentage of the height from the top."""
        return f"{100 * (self.high - value) / (self.high - self.low):.2f}%"


def axis_of(values: Iterable[float], zero: float) -> Axis:
    """Return a round axis that holds all values and ``zero``.

    Args:
        values: what must fit; none gives one step around ``zero``.
        zero: the value that stands out.
    """
    kept = [*values, zero]
    low, high = min(kept), max(kept)
    step = next((s for s in _STEPS if (high - low) / s <= _MOST_TICKS - 1), _STEPS[-1])
    first, last = math.floor(low / step), math.ceil(high / step)
    if first == last:
        first, last = first - 1, last + 1
    ticks = tuple(round(i * step, 6) for i in range(first, last + 1))
    return Axis(low=ticks[0], high=ticks[-1], ticks=ticks, zero=zero)


def _ends(estimates: Iterable[Figure]) -> list[float]:
    return [v for e in estimates for v in (e.value, e.low, e.high) if v is not None]


def elo_axis(standings: Iterable[PlacedEntity]) -> Axis:
    """Return the Elo axis that holds all standings."""
    return axis_of(_ends(s.elo for s in standings), 1000.0)


def scatter_axes(scatter: Scatter) -> tuple[Axis, Axis]:
    """Return the axis of seconds, from 0, and the upright one of Elo points."""
    seconds = axis_of(_ends(point.x for point in scatter.points), 0.0)
    return seconds, axis_of(_ends(point.y for point in scatter.points), 1000.0)


def margin_axis(groups: Iterable[MarginGroup]) -> Axis:
    """Return the axis of CMOS points that holds all margins."""
    return axis_of(_ends(row.margin for group in groups for row in group.rows), 0.0)


def row_shades(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return how strongly each value of a row is shaded, 0 at its least to 1 at its most."""
    known = [v for v in values if v is not None]
    if len(known) < 2 or max(known) == min(known):
        return tuple(None for _ in values)
    low, high = min(known), max(known)
    return tuple(None if v is None else (v - low) / (high - low) for v in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One merge of the dendrogram: a bar at ``x`` from ``y1`` to ``y2`` with an arm to each child."""

    x: str
    x1: str
    x2: str
    """Percentages of the width; ``x1`` and ``x2`` are where the children lie."""
    y1: float
    y2: float
    """CSS pixels from the top."""
    within: bool
    """Whether both children belong to one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A dendrogram: its leaves from top to bottom and its branches."""

    order: tuple[int, ...]
    branches: tuple[Branch, ...]
    height: int


def branches(tree: RubricTree) -> Drawing:
    """Lay a dendrogram out with its leaves on the left and the root on the right."""
    n = len(tree.labels)
    leaves: dict[int, list[int]] = {i: [i] for i in range(n)}
    for i, (left, right, _) in enumerate(tree.merges):
        leaves[n + i] = leaves[left] + leaves[right]
    order = leaves[n + len(tree.merges) - 1] if tree.merges else list(range(n))
    widest = max((d for *_, d in tree.merges), default=1.0) or 1.0
    y = {leaf: ROW_HEIGHT * (place + 0.5) for place, leaf in enumerate(order)}
    x = dict.fromkeys(range(n), 0.0)
    out = []
    for i, (left, right, distance) in enumerate(tree.merges):
        x[n + i], y[n + i] = distance / widest, (y[left] + y[right]) / 2
        out.append(
            Branch(
                x=_percent(x[n + i]),
                x1=_percent(x[left]),
                x2=_percent(x[right]),
                y1=y[left],
                y2=y[right],
                within=len({tree.groups[leaf] for leaf in leaves[n + i]}) == 1,
            )
        )
    return Drawing(order=tuple(order), branches=tuple(out), height=ROW_HEIGHT * n)


def _percent(share: float) -> str:
    return f"{1 + 97 * share:.2f}%"  # a margin, so that the strokes at both ends are whole


def all_standings(pages: Sequence[RubricPage]) -> list[PlacedEntity]:
    """Return the standings of all rubrics, for an axis that they share."""
    return [s for page in pages for s in page.standings]
