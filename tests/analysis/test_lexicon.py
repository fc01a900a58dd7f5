"""Themes in free text: terms, negation, the editable file."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaeval_tasks.analysis.comments.lexicon import DEFAULT, Lexicon, load_lexicon
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.simulate.comments import THEME_RATES


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon()


def found(lexicon: Lexicon, text: str) -> set[str]:
    return {t.key for t, has in zip(lexicon.themes, lexicon.mentions([text])[0], strict=True) if has}


def test_the_ten_published_themes_are_there(lexicon: Lexicon) -> None:
    assert [t.label for t in lexicon.themes] == [
        "Natural / human", "Robotic / monotone", "Warm / pleasant", "Helpful / informative", "Too long / verbose",
        "Pacing (fast / slow)", "Audio artifact", "Accent / mispronunciation", "Emotional / empathetic",
        "Breathy / breathing",
    ]  # fmt: skip
    assert [t.key for t in lexicon.themes] == list(THEME_RATES)


@pytest.mark.parametrize(
    ("text", "themes"),
    [
        ("It sounded natural, like a real person.", {"natural"}),
        ("Robotic and monotone", {"robotic"}),
        ("It sounded UNNATURAL.", {"robotic"}),
        ("A warm, friendly voice that helped; very informative", {"warm", "helpful"}),
        ("long-winded and way too long", {"verbose"}),
        ("It spoke too fast, with static and a strange accent", {"pacing", "artifact", "accent"}),
        ("She understood how I felt", {"empathetic"}),
        ("I could hear her breathing", {"breathy"}),
        ("flatter than a pancake", set()),
        ("a kindergarten teacher", set()),
        ("", set()),
    ],
)
def test_terms(text: str, themes: set[str], lexicon: Lexicon) -> None:
    assert found(lexicon, text) == themes


@pytest.mark.parametrize(
    ("text", "themes"),
    [
        ("It did not sound robotic.", set()),
        ("It didn't sound at all robotic", set()),
        ("It didn’t sound robotic", set()),
        ("No static, no glitches", set()),
        ("never too long", set()),
        ("Not bad. Robotic though.", {"robotic"}),
        ("It was not robotic but natural", {"natural"}),
        ("not only natural but warm", {"natural", "warm"}),
        ("no doubt helpful", {"helpful"}),
        ("Not the answer that I had been hoping for from a helpful assistant", {"helpful"}),
        ("robotic, not natural", {"robotic"}),
        ("It was not natural. Very natural pauses, though", {"natural"}),
        ("without any background noise", set()),
    ],
)
def test_negation(text: str, themes: set[str], lexicon: Lexicon) -> None:
    assert found(lexicon, text) == themes


def test_a_lexicon_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("negation: {reach: 1, negators: [kein]}\nthemes:\n  nett: {terms: ['freundlich*']}\n")
    mine = load_lexicon(path)
    assert found(mine, "sehr freundliche Stimme") == {"nett"}
    assert found(mine, "kein freundlicher Ton") == set()
    assert found(mine, "kein sehr freundlicher Ton") == {"nett"}
    assert mine.themes[0].label == "nett"


def test_special_characters_are_taken_literally(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("themes:\n  x: {terms: ['c++', 'a.b', '(sic)']}\n")
    mine = load_lexicon(path)
    assert found(mine, "I like c++ much") == {"x"}
    assert found(mine, "acb") == set()


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        ("themes: [1]", InputError, "must be a mapping"),
        ("themes: {}", InputError, "names no theme"),
        ("themes: {x: {terms: word}}", InputError, "must be a list of words"),
        ("themes: {x: {term: [word]}}", UnknownNameError, "Did you mean 'terms'"),
        ("negation: {reach: far}\nthemes: {x: {terms: [word]}}", InputError, "whole number of words"),
        ("themes: {x: [", InputError, "cannot be read as YAML"),
        ("- 1", InputError, "must be a mapping"),
    ],
)
def test_bad_lexicons(content: str, error: type[Exception], said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(error, match=said):
        load_lexicon(path)


def test_a_missing_lexicon() -> None:
    with pytest.raises(InputError, match="no such file"):
        load_lexicon(DEFAULT.with_name("none.yaml"))
