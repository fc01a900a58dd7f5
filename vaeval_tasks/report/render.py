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

from vaeval_tasks.analysis.rank.slices import MIN_RATINGS
from vaeval_tasks.report.figures import all_standings, branches, elo_axis, margin_axis, row_shades
from vaeval_tasks.report.records import Board, RubricPage, Standing
from vaeval_tasks.rubrics import FAMILIES

__all__ = ["embedded", "render"]


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


def of_entity(entity: str, standings: Sequence[Standing]) -> Standing | None:
    """Return an entity's place among standings, None where it has none."""
    return next((s for s in standings if s.entity == entity), None)


def elo_or_none(standing: Standing | None) -> float | None:
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
        signed=signed,
    )
    environment.globals.update(
        branches=branches,
        decimals=decimals,
        elo=elo,
        elo_axis=elo_axis,
        margin_axis=margin_axis,
        row_shades=row_shades,
        signed=signed,
    )
    return environment


def _families(pages: tuple[RubricPage, ...]) -> list[tuple[str, list[RubricPage]]]:
    return [(f.value, [p for p in pages if p.rubric.family is f]) for f in FAMILIES]


def render(board: Board) -> str:
    """Return the page of a board."""
    script, style = _source("board.js"), _source("board.css")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        _environment()
        .get_template("board.html")
        .render(
            board=board,
            families=_families(board.pages),
            axis=elo_axis(all_standings(board.pages)),
            script=Markup(script),  # noqa: S704 - our own file
            style=Markup(style),  # noqa: S704 - our own file
            script_hash=f"sha256-{digest}",
            min_slice=MIN_RATINGS,
        )
    )
