"""Draw a board as one HTML file: no request leaves the page, and nothing in the data can change it.

Texts are escaped by Jinja, the embedded JSON by :func:`embedded`, and the page's own policy (CSP) lets run the one
script whose hash it names, so that even a slip in escaping could not execute anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vaeval_tasks import __version__
from vaeval_tasks.analysis.rank.slices import MIN_RATINGS
from vaeval_tasks.analysis.table import printed, rank_range
from vaeval_tasks.report.figures import all_standings, branches, elo_axis, margin_axis, row_shades, scatter_axes
from vaeval_tasks.report.records import BoardPage, Cell, Figure, GridColumn, PlacedEntity, RubricPage
from vaeval_tasks.rubrics import FAMILIES

__all__ = ["SCHEMA_VERSION", "embedded", "render", "snapshot", "written"]

SCHEMA_VERSION = 1
"""Of the machine-readable copy of the board that is embedded in the page."""


def embedded(value: Any) -> Markup:
    """Return JSON that is safe inside a script element: no ``<``, ``>``, ``&`` or line separator is left in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - escaped above


def anchor(key: str) -> str:
    """Return a rubric's place in the page, as in ``#voice-consistency``."""
    return key.replace("_", "-")


def elo(value: float | None) -> str:
    """Write Elo points."""
    return "–" if value is None else f"{value:.0f}"


def decimals(value: float | None, digits: int = 2) -> str:
    """Write a number with so many decimals."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None) -> str:
    """Write a margin, always with its sign."""
    return "–" if value is None else f"{value:+.2f}"


def percent(share: float | None, digits: int = 0) -> str:
    """Write a share as a percentage."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def count(value: float | None) -> str:
    """Write a number of things, with thin spaces between thousands."""
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def written(cell: Cell, column: GridColumn) -> str:
    """Write a cell of a plain table as the tables of the analysis print it, a number with its interval.

    A line may break, if at all, between a number and its interval.
    """
    if not isinstance(cell, Figure):
        return printed(cell, column.digits)
    value, low, high = (printed(x, column.digits) for x in (cell.value, cell.low, cell.high))
    return value if cell.low is None and cell.high is None else f"{value} [{low},\u00a0{high}]"


def ranks(placed: PlacedEntity) -> str:
    """Write the ranks that an entity may hold, a dash where they are not known."""
    return rank_range(placed.rank_low, placed.rank_high, "–") or "–"


def of_entity(entity: str, standings: Sequence[PlacedEntity]) -> PlacedEntity | None:
    """Return an entity's place among standings, None where it has none."""
    return next((s for s in standings if s.entity == entity), None)


def elo_or_none(standing: PlacedEntity | None) -> float | None:
    """Return the Elo of a place, None where there is no place."""
    return standing.elo.value if standing else None


def csv_uri(text: str) -> str:
    """Return a CSV as a data URI."""
    return "data:text/csv;charset=utf-8," + quote(text, safe=",:;/()[]+-_.")


def _source(name: str) -> str:
    from importlib.resources import files

    return (files("vaeval_tasks.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("vaeval_tasks.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        anchor=anchor,
        count=count,
        csv_uri=csv_uri,
        decimals=decimals,
        elo=elo,
        elo_or_none=elo_or_none,
        embedded=embedded,
        of_entity=of_entity,
        percent=percent,
        ranks=ranks,
        signed=signed,
        written=written,
    )
    environment.globals.update(
        branches=branches,
        decimals=decimals,
        elo=elo,
        elo_axis=elo_axis,
        margin_axis=margin_axis,
        row_shades=row_shades,
        scatter_axes=scatter_axes,
        signed=signed,
    )
    return environment


def _families(pages: tuple[RubricPage, ...]) -> list[tuple[str, list[RubricPage]]]:
    return [(f.value, [p for p in pages if p.rubric.family is f]) for f in FAMILIES]


def _figure(name: str, figure: Figure) -> dict[str, Any]:
    out: dict[str, Any] = {name: figure.value, "low": figure.low, "high": figure.high}
    return out | ({"reason": figure.reason} if figure.reason else {})


def snapshot(board: BoardPage) -> dict[str, Any]:
    """Return the standings and MOS of all rubrics, with their provenance, as JSON values."""
    rubrics = {
        page.rubric.key: {
            "label": page.rubric.label,
            "standings": [
                {
                    "entity": s.entity,
                    **_figure("elo", s.elo),
                    "rank": rank_range(s.rank_low, s.rank_high) or None,
                    "n_ratings": s.n_ratings,
                    "n_raters": s.n_raters,
                    "n_prompts": s.n_prompts,
                }
                for s in page.standings
            ],
            "mos": [{"entity": o.entity, **_figure("mos", o.mean), "n_ratings": o.n_ratings} for o in page.opinions],
        }
        for page in board.pages
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "software": f"vaeval {__version__}",
        "title": board.title,
        "about": {"method": dict(board.method)} if board.computed else {},
        "rubrics": rubrics,
    }


def render(board: BoardPage) -> str:
    """Return the page of a board."""
    script, style = _source("board.js"), _source("board.css")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        _environment()
        .get_template("board.html")
        .render(
            board=board,
            snapshot=snapshot(board),
            families=_families(board.pages),
            axis=elo_axis(all_standings(board.pages)),
            script=Markup(script),  # noqa: S704 - our own file
            style=Markup(style),  # noqa: S704 - our own file
            script_hash=f"sha256-{digest}",
            min_slice=MIN_RATINGS,
        )
    )
