"""An answer survives the harness as a string."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.answer import Answer


@given(st.builds(Answer, text=st.text(), audio=st.text(), response_id=st.text(), run=st.text()))
def test_round_trip(answer: Answer) -> None:
    assert Answer.decode(answer.encode()) == answer


@given(st.text())
def test_any_text_is_a_text_only_answer(text: str) -> None:
    assert Answer.decode(text) == Answer(text=text)


@pytest.mark.parametrize("text", ['{"answer": 4}', "{not json", "[1]", ' {"a": NaN}'])
def test_json_that_is_not_ours_is_text(text: str) -> None:
    assert Answer.decode(text).text == text


def test_other_versions_are_refused() -> None:
    with pytest.raises(InputError, match="not of version 1"):
        Answer.decode('{"vaeval_answer": 2}')
    with pytest.raises(InputError, match="cannot be read"):
        Answer.decode('{"vaeval_answer": 1, "colour": "red"}')
