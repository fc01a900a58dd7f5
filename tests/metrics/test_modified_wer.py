import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.modified_wer import consistency, modified_wer, modified_wers


@pytest.mark.parametrize(
    ("n", "m", "value"),
    [
        # min < 10 and max > 10 -> 1; min < 10 and max <= 10 -> 0; else distance / max (here: all letters differ -> 1,
        # or the shorter is a prefix -> (max - min) / max)
        (9, 9, 0.0),
        (9, 10, 0.0),
        (9, 11, 1.0),
        (10, 9, 0.0),
        (10, 10, 0.0),
        (10, 11, 1 / 11),
        (11, 9, 1.0),
        (11, 10, 1 / 11),
        (11, 11, 0.0),
        (0, 0, 0.0),
        (0, 10, 0.0),
        (0, 11, 1.0),
        (10, 40, 30 / 40),
    ],
)
def test_prefixes_at_the_limits(n, m, value):
    text = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
    assert modified_wer(text[:n], text[:m]) == pytest.approx(value)


@pytest.mark.parametrize(("n", "m", "value"), [(9, 9, 0.0), (9, 10, 0.0), (10, 10, 1.0), (10, 11, 1.0), (11, 11, 1.0)])
def test_nothing_in_common(n, m, value):
    assert modified_wer("a" * n, "b" * m) == value


def test_case_and_white_space_do_not_count():
    assert modified_wer("The  Answer\tis\u00a0Paris", "the answer is paris") == 0.0


def test_white_space_does_not_lengthen_a_short_text():
    # 9 characters against 11: whatever the blanks
    assert modified_wer("a b c d e f g h i", "abcdefghijk") == 1.0


def test_one_substitution_of_twelve():
    assert modified_wer("hello worlds", "hallo worlds") == pytest.approx(1 / 11)  # 11 letters without the blank


@given(st.text(), st.text())
def test_stays_in_the_unit_interval_and_is_symmetric(a, b):
    value = modified_wer(a, b)
    assert 0.0 <= value <= 1.0
    assert value == modified_wer(b, a)


@given(st.text())
def test_a_text_agrees_with_itself(a):
    assert modified_wer(a, a) == 0.0


def test_consistency_is_100_times_one_minus_the_mean():
    assert consistency([0.0, 1.0, 0.2]) == pytest.approx(60.0)  # 100 * (1 - 1.2 / 3)
    assert consistency([]) is None


def test_lists_of_different_length_are_refused():
    with pytest.raises(InputError, match="2 predictions but 1 references"):
        modified_wers(["a", "b"], ["a"])
