"""What the board shows, as plain records. Numbers come from the analysis; nothing is computed here or later."""

from __future__ import annotations

from dataclasses import dataclass

from vaeval_tasks.rubrics import Rubric

__all__ = [
    "BoardPage",
    "Cell",
    "ConfigCard",
    "Download",
    "Figure",
    "Grid",
    "GridColumn",
    "MarginGroup",
    "MarginRow",
    "Opinion",
    "PageSection",
    "PlacedEntity",
    "RubricPage",
    "RubricTree",
    "Sample",
    "SampleAnswer",
    "Scatter",
    "ScatterPoint",
    "SliceRanking",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with its 95 % interval; each is None where it cannot be given, and ``reason`` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedEntity:
    """One entity's place on one rubric."""

    entity: str
    elo: Figure
    """Elo points, the mean of the shown entities is 1000."""
    rank_low: int | None = None
    """The best rank that the intervals allow; None without intervals."""
    rank_high: int | None = None
    """The worst rank that they allow."""
    n_ratings: int | None = None
    n_raters: int | None = None
    n_prompts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """One entity's mean opinion score (1 to 5) on one rubric."""

    entity: str
    mean: Figure
    shares: tuple[float, ...] = ()
    """Share of the ratings at 1, 2, 3, 4 and 5; empty where it is not known."""
    n_ratings: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRanking:
    """The standings on some of the prompts."""

    group: str
    """``category``, ``difficulty`` or ``condition``."""
    value: str
    n_ratings: int
    standings: tuple[PlacedEntity, ...] = ()
    reason: str = ""
    """Why there are no standings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricPage:
    """Everything about one rubric."""

    rubric: Rubric
    standings: tuple[PlacedEntity, ...]
    """Best first."""
    opinions: tuple[Opinion, ...] = ()
    """In the order of the standings."""
    slices: tuple[SliceRanking, ...] = ()
    reason: str = ""
    """Why there are no standings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginRow:
    """One rubric's head-to-head margin."""

    rubric: Rubric
    margin: Figure
    """CMOS points, positive when the first is preferred."""
    significant: bool | None
    win_rate: float | None
    """Share of wins, ties left out."""
    n_ratings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginGroup:
    """Two voices or two thinking levels of one model, on every rubric."""

    model: str
    first: str
    second: str
    rows: tuple[MarginRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricTree:
    """The rubrics' dendrogram."""

    labels: tuple[str, ...]
    groups: tuple[int, ...]
    """A group number per label."""
    merges: tuple[tuple[int, int, float], ...]
    """(left, right, distance), numbered as SciPy does: leaves first, then the merges in order."""


Cell = str | int | float | bool | Figure | None
"""A value as it is, with its interval where it has one; the template writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridColumn:
    """A column of a plain table."""

    head: str
    digits: int | None = None
    """Decimals of numbers that are not whole; None: 3."""
    numeric: bool = True
    """Whether it holds numbers, which stand to the right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A plain table."""

    name: str
    """The name of the table behind it, such as ``A2``."""
    title: str
    columns: tuple[GridColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    shades: tuple[tuple[float | None, ...], ...] = ()
    """0 to 1 per cell, how strongly it is shaded; None: not at all. Empty: no cell is."""
    folded: bool = False
    """Shown only when a reader unfolds it."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPoint:
    """A numbered mark; both values are there."""

    number: int
    name: str
    x: Figure
    y: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Elo above the seconds that were waited for it."""

    caption: str
    points: tuple[ScatterPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """A part of the page that is made of plain tables."""

    key: str
    title: str
    lead: str = ""
    """What a reader should take from it, in a sentence or two."""
    grids: tuple[Grid, ...] = ()
    tree: RubricTree | None = None
    scatter: Scatter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigCard:
    """One model configuration, for whoever wants to repeat it."""

    config_id: str
    model: str
    voice: str
    thinking: str
    provider: str
    system_prompt: str
    params: str
    """Indented JSON."""
    counts: str = ""
    """What became of its requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAnswer:
    """One response in the sample player."""

    label: str
    audio: str
    """A data URI."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A public prompt with some of its responses."""

    prompt_id: str
    about: str
    audio: str
    text: str
    answers: tuple[SampleAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A table as a file."""

    name: str
    title: str
    rows: int
    csv: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPage:
    """The whole page."""

    title: str
    summary: tuple[str, ...]
    """Short facts under the title: numbers of models, ratings, raters, prompts."""
    notices: tuple[str, ...]
    """What a reader must know first, such as that the raters are simulated."""
    pages: tuple[RubricPage, ...]
    entities: tuple[str, ...]
    """Best overall first."""
    voices: tuple[MarginGroup, ...] = ()
    thinking: tuple[MarginGroup, ...] = ()
    sections: tuple[PageSection, ...] = ()
    cards: tuple[ConfigCard, ...] = ()
    samples: tuple[Sample, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """(part, why it is not there)."""
    method: tuple[tuple[str, str], ...] = ()
    """(what, how) of the method and the provenance."""
    computed: bool = True
    """Whether the figures were computed here, so that the method is their provenance; else they were given."""
    downloads: tuple[Download, ...] = ()
