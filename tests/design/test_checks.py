"""Repeats, traps, gold and training."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaeval_tasks.design import DesignSettings, check_pairs, expectation, first_wave, repeat_pairs, training_pairs
from vaeval_tasks.design.expect import gold_from_file, wins
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.store.schema import PairKind, Prompt

NAMES = [f"m{i:02d}" for i in range(19)]


def test_repeats_are_three_percent_with_the_sides_swapped(published: list[Prompt]) -> None:
    main = first_wave(published, NAMES, DesignSettings())
    again = repeat_pairs(main, DesignSettings())
    assert len(again) == 246  # 0.03 x 8190 = 245.7
    sides = {(p.prompt_id, p.a, p.b): p.left_is_a for p in main}
    assert all(p.left_is_a != sides[p.prompt_id, p.a, p.b] for p in again)
    assert {p.kind for p in again} == {PairKind.repeat}
    assert len({p.prompt_id for p in again}) > 180  # spread over the set, not in a lump


def test_checks_are_one_in_twelve_of_three_kinds(published: list[Prompt]) -> None:
    main = first_wave(published, NAMES, DesignSettings())
    checks = check_pairs(main, published, NAMES, DesignSettings(), gold=True)
    assert len(checks.pairs) == 683  # 8190 / 12 = 682.5
    kinds = Counter(p.kind for p in checks.pairs)
    assert kinds == {PairKind.trap: 228, PairKind.gold: 455}
    assert len(checks.copies) == 455
    assert all(p.a == p.b and p.expect == ("*:-1:1",) for p in checks.pairs if p.kind is PairKind.trap)
    for pair, copy in zip((p for p in checks.pairs if p.kind is PairKind.gold), checks.copies, strict=True):
        assert {pair.a, pair.b} == {copy.config_id, copy.check_id}
        key, low, high = pair.expect[0].split(":")
        better_is_a = pair.a == copy.config_id
        assert (int(low), int(high)) == ((2, 3) if better_is_a else (-3, -2))
        assert key == ("perceived_audio_quality" if copy.worse == "noisy" else "response_quality")
        assert (copy.source_prompt_id == copy.prompt_id) == (copy.worse == "noisy")
    assert abs(Counter(p.left_is_a for p in checks.pairs)[True] - 341) <= 3
    by_config = Counter(p.a for p in checks.pairs if p.kind is PairKind.trap)
    assert len(by_config) == 19
    assert len({(p.prompt_id, p.a, p.b) for p in checks.pairs}) == 683


@given(k=st.integers(3, 30), n=st.integers(1, 60), every=st.integers(1, 30), gold=st.booleans())
@settings(max_examples=40, deadline=None)
def test_checks_never_repeat_a_clip_on_a_prompt(k: int, n: int, every: int, gold: bool) -> None:
    prompts = [Prompt(prompt_id=f"p{i}", category=f"c{i % 3}", difficulty="L1") for i in range(n)]
    names = [f"m{i:02d}" for i in range(k)]
    rules = DesignSettings(check_every=every)
    checks = check_pairs(first_wave(prompts, names, rules), prompts, names, rules, gold=gold)
    assert len({(p.prompt_id, p.a, p.b, p.kind) for p in checks.pairs}) == len(checks.pairs)
    assert {expectation(text).low for p in checks.pairs for text in p.expect} <= {-1, 2, -3}


def test_without_audio_every_check_is_a_trap_and_none_when_switched_off(published: list[Prompt]) -> None:
    main = first_wave(published, NAMES, DesignSettings())
    checks = check_pairs(main, published, NAMES, DesignSettings(), gold=False)
    assert {p.kind for p in checks.pairs} == {PairKind.trap}
    assert check_pairs(main, published, NAMES, DesignSettings(check_every=0), gold=True).pairs == ()


def test_training_spans_the_scale_and_the_set(published: list[Prompt]) -> None:
    training = training_pairs(published, NAMES, DesignSettings(), gold=True)
    assert [p.kind for p in training.pairs] == [PairKind.train] * 5
    assert {p.slots for p in training.pairs} == {0}
    assert [c.worse.value for c in training.copies] == ["noisy", "other-prompt"]
    assert len({p.stratum for p in training.pairs}) == 5
    assert training_pairs(published, NAMES, DesignSettings(training=0), gold=True).pairs == ()


def test_expectations() -> None:
    assert wins("a", "b", "reasoning") == "reasoning:2:3"
    assert wins("b", "a", "reasoning") == "reasoning:-3:-2"
    alike = expectation("*:-1:1")
    assert (alike.met("overall", 1), alike.met("overall", -2)) == (True, False)
    assert expectation("reasoning:2:3").met("overall", 3) is None


@pytest.mark.parametrize(
    "text", ["overall", "overall:1", "overall:2:1", "overall:a:b", "overall:-4:0", "overall:1:2:3"]
)
def test_a_malformed_expectation_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected rubric:low:high"):
        expectation(text)


def test_an_expectation_of_an_unknown_rubric_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'reasoning'"):
        expectation("reasonning:1:2")


PROMPTS = {"p1": Prompt(prompt_id="p1", category="c", difficulty="L1")}


def test_gold_of_a_file_is_put_into_the_pair_s_sign(tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    file.write_text("prompt_id,a,b,expect\np1,x,y,overall:2:3\np1,y,x,overall:2:3;reasoning:0:1\n")
    one, two = gold_from_file(file, PROMPTS, frozenset("xy"), slots=2, wave=1)
    assert (one.a, one.b, one.expect) == ("x", "y", ("overall:2:3",))
    # y wins by 2 or more, so x against y is -3..-2
    assert (two.a, two.b, two.expect) == ("x", "y", ("overall:-3:-2", "reasoning:-1:0"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("p2,x,y,overall:2:3", "row 1, field 'prompt_id': unknown prompt 'p2'"),
        ("p1,x,z,overall:2:3", "row 1, field 'b': unknown configuration 'z'"),
        ("p1,x,x,overall:2:3", "row 1, field 'b': a gold pair needs two"),
        ("p1,x,y,overall", "row 1, field 'expect': expected rubric:low:high"),
        ("p1,x,y,", "row 1, field 'expect': is blank"),
    ],
)
def test_wrong_gold_rows_name_their_place(tmp_path: Path, row: str, message: str) -> None:
    file = tmp_path / "gold.csv"
    file.write_text(f"prompt_id,a,b,expect\n{row}\n")
    with pytest.raises((InputError, UnknownNameError), match=message):
        gold_from_file(file, PROMPTS, frozenset("xy"), slots=2, wave=1)
