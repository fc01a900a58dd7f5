"""Small pictures made for the sample, as PNG bytes, each a function of nothing. They hold text, as a page would."""

from __future__ import annotations

import io
from collections.abc import Sequence

__all__ = ["cities", "formula", "menu", "ticket", "timetable"]

WIDTH = 360
"""Pixels."""
LINE = 46
INK, PAPER = (20, 20, 60), (255, 255, 255)


def _page(lines: Sequence[Sequence[str]], *, ruled: bool = False) -> bytes:
    """Draw lines of one or two columns, dark on white, with rules between them if asked."""
    from PIL import Image, ImageDraw, ImageFont

    height = LINE * len(lines) + 20
    page = Image.new("RGB", (WIDTH, height), PAPER)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(26)
    for number, cells in enumerate(lines):
        top = 14 + number * LINE
        for left, text in zip((24, 220), cells, strict=False):
            pen.text((left, top), text, fill=INK, font=font)
        if ruled and number:
            pen.line([(12, top - 7), (WIDTH - 12, top - 7)], fill=INK, width=2)
    out = io.BytesIO()
    page.convert("P", palette=Image.Palette.ADAPTIVE, colors=16).convert("RGB").save(out, "PNG", optimize=True)
    return out.getvalue()


def menu() -> bytes:
    """A menu of three dishes with prices."""
    return _page([["MENU"], ["Soup", "4 dollars"], ["Salad", "6 dollars"], ["Cake", "3 dollars"]])


def cities() -> bytes:
    """A table of three cities and their people."""
    return _page([["City", "People"], ["Paris", "2,100,000"], ["Rome", "2,750,000"], ["Oslo", "700,000"]], ruled=True)


def ticket() -> bytes:
    """A ticket that names its train."""
    return _page([["TICKET"], ["Train 17"], ["one person"]])


def timetable() -> bytes:
    """A timetable of one train."""
    return _page([["Train", "Leaves"], ["17", "Monday"]], ruled=True)


def formula() -> bytes:
    """A formula with its solution."""
    return _page([["3 x = 15"], ["x = 5"]])
