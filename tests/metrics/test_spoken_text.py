"""Short answers as tokens, however they are spelt."""

from __future__ import annotations

from fractions import Fraction

import pytest

from vaeval_tasks.metrics.spoken_text import TokenKind, sentences, tokens


def told(text: str) -> str:
    def one(token):
        if token.kind is TokenKind.time:
            return f"{int(token.value) // 60}:{int(token.value) % 60:02d}"
        return str(token.value)

    return " ".join(map(one, tokens(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The forty-two cats", "42 cats"),
        ("1,000.0", "1000"),
        ("one hundred degrees", "100 degrees"),
        ("two thousand and twelve", "2012"),
        ("nineteen forty-five", "1945"),
        ("three hundred twenty one thousand and five", "321005"),
        ("two hundred million", "200000000"),
        ("four five six", "4 5 6"),
        ("five five five oh one four two", "5 5 5 oh 1 4 2"),
        ("salt and pepper", "salt and pepper"),
        ("50%", "50 percent"),
        ("$450", "450 dollars"),
        ("£2.50", "5/2 pounds"),
        ("Don’t!", "don't"),
        ("-3.50", "-7/2"),
        ("minus five", "-5"),
        ("five minus three", "5 minus 3"),
        ("three point one four", "157/50"),
        ("one half", "1/2"),
        ("½ cup", "1/2 cup"),
        ("a half", "1/2"),
        ("a quarter of it", "1/4 of it"),
        ("three quarters", "3/4"),
        ("two thirds", "2/3"),
        ("two and a half", "5/2"),
        ("the third", "3"),
        ("the 3rd", "3"),
        ("half past four", "4:30"),
        ("quarter to five", "4:45"),
        ("ten past six", "6:10"),
        ("4:30", "4:30"),
        ("4.30 p.m.", "16:30"),
        ("four thirty pm", "16:30"),
        ("5 PM", "17:00"),
        ("five o'clock", "5:00"),
        ("noon", "12:00"),
        ("ten to twenty", "10 to 20"),
        ("", ""),
    ],
)
def test_tokens(text, expected):
    assert told(text) == expected


def test_equal_meanings_are_equal_tokens():
    assert tokens("4:30")[0].same(tokens("16:30")[0])
    assert not tokens("4:30 am")[0].same(tokens("4:30 pm")[0])
    assert tokens("third")[0].same(tokens("3")[0])
    assert tokens("sirens")[0].same(tokens("siren")[0])
    assert not tokens("glass")[0].same(tokens("glas")[0])
    assert tokens("0.75")[0].value == Fraction(3, 4)


def test_a_point_in_an_abbreviation_ends_no_sentence():
    assert sentences("At 4 p.m. today. Then go!") == ["At 4 pm today.", "Then go!"]
