"""Short English answers as tokens: numbers, times of day, ordinals and words, however a recogniser spells them.

``half past four``, ``4:30`` and ``four thirty`` become the same time; ``one half``, ``1/2`` and ``0.5`` the same
number; ``$450`` and ``450 dollars`` the same two tokens. Articles and punctuation are dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

__all__ = ["Token", "TokenKind", "plain", "sentences", "tokens"]


class TokenKind(StrEnum):
    """What a token is."""

    word = "word"
    number = "number"
    ordinal = "ordinal"
    time = "time"


@dataclass(frozen=True, slots=True)
class Token:
    """One token; two are equal where they mean the same."""

    kind: TokenKind
    value: str | Fraction
    """The word in lower case; the number; or the minutes since midnight."""
    written: str = ""
    """The digits of a number as they stood, since leading zeros matter in a telephone number; ``am`` or ``pm``."""
    apart: bool = False
    """Whether a comma, colon or the end of a sentence stands before it."""

    def same(self, other: Token) -> bool:
        """Whether the two mean the same: a number and its ordinal, a word and its plural, a time with or without pm."""
        if self.kind is TokenKind.word and other.kind is TokenKind.word:
            return _stem(str(self.value)) == _stem(str(other.value))
        counted = (TokenKind.number, TokenKind.ordinal)
        if self.kind in counted and other.kind in counted:
            return self.value == other.value
        if self.kind is not other.kind:
            return False
        if self.written and other.written:
            return self.value == other.value
        return Fraction(self.value) % _HALF_DAY == Fraction(other.value) % _HALF_DAY


_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: i for i, word in enumerate(_ONES)} | {word: 20 + 10 * i for i, word in enumerate(_TENS)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30, "fortieth": 40,
    "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80, "ninetieth": 90, "hundredth": 100,
}  # fmt: skip
_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4} | {
    f"{word}s": n for word, n in _ORDINALS.items() if 3 <= n <= 20 or n == 100
}
_ARTICLES = {"a", "an", "the"}
_MONEY = {"$": "dollars", "£": "pounds", "€": "euros"}
_HUNDREDTHS = {"cent": "dollars", "cents": "dollars", "pence": "pounds", "penny": "pounds"}
_UNITS = {
    "mm": "millimeters", "cm": "centimeters", "m": "meters", "km": "kilometers", "kg": "kilograms", "g": "grams",
    "ml": "milliliters", "l": "liters", "mph": "miles per hour", "kmh": "kilometers per hour", "min": "minutes",
    "mins": "minutes", "sec": "seconds", "secs": "seconds", "hr": "hours", "hrs": "hours", "lb": "pounds",
    "lbs": "pounds", "ft": "feet",
}  # fmt: skip
_HALF_DAY = 12 * 60
_FIVES = {5, 10, 20, 25}

_PIECE = re.compile(
    r"(?P<clock>\d{1,2}:\d{2})|(?P<fraction>\d+/[1-9]\d*)|(?P<ordinal>\d+(?:st|nd|rd|th)\b)|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)*)|(?P<minus>(?<![\w])-(?=\d))"
)
_UNIT = re.compile(r"(?<=\d)\s?(?!am\b|pm\b|st\b|nd\b|rd\b|th\b)([a-z]{1,4})\b")
_PART_FOLLOWS = re.compile(r"\s+(?:half|quarter|" + "|".join(w for w, n in _ORDINALS.items() if 3 <= n <= 20) + r")\b")
_DIGIT = "zero|oh|one|two|three|four|five|six|seven|eight|nine|\\d"
_TIMES = re.compile(rf"\b(double|triple)[\s-]({_DIGIT})\b")


def plain(text: str) -> str:
    """Return the text with one kind of quote, hyphen and digit (NFKC)."""
    text = text.replace("²", " squared").replace("³", " cubed")
    text = re.sub(r"(?<=\d)([¼-¾⅐-⅞])", r" \1", text)  # 2½
    text = unicodedata.normalize("NFKC", text).replace("⁄", "/")
    return text.replace("’", "'").replace("‘", "'").replace("−", "-").replace("–", "-").replace("—", " - ")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; a point inside a number or an abbreviation such as ``p.m.`` ends none."""
    joined = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", plain(text), flags=re.IGNORECASE)
    joined = re.sub(r"\b(e\.g|i\.e|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|approx|No(?=\. \d))\.(?=\s\S)", r"\1", joined)
    return [part.strip() for part in re.split(r"(?<=[.!?;])\s+|\n+", joined) if part.strip(" .!?;")]


def tokens(text: str, *, articles: bool = False) -> list[Token]:
    """Return the tokens of a text in order, without articles unless they are asked for."""
    text = plain(text).lower()
    text = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", text)
    text = re.sub(r"\b(\d{1,2})\.(\d{2})\s?([ap]m)\b", r"\1:\2 \3", text)
    text = re.sub(r"(\d)\s?([ap]m)\b", r"\1 \2", text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(
        r"([$£€])\s?(\d+(?:\.\d+)?(?:\s(?:thousand|million|billion|trillion)\b)?)",
        lambda m: f"{m[2]} {_MONEY[m[1]]} ",
        text,
    )
    text = re.sub(r"(?<=\d)\s?([£€])", lambda m: f" {_MONEY[m[1]]} ", text)
    text = _TIMES.sub(lambda m: " ".join([m[2]] * (2 if m[1] == "double" else 3)), text)
    text = re.sub(r"\b\d+/\d+/\d+\b", " date ", text)  # day or month first: cannot be told
    text = re.sub(r"(?<=\d)\s*%", " percent ", text)
    text = re.sub(
        r"(?<=\d)\s?(?!am\b|pm\b|st\b|nd\b|rd\b|th\b)([a-z]{1,4})\b", lambda m: " " + _UNITS.get(m[1], m[1]), text
    )
    text = re.sub(r"\b(\w*(?:met|lit))res?\b", r"\1ers", text)  # centimetre
    text = re.sub(r"\bper cent\b", "percent", text)
    text = re.sub(r"(?<=\d)\s*°\s?c\b", " degrees celsius ", text)
    text = re.sub(r"(?<=\d)\s*°\s?f\b", " degrees fahrenheit ", text)
    text = re.sub(r"(?<=\d)\s*°", " degrees ", text)
    text = re.sub(r"(?<=[^\W\d_])-(?=[^\W\d_])", " ", text)  # forty-two
    text = re.sub(r"(?<=\d)-(?=[\d^\W_])", " ", text)  # 555-0142
    pieces = [m for m in _PIECE.finditer(text) if articles or m.group() not in _ARTICLES or _half(m)]
    read = _counted(pieces)
    return _cents(_clock_phrases(read if articles else [t for t in read if t.value not in _ARTICLES]))


def _half(match: re.Match[str]) -> bool:
    """Whether an article belongs to a fraction: ``a half``, ``a quarter``."""
    return match.group() == "a" and _PART_FOLLOWS.match(match.string, match.end()) is not None


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending, kept in (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word.removesuffix(ending) + kept
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _word(value: str) -> Token:
    return Token(TokenKind.word, value)


def _number(value: Fraction, written: str = "") -> Token:
    return Token(TokenKind.number, value, written)


def _time(hours: int, minutes: int) -> Token:
    half = "pm" if 13 <= hours <= 23 else ""
    return Token(TokenKind.time, Fraction((hours * 60 + minutes) % (24 * 60)), half)


def _counted(pieces: Sequence[re.Match[str]]) -> list[Token]:
    """Read digits, number words, fractions and signs; other words stay."""
    out: list[Token] = []
    texts = [m.group() for m in pieces]
    kinds = [m.lastgroup for m in pieces]
    i = 0
    while i < len(pieces):
        run = _run_end(texts, i)
        if run > i:
            found = [_number(Fraction(n)) for n in _number_words([t for t in texts[i:run] if t != "and"])]
            out += [replace(found[0], apart=_apart(pieces[i])), *found[1:]]
            i = _point(texts, kinds, run, out)
            i = _ordinal(texts, i, out)
            continue
        out.append(replace(_single(texts[i], str(kinds[i])), apart=_apart(pieces[i])))
        i += 1
    return _over(_fractions(_signs(_scaled(out))))


def _ordinal(texts: Sequence[str], at: int, out: list[Token]) -> int:
    """Join ``twenty`` and ``first``; return where to go on."""
    value = _ORDINALS.get(texts[at], 0) if at < len(texts) and texts[at - 1] != "point" else 0
    last = out[-1].value
    tens = isinstance(last, Fraction) and last.denominator == 1 and (last % 100 >= 20 or last % 100 == 0)
    if not (tens and isinstance(last, Fraction) and last % 10 == 0 and 0 < value < 10 and last > 0):
        return at
    out[-1] = replace(out[-1], kind=TokenKind.ordinal, value=last + value)
    return at + 1


def _scaled(found: Sequence[Token]) -> list[Token]:
    """Read ``1.2 million``."""
    out: list[Token] = []
    for token in found:
        scale = _SCALES.get(str(token.value)) if token.kind is TokenKind.word else None
        if scale and out and out[-1].kind is TokenKind.number:
            out[-1] = replace(out[-1], value=Fraction(out[-1].value) * scale, written="")
        else:
            out.append(token)
    return out


def _over(found: Sequence[Token]) -> list[Token]:
    """Read ``one over five`` and ``2 1/2``."""
    out: list[Token] = []
    for token in found:
        number = token.kind is TokenKind.number
        two = len(out) > 1 and out[-1].value == "over" and out[-2].kind is TokenKind.number
        if number and two and token.value:
            out[-2:] = [replace(out[-2], value=Fraction(out[-2].value) / Fraction(token.value), written="")]
        elif number and token.written == "/" and out and out[-1].kind is TokenKind.number and out[-1].written.isdigit():
            out[-1] = replace(out[-1], value=Fraction(out[-1].value) + Fraction(token.value), written="")
        else:
            out.append(token)
    return [replace(token, written="") if token.written == "/" else token for token in out]


def _apart(piece: re.Match[str]) -> bool:
    before = re.sub(r"\b(?:a|an|the)\s*$", "", piece.string[: piece.start()])
    return before.rstrip(" \"'(").endswith((",", ".", "!", "?", ";", ":"))


def _single(text: str, kind: str) -> Token:
    if kind == "clock":
        hours, minutes = map(int, text.split(":"))
        return _time(hours, minutes) if minutes < 60 else _word(text)
    if kind == "fraction":
        value = Fraction(text)
        return _number(value, "/" if value < 1 else "")
    if kind == "ordinal":
        return Token(TokenKind.ordinal, Fraction(int(text[:-2])))
    if kind == "number":
        return _number(Fraction(text), text)
    if text in _ORDINALS:
        return Token(TokenKind.ordinal, Fraction(_ORDINALS[text]))
    return _word("minus" if kind == "minus" else text)


def _run_end(texts: Sequence[str], start: int) -> int:
    """Return where the number words that begin at ``start`` end; ``start`` itself where there is none."""
    end = start
    while end < len(texts) and (texts[end] in _SMALL or texts[end] in _SCALES or _joins(texts, start, end)):
        end += 1
    return end if any(t in _SMALL for t in texts[start:end]) else start


def _joins(texts: Sequence[str], start: int, at: int) -> bool:
    """Whether ``and`` stands inside a number: ``two hundred and five``."""
    following = texts[at + 1] if at + 1 < len(texts) else ""
    return texts[at] == "and" and at > start and texts[at - 1] in _SCALES and following in _SMALL


def _number_words(run: Sequence[str]) -> list[int]:
    """Read number words: ``[forty, two]`` is 42, ``[nineteen, forty, five]`` is 1945, ``[four, five]`` is 4 and 5."""
    out: list[int] = []
    total, group, last = 0, -1, ""
    for word in run:
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100:
                group = max(group, 1) * 100
            else:
                total, group = total + max(group, 1) * scale, -1
        elif group < 0:
            group = _SMALL[word]
        elif last == "hundred" or (_SMALL.get(last, 0) >= 20 and 0 < _SMALL[word] < 10):
            group += _SMALL[word]
        elif 10 <= group <= 20 and _SMALL[word] >= 10 and not total:
            group = group * 100 + _SMALL[word]  # a year
        else:
            out.append(total + group)
            total, group = 0, _SMALL[word]
        last = word
    return [*out, total + max(group, 0)]


def _point(texts: Sequence[str], kinds: Sequence[str | None], at: int, out: list[Token]) -> int:
    """Join ``three point one four`` to the number before it; return where to go on."""
    if at + 1 >= len(texts) or texts[at] != "point" or texts[at + 1] not in _SMALL:
        return at
    end = at + 1
    while end < len(texts) and kinds[end] == "word" and _SMALL.get(texts[end], 10) < 10:
        end += 1
    decimals = "".join(str(_SMALL[t]) for t in texts[at + 1 : end])
    out[-1] = _number(Fraction(f"{out[-1].value}.{decimals}")) if decimals else out[-1]
    return end if decimals else at


def _signs(found: Sequence[Token]) -> list[Token]:
    out: list[Token] = []
    for token in found:
        signed = token.kind is TokenKind.number and out and out[-1].value in ("minus", "negative")
        before = out[-2].kind if signed and len(out) > 1 else None
        if signed and before is not TokenKind.number:  # five minus three stays what it is
            out[-1] = _number(-Fraction(token.value))
        else:
            out.append(token)
    return out


def _fractions(found: Sequence[Token]) -> list[Token]:
    """Read ``one half``, ``three quarters``, ``a third`` and ``two and a half``."""
    out: list[Token] = []
    for token in found:
        part = _PARTS.get(str(token.value)) if token.kind is TokenKind.word else None
        if token.kind is TokenKind.ordinal and 3 <= int(token.value) <= 20:
            part = int(token.value)
        last = out[-1] if out else None
        over = Fraction(last.value) if part and last and last.kind is TokenKind.number else None
        if part and last is not None and last.value == "a":
            out[-1] = _number(Fraction(1, part))
        elif (
            part
            and over is not None
            and over.denominator == 1
            and over > 0
            and (over < part or token.kind is TokenKind.word)
        ):
            out[-1] = _number(over / part)
        elif part == 2 and token.value == "half":
            out.append(_number(Fraction(1, 2)))
            continue
        else:
            out.append(token)
            continue
        if len(out) > 2 and out[-2].value == "and" and out[-3].kind is TokenKind.number:  # two and a half
            out[-3:] = [_number(Fraction(out[-3].value) + Fraction(out[-1].value))]
    return out


def _clock_phrases(found: Sequence[Token]) -> list[Token]:
    """Read ``half past four``, ``ten to five``, ``4 pm``, ``five o'clock``, ``noon``."""
    out: list[Token] = []
    i = 0
    while i < len(found):
        made, used = _clock(found[i : i + 5])
        if made is None:
            out.append(found[i])
            i += 1
        else:
            out.append(made)
            i += used
        half = _part_of_day(found[i : i + 3]) if out[-1].kind is TokenKind.time else ""
        if half:
            out[-1] = _half_day(out[-1], half)
            i += 1 if found[i].value == half else len(found[i : i + 2])
    return out


def _clock(five: Sequence[Token]) -> tuple[Token | None, int]:
    first, second, third = (*five[:3], None, None)[:3]
    if first is None:
        return None, 0
    if second is not None and third is not None and second.value in ("minute", "minutes") and len(five) > 3:
        offset, hour = _minutes(first), _hour(five[3])
        if offset is not None and third.value in ("past", "to", "after", "before") and hour is not None and hour <= 12:
            later = third.value in ("past", "after")
            return _time(hour, offset) if later else _time((hour - 1) % 24, 60 - offset), 4
    if third is not None and second is not None and second.value in ("oh", "o") and len(five) > 3:
        hour, minutes = _hour(first), _minutes(third)
        if hour is not None and minutes is not None and minutes < 10 and _part_of_day(five[3:]):
            return _time(hour, minutes), 3
    if first.value in ("noon", "midday"):
        return Token(TokenKind.time, Fraction(12 * 60), "pm"), 1
    if first.value == "midnight":
        return Token(TokenKind.time, Fraction(0), "am"), 1
    hour = _hour(first)
    minutes = _minutes(second) if second is not None else None
    if hour is not None and hour <= 12 and minutes is not None and minutes >= 10 and _part_of_day(five[2:]):
        return _time(hour, minutes), 2
    spoken = second is not None and second.value not in ("am", "pm") and _part_of_day(five[1:4]) != ""
    if hour is not None and 1 <= hour <= 12 and spoken:  # eight in the morning
        return _time(hour, 0), 1
    if hour is not None and second is not None and second.value == "o'clock":
        return _time(hour, 0), 2
    if hour is not None and second is not None and second.value in ("am", "pm"):
        return _time(hour, 0), 1
    if hour is not None and second is not None and third is not None and third.value in ("am", "pm"):
        return (_time(hour, minutes), 2) if minutes is not None else (None, 0)
    if second is not None and third is not None and second.value in ("past", "to", "after", "before"):
        offset, hour = _offset(first), _hour(third)
        if offset is not None and hour is not None and 1 <= hour <= 12:
            later = second.value in ("past", "after")
            return _time(hour, offset) if later else _time(hour - 1, 60 - offset), 3
    return None, 0


def _hour(token: Token) -> int | None:
    whole = token.kind is TokenKind.number and Fraction(token.value).denominator == 1
    return int(token.value) if whole and 0 <= Fraction(token.value) <= 24 else None


def _minutes(token: Token) -> int | None:
    whole = token.kind is TokenKind.number and Fraction(token.value).denominator == 1
    return int(token.value) if whole and 0 <= Fraction(token.value) < 60 else None


def _offset(token: Token) -> int | None:
    if token.value == Fraction(1, 2):
        return 30
    if token.value in ("quarter", Fraction(1, 4)):
        return 15
    minutes = _minutes(token)
    return minutes if minutes in _FIVES else None


def _part_of_day(following: Sequence[Token]) -> str:
    """Return am or pm where what follows a time says so: ``pm``, ``in the morning``, ``at night``."""
    words = [str(token.value) for token in following]
    if words[:1] in (["am"], ["pm"]):
        return words[0]
    if words[:2] == ["in", "morning"]:
        return "am"
    return "pm" if words[:2] in (["in", "afternoon"], ["in", "evening"], ["at", "night"]) else ""


def _cents(found: Sequence[Token]) -> list[Token]:
    """Write cents as parts of a dollar, pence as parts of a pound."""
    out: list[Token] = []
    for token in found:
        whole = _HUNDREDTHS.get(str(token.value))
        if whole and out and out[-1].kind is TokenKind.number:
            out[-1] = _number(Fraction(out[-1].value) / 100)
            out.append(Token(TokenKind.word, whole, "cents"))
        else:
            out.append(token)
    return out


def _half_day(token: Token, half: str) -> Token:
    minutes = Fraction(token.value) % _HALF_DAY + (_HALF_DAY if half == "pm" else 0)
    return Token(TokenKind.time, minutes, half)
