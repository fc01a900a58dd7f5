"""An answer survives the harness as a string."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.answer import HarnessAnswer


@given(st.builds(HarnessAnswer, text=st.text(), audio=st.text(), response_id=st.text(), run=st.text()))
def test_round_trip(answer: HarnessAnswer) -> None:
    assert HarnessAnswer.decode(answer.encode()) == answer


@given(st.text())
def test_any_text_is_a_text_only_answer(text: str) -> None:
    assert HarnessAnswer.decode(text) == HarnessAnswer(text=text)


@pytest.mark.parametrize("text", ['{"answer": 4}', "{not json", "[1]", ' {"a": NaN}'])
def test_json_that_is_not_ours_is_text(text: str) -> None:
    assert HarnessAnswer.decode(text).text == text


def test_other_versions_are_refused() -> None:
    with pytest.raises(InputError, match="not of version 1"):
        HarnessAnswer.decode('{"vaeval_answer": 2}')
    with pytest.raises(InputError, match="cannot be read"):
        HarnessAnswer.decode('{"vaeval_answer": 1, "colour": "red"}')
