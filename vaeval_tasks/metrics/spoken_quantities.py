"""Amounts with a unit and calendar dates in an answer, in one measure, however they are said.

``an hour and a half``, ``90 minutes`` and ``1.5 hours`` are the same amount; so are ``$79.99``, ``79 dollars and 99
cents`` and, beside a price, ``seventy-nine ninety-nine``. ``May 3rd`` and ``the third of May`` are the same date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vaeval_tasks.metrics.spoken_text import Token, TokenKind

__all__ = ["CalendarDate", "Quantity", "calendar_dates", "is_unit", "quantities"]

_UNITS: dict[str, tuple[str, Fraction]] = {
    name: (dimension, Fraction(factor))
    for dimension, names in {
        "time": "second 1, minute 60, hour 3600, day 86400, week 604800",
        "months": "month 1, year 12, decade 120, century 1200",
        "length": "millimeter 1/1000, centimeter 1/100, meter 1, kilometer 1000, inch 127/5000, foot 381/1250, "
        "feet 381/1250, yard 1143/1250, mile 201168/125",
        "mass": "milligram 1/1000, gram 1, kilogram 1000, kilo 1000, ton 1000000, tonne 1000000, "
        "ounce 45359237/1600000",
        "volume": "milliliter 1/1000, liter 1, gallon 473176473/125000000",
        "dollar": "dollar 1, buck 1", "euro": "euro 1", "pound": "pound 1, quid 1", "yen": "yen 1", "yuan": "yuan 1",
        "percent": "percent 1", "degree": "degree 1", "volt": "volt 1", "watt": "watt 1, kilowatt 1000",
        "hertz": "hertz 1, kilohertz 1000", "decibel": "decibel 1",
    }.items()
    for entry in names.split(", ")
    for name, factor in [entry.split(" ")]
}  # fmt: skip
_CURRENCIES = ("dollar", "euro", "pound", "yen", "yuan")
_SCALES = ("celsius", "centigrade", "fahrenheit", "kelvin")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number, with or without a unit."""

    dimension: str
    """``time``, ``length``, ``dollar`` …; "" without a unit; ``degree`` may have a scale, ``cents`` fits any money."""
    value: Fraction
    """In the dimension's own measure: seconds, metres, grams, months."""
    number: Fraction
    """As it was said."""
    at: range
    """The tokens that say it."""
    implied: bool = False
    """Whether it was said without a number: ``an hour``."""

    def like(self, other: Quantity) -> bool:
        """Whether the two can be compared: the same dimension, or one of them without a unit."""
        kinds = {self.dimension, other.dimension}
        money = "cents" in kinds and kinds & set(_CURRENCIES)
        pounds = kinds == {"mass", "pound"}
        degrees = len(kinds) == 2 and "degree" in kinds and any(k.startswith("degree ") for k in kinds)
        scales = kinds == {"degree celsius", "degree fahrenheit"}
        return len(kinds) == 1 or "" in kinds or bool(money) or degrees or pounds or scales

    def equals(self, other: Quantity) -> bool:
        """Whether the two are the same amount; a bare number equals one whose unit is understood."""
        if not self.like(other):
            return False
        if "" in (self.dimension, other.dimension):
            (part, share) = (self, other) if other.dimension == "percent" else (other, self)
            if share.dimension == "percent" and part.number.denominator != 1 and part.number * 100 == share.number:
                return True
            return self.number == other.number
        if {self.dimension, other.dimension} == {"degree celsius", "degree fahrenheit"}:
            cold, hot = sorted((self, other), key=lambda q: q.dimension)
            return cold.value * 9 / 5 + 32 == hot.value
        return self._beside(other).value == other._beside(self).value

    def _beside(self, other: Quantity) -> Quantity:
        """Read pounds as a weight beside a weight."""
        if self.dimension == "pound" and other.dimension == "mass":
            return replace(self, dimension="mass", value=self.value * Fraction(45359237, 100000))
        return self

    def close(self, other: Quantity) -> bool:
        """Whether the two differ by a rounding only: two in a hundred, and four between days and months."""
        if {self.dimension, other.dimension} == {"time", "months"}:
            month, days = sorted((self, other), key=lambda q: q.dimension)
            return abs(month.value * 2629800 - days.value) <= abs(days.value) / 25
        if {self.dimension, other.dimension} == {"degree celsius", "degree fahrenheit"}:
            cold, hot = sorted((self, other), key=lambda q: q.dimension)
            return abs(cold.value * 9 / 5 + 32 - hot.value) <= 2
        mine, theirs = self._beside(other).value, other._beside(self).value
        return self.like(other) and abs(mine - theirs) <= abs(theirs) / 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDate:
    """A day and a month, with the year where it was said."""

    day: int
    month: int
    year: int | None
    at: range

    def equals(self, other: CalendarDate) -> bool:
        """Whether the two can be the same day."""
        years = self.year is None or other.year is None or self.year == other.year
        return (self.day, self.month) == (other.day, other.month) and years


def _unit(token: Token) -> str:
    word = str(token.value)
    if token.kind is not TokenKind.word:
        return ""
    for name in (word, word.removesuffix("s"), word.removesuffix("es"), word.replace("inches", "inch")):
        if name in _UNITS:
            return name
    return ""


def is_unit(token: Token) -> bool:
    """Whether a token is a unit of measure."""
    return bool(_unit(token))


def quantities(said: Sequence[Token]) -> list[Quantity]:
    """Return the numbers of an answer with their units, in order; parts of one amount are added up."""
    out: list[Quantity] = []
    i = 0
    while i < len(said):
        found = _quantity(said, i)
        if found is None:
            i += 1
            continue
        i = found.at.stop
        joined = _joined(said, out[-1], found) if out else None
        if joined is None:
            out.append(found)
        else:
            out[-1] = joined
    return out


def _quantity(said: Sequence[Token], at: int) -> Quantity | None:
    token = said[at]
    if token.kind is not TokenKind.number:
        name = _unit(token)
        if name and str(token.value) == name and name not in ("second", "degree", "percent", "may"):  # an hour
            dimension, factor = _UNITS[name]
            return Quantity(dimension=dimension, value=factor, number=Fraction(1), at=range(at, at + 1), implied=True)
        return None
    number, end = Fraction(token.value), at + 1
    power = ""
    if end < len(said) and said[end].value in ("square", "cubic"):
        power, end = str(said[end].value), end + 1
    if (
        number < 1
        and [str(t.value) for t in said[end : end + 1]] == ["of"]
        and end + 1 < len(said)
        and _unit(said[end + 1])
    ):
        end += 1  # three quarters of an hour
    name = _unit(said[end]) if end < len(said) and not said[end].apart else ""
    if not name:
        return Quantity(dimension="", value=number, number=number, at=range(at, at + 1))
    dimension, factor = _UNITS[name]
    cents = said[end].written == "cents"
    end += 1
    following = [str(t.value) for t in said[end : end + 2]]
    if power or following[:1] in (["squared"], ["cubed"]):
        end += not power
        power = power or {"squared": "square", "cubed": "cubic"}[following[0]]
        dimension, factor = f"{power} {dimension}", factor ** (2 if power == "square" else 3)
    elif following in (["per", "hour"], ["per", "second"], ["per", "minute"]):
        dimension, end = f"{dimension} per {following[1]}", end + 2
    elif following[:1] in (["hour"], ["h"]) and dimension == "length":
        dimension, end = "length per hour", end + 1
    elif dimension == "degree" and following[:1] and following[0] in _SCALES:
        dimension = f"degree {following[0].replace('centigrade', 'celsius')}"
        end += 1
    elif cents:
        dimension = "cents"
    return Quantity(dimension=dimension, value=number * factor, number=number, at=range(at, end))


def _joined(said: Sequence[Token], first: Quantity, then: Quantity) -> Quantity | None:
    """Return the sum of parts of one amount: ``an hour and a half``, ``one hour 30 minutes``, ``3 euros 50``."""
    between = [str(t.value) for t in said[first.at.stop : then.at.start]]
    if between not in ([], ["and"]) or not first.dimension or said[then.at.start].apart:
        return None
    whole = range(first.at.start, then.at.stop)
    if not then.dimension and then.number == Fraction(1, 2) and between:
        half = first.value / first.number / 2
        return replace(first, value=first.value + half, number=first.number + Fraction(1, 2), at=whole)
    money = first.dimension in _CURRENCIES
    if money and then.dimension == "" and not between and 0 < then.number < 100 and then.number.denominator == 1:
        total = first.value + then.number / 100
        return replace(first, value=total, number=total, at=whole)
    if (money and then.dimension == "cents") or (
        first.dimension == then.dimension and not then.implied and then.value < first.value
    ):
        return replace(first, value=first.value + then.value, number=first.value + then.value, at=whole)
    return None


def calendar_dates(said: Sequence[Token]) -> list[CalendarDate]:
    """Return the dates of an answer: a month beside a number up to 31, and the year where it follows."""
    out = []
    for i, token in enumerate(said):
        if token.kind is not TokenKind.word or token.value not in _MONTHS:
            continue
        start, end, day = i, i + 1, 0
        if (found := _day(said, i - 1)) and not token.apart:
            start, day = i - 1, found
        elif i > 1 and said[i - 1].value == "of" and (found := _day(said, i - 2)):
            start, day = i - 2, found
        elif found := _day(said, i + 1):
            end, day = i + 2, found
        if not day:
            continue
        year = _year(said, end)
        at = range(start, end + (year is not None))
        out.append(CalendarDate(day=day, month=_MONTHS.index(str(token.value)) + 1, year=year, at=at))
    return out


def _day(said: Sequence[Token], at: int) -> int:
    if not 0 <= at < len(said) or said[at].kind not in (TokenKind.number, TokenKind.ordinal):
        return 0
    value = Fraction(said[at].value)
    return int(value) if value.denominator == 1 and 1 <= value <= 31 else 0


def _year(said: Sequence[Token], at: int) -> int | None:
    if at >= len(said) or said[at].kind is not TokenKind.number:
        return None
    value = Fraction(said[at].value)
    return int(value) if value.denominator == 1 and 1000 <= value <= 2999 else None
