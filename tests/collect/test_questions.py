"""What is asked in which order, and how a click becomes a score."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks import rubrics
from vaeval_tasks.collect.rules import questions
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import open_database
from vaeval_tasks.store.schema import StudyKind

TABLE_4 = {  # DAI-S2S-ST, Table 4, in its own order
    "Content Quality": ("response_quality", "instruction_following", "reasoning", "conversational_register"),
    "Acoustic Quality": (
        "perceived_audio_quality",
        "naturalness",
        "pleasantness",
        "pronunciation_accuracy",
        "voice_consistency",
    ),
    "Interaction Quality": ("emotional_appropriateness", "engagement"),
}


@pytest.mark.parametrize("overall", ["first", "last"])
def test_the_sections_are_those_of_table_4(overall: str) -> None:
    parts = questions.sections(frozenset(rubrics.GATED), overall)
    asked = {part.title: part.keys for part in parts}
    assert {title: asked[title] for title in TABLE_4} == TABLE_4
    assert [part.title for part in parts].index("Overall") == (0 if overall == "first" else 3)
    assert sorted(questions.asked(frozenset(rubrics.GATED), overall)) == sorted(rubrics.KEYS)


@given(st.sets(st.sampled_from(rubrics.GATED)))
def test_gated_questions_are_asked_where_they_apply_and_no_others(gates: set[str]) -> None:
    asked = set(questions.asked(frozenset(gates), "last"))
    assert asked == {r.key for r in rubrics.RUBRICS if not r.gated or r.key in gates}
    for part in questions.sections(frozenset(gates), "last"):
        assert part.keys
        assert all(rubrics.rubric(key).section.value == part.title for key in part.keys)


@given(st.integers(0, 6), st.booleans())
def test_the_sign_of_a_score(position: int, left_is_a: bool) -> None:
    """Positive where a is preferred; mirroring the sides or the click turns it, and both together change nothing."""
    score = questions.score(StudyKind.cmos, position, left_is_a=left_is_a)
    assert -3 <= score <= 3
    assert questions.score(StudyKind.cmos, position, left_is_a=not left_is_a) == -score
    assert questions.score(StudyKind.cmos, 6 - position, left_is_a=not left_is_a) == score
    prefers_left = position < 3
    assert (score > 0) == (position != 3 and prefers_left == left_is_a)


def test_the_steps_are_words_without_numbers() -> None:
    assert len(questions.CMOS_STEPS) == 7
    assert questions.score(StudyKind.cmos, questions.CMOS_STEPS.index("A much better"), left_is_a=True) == 3
    assert questions.score(StudyKind.cmos, questions.CMOS_STEPS.index("About the same"), left_is_a=True) == 0
    assert [questions.score(StudyKind.mos, n, left_is_a=True) for n in range(5)] == [1, 2, 3, 4, 5]
    words = (*questions.CMOS_STEPS, *questions.MOS_STEPS)
    assert not any(c.isdigit() or c in "+-" for step in words for c in step)


def test_every_rubric_has_words_for_both_kinds_of_study() -> None:
    for key in rubrics.KEYS:
        assert questions.wording(StudyKind.cmos, key) == rubrics.rubric(key).text
        mos = questions.wording(StudyKind.mos, key)
        assert mos.endswith("?")
        assert "which response" not in mos.lower()


def test_a_changed_wording_is_a_new_version(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    database = open_database(tmp_path / "a.sqlite")
    with database.write() as connection:
        first = questions.question_ids(connection, StudyKind.mos)
        assert questions.question_ids(connection, StudyKind.mos) == first
        monkeypatch.setitem(questions._MOS_WORDING, "overall", "How good was it?")
        second = questions.question_ids(connection, StudyKind.mos)
        rows = connection.execute(
            sa.select(store.questions.c.version, store.questions.c.text).where(store.questions.c.rubric == "overall")
        ).all()
    assert {k for k in first if first[k] != second[k]} == {"overall"}
    assert rows == [(1, "Overall, how good is this response?"), (2, "How good was it?")]
