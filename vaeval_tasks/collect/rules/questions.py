"""What is asked, in which order, with which words; and how a click becomes a score."""

from __future__ import annotations

import json
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks import rubrics
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.rubrics import GATED, Section
from vaeval_tasks.store.schema import CMOS_MAX, StudyKind

__all__ = ["CMOS_STEPS", "MOS_STEPS", "Part", "asked", "question_ids", "score", "sections", "steps", "wording"]

CMOS_STEPS = (
    "A much better",
    "A better",
    "A slightly better",
    "About the same",
    "B slightly better",
    "B better",
    "B much better",
)
"""The seven steps from left to right. On the screen A is the left response, whichever configuration that is."""

MOS_STEPS = ("Bad", "Poor", "Fair", "Good", "Excellent")
"""The five steps of ITU-T P.800, here from worst to best."""

_ORDER: dict[Section, tuple[str, ...]] = {
    Section.content: ("response_quality", "instruction_following", "reasoning", "conversational_register"),
    Section.acoustic: (
        "perceived_audio_quality",
        "naturalness",
        "pleasantness",
        "pronunciation_accuracy",
        "voice_consistency",
    ),
    Section.interaction: ("emotional_appropriateness", "engagement"),
    Section.overall: ("overall",),
}
# The order inside a section is that of Table 4 of DAI-S2S-ST.

_MOS_WORDING = {
    # The published study does not print its MOS questions; these are ours, one for each of its CMOS questions.
    "overall": "Overall, how good is this response?",
    "conversational_register": "How well did the response use natural, spoken-conversation language, rather than "
    "sounding like written text being read aloud?",
    "engagement": "How engaging was the response?",
    "emotional_appropriateness": "How well did the response’s emotional tone suit the user’s emotional state and the "
    "situation?",
    "naturalness": "How much did the response’s delivery sound like a natural speaker?",
    "pleasantness": "How pleasant was the response to listen to?",
    "response_quality": "How helpful was the response in achieving what the user was trying to accomplish?",
    "instruction_following": "How closely did the response follow the specific instructions or constraints?",
    "reasoning": "How correct and logically sound was the response’s reasoning — when explaining its thinking or "
    "answering a question requiring judgment?",
    "perceived_audio_quality": "How good was the response’s audio quality?",
    "pronunciation_accuracy": "How accurate was the response’s pronunciation?",
    "voice_consistency": "How consistent was the response’s voice throughout (no noticeable change in character, "
    "timbre, or quality over time)?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One section of a task: its title and the rubric keys asked in it, in order."""

    title: str
    keys: tuple[str, ...]


def sections(gates: frozenset[str], overall: str) -> tuple[Part, ...]:
    """Return the sections of a task in order, with only the gated questions that apply.

    Args:
        gates: keys of the gated rubrics that apply to the prompt.
        overall: ``first`` or ``last``, the place of the overall question.
    """
    order = [Section.content, Section.acoustic, Section.interaction]
    order.insert(0 if overall == "first" else len(order), Section.overall)
    return tuple(
        Part(title=section.value, keys=tuple(k for k in _ORDER[section] if k not in GATED or k in gates))
        for section in order
    )


def asked(gates: frozenset[str], overall: str) -> tuple[str, ...]:
    """Return the keys of all questions of a task, in the order they are asked."""
    return tuple(key for part in sections(gates, overall) for key in part.keys)


def steps(study: StudyKind) -> tuple[str, ...]:
    """Return the labels of the answer steps, from left to right."""
    return CMOS_STEPS if study is StudyKind.cmos else MOS_STEPS


def wording(study: StudyKind, key: str) -> str:
    """Return the question as it is put to the rater."""
    return rubrics.rubric(key).text if study is StudyKind.cmos else _MOS_WORDING[key]


def score(study: StudyKind, position: int, *, left_is_a: bool) -> int:
    """Turn the step that was clicked into a score.

    CMOS: the leftmost step (position 0) prefers the left response by 3, so ``3 - position`` is the preference
    for the left one; it is the score of ``a`` if ``a`` was on the left and its negative otherwise.
    MOS: ``1 + position``.
    """
    if study is StudyKind.mos:
        return position + 1
    left = CMOS_MAX - position
    return left if left_is_a else -left


def question_ids(connection: Connection, study: StudyKind) -> dict[str, int]:
    """Return the id of today's wording of every question; a wording that changed is added as a new version."""
    table = store.questions
    known = connection.execute(
        sa.select(table.c.question_id, table.c.rubric, table.c.version, table.c.text)
        .where(table.c.study == study)
        .order_by(table.c.version)
    ).all()
    newest = {row.rubric: row for row in known}
    ids = {}
    for key in rubrics.KEYS:
        text = wording(study, key)
        row = newest.get(key)
        if row is not None and row.text == text:
            ids[key] = row.question_id
            continue
        version = 1 if row is None else row.version + 1
        added = sa.insert(table).values(study=study, rubric=key, version=version, text=text)
        ids[key] = connection.execute(added.returning(table.c.question_id)).scalar_one()
    return ids


def gates_of(text: str) -> frozenset[str]:
    """Read the gates of a task as the tables keep them (a JSON list)."""
    return frozenset(json.loads(text))
