"""A comparison as one HTML file: tables, and the flipped items with players side by side. No network, no script."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from vaeval_tasks import __version__
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.audio import mp3_uri, read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import write_text
from vaeval_tasks.paired.comparison import PairedRuns, RunComparison
from vaeval_tasks.paired.contrast import ContrastLevel
from vaeval_tasks.paired.flips import ChangedAnswer, FlippedItem
from vaeval_tasks.stats.paired import PRODUCT

__all__ = ["PageAudio", "comparison_page"]

SHOWN = 200
"""Flipped items of a pair that the page has."""
EMBEDDED = 30
"""Of these, the worst ones whose sound is within the page; that of the others is linked."""
LONGEST_S = 60.0
_RATE = 16_000
_RATES = (8_000, 12_000, 16_000, 22_050, 24_000)
"""Hz: sound that MP3 has as it is; other sound becomes 16 kHz."""


class PageAudio(StrEnum):
    """Where the page's sound is."""

    embed = "embed"
    """Within the page, of the worst items; the page can be passed on alone."""
    link = "link"
    """In the run folders, by paths relative to the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """One answer on the page."""

    label: str
    answer: ChangedAnswer
    source: str
    """What the player plays, empty where there is nothing to hear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedFlip:
    """A flipped item with its two players."""

    flip: FlippedItem
    players: tuple[Player, Player]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceBar:
    """An interval on the axis of its table; in percent of the width."""

    label: str
    low: float
    high: float
    dot: float
    zero: float


def comparison_page(found: RunComparison, path: Path, audio: PageAudio = PageAudio.embed) -> None:
    """Write the page.

    Args:
        found: the comparison.
        path: the HTML file.
        audio: where the sound is.
    """
    views = [
        {
            "pair": pair,
            "tables": [table for table in found.pair_tables(pair) if table.name != "flips"],
            "bars": list(_bars(pair)),
            "played": [
                _played(pair, flip, path, embed=i < EMBEDDED and audio is PageAudio.embed)
                for i, flip in enumerate(pair.flips[:SHOWN])
            ],
            "more": len(pair.flips) - SHOWN,
        }
        for pair in found.pairs
    ]
    text = (
        _environment()
        .get_template("compare.html")
        .render(found=found, views=views, version=__version__, numeric=_numeric)
    )
    write_text(path, text)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("vaeval_tasks.paired"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _numeric(table: Table) -> Sequence[bool]:
    return [all(isinstance(row.get(c), int | float | None) for row in table.rows) for c in table.columns]


def _bars(pair: PairedRuns) -> Iterator[DifferenceBar]:
    """The product scores' differences on one axis."""
    rows = [s for s in pair.scores if s.quantity == PRODUCT and s.difference is not None and s.low is not None]
    ends = [abs(x) for s in rows for x in (s.low, s.high, s.difference) if x is not None]
    reach = max([*ends, 1.0])

    def place(x: float | None) -> float:
        return round(50 + 50 * (x or 0.0) / reach, 2)

    for one in rows:
        name = one.name if one.level is not ContrastLevel.task else one.name.replace("_", " ")
        said = f"{name}: {one.difference:+.1f} points, 95 % interval {one.low:+.1f} to {one.high:+.1f}"
        yield DifferenceBar(label=said, low=place(one.low), high=place(one.high), dot=place(one.difference), zero=50.0)


def _played(pair: PairedRuns, flip: FlippedItem, page: Path, *, embed: bool) -> PlayedFlip:
    first, second = (
        Player(label=label, answer=answer, source=_source(answer, page, embed=embed))
        for label, answer in ((pair.first, flip.first), (pair.second, flip.second))
    )
    return PlayedFlip(flip=flip, players=(first, second))


def _source(answer: ChangedAnswer, page: Path, *, embed: bool) -> str:
    if answer.audio is None:
        return ""
    if embed:
        try:
            clip = read_audio(answer.audio)
        except InputError:  # the scores were made when the file was whole; the rest of the page is still true
            return ""
        if 0 < clip.seconds <= LONGEST_S:
            return mp3_uri(clip, clip.rate if clip.rate in _RATES else _RATE)
    try:
        relative = os.path.relpath(answer.audio.resolve(), page.resolve().parent)
    except ValueError:  # another drive
        return answer.audio.resolve().as_uri()
    return quote(Path(relative).as_posix(), safe="/.-_~")
