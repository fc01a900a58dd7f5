"""The 12 questions of the preference study, as data.

Source: DAI-S2S-ST, "Rubric questions" (text and family) and Table 4 (the section each is asked in).
Table 4 does not say where the overall question is asked; here it comes last, on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vaeval_tasks.errors import UnknownNameError

__all__ = [
    "BY_KEY",
    "FAMILIES",
    "GATED",
    "KEYS",
    "RUBRICS",
    "STUDY",
    "Family",
    "Questions",
    "Rubric",
    "Section",
    "family_of",
    "label_of",
    "rubric",
]


class Family(StrEnum):
    """The group a rubric belongs to in the analysis (found by clustering)."""

    overall = "Overall"
    humanness = "Humanness"
    technical_quality = "Technical Quality"


class Section(StrEnum):
    """The group a rubric is asked in during collection."""

    content = "Content Quality"
    acoustic = "Acoustic Quality"
    interaction = "Interaction Quality"
    overall = "Overall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """One question of the study."""

    key: str
    label: str
    text: str
    """The question on a pair (CMOS)."""
    family: str
    """The group in the analysis; one of :class:`Family` for the study's own, empty for none."""
    section: str
    """The group during collection; one of :class:`Section` for the study's own."""
    gated: bool = False
    """Whether it is asked only on prompts it applies to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions that ratings may be of, in the order in which they are shown."""

    rubrics: tuple[Rubric, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The key of every question."""
        return tuple(one.key for one in self.rubrics)

    @property
    def families(self) -> tuple[str, ...]:
        """The groups, in the order of their first question."""
        return tuple(dict.fromkeys(str(one.family) for one in self.rubrics if one.family))

    def get(self, name: str) -> Rubric | None:
        """Return the question of that key or label."""
        wanted = name.lower()
        return next((r for r in self.rubrics if name == r.key), None) or next(
            (r for r in self.rubrics if wanted == r.label.lower()), None
        )

    def family_of(self, key: str) -> str:
        """Return the group of a question, empty where it has none or is none of these."""
        return next((str(one.family) for one in self.rubrics if one.key == key), "")

    def label_of(self, key: str) -> str:
        """Return how a question is called to readers; one that is none of these goes by its key."""
        return next((one.label for one in self.rubrics if one.key == key), key)


def _r(key: str, label: str, text: str, family: Family, section: Section, *, gated: bool = False) -> Rubric:
    return Rubric(key=key, label=label, text=text, family=family, section=section, gated=gated)


_H, _T = Family.humanness, Family.technical_quality

RUBRICS: tuple[Rubric, ...] = (
    _r("overall", "Overall preference", "Overall, which response do you prefer?", Family.overall, Section.overall),
    _r(
        "conversational_register",
        "Conversational register",
        "Which response used more natural, spoken-conversation language, rather than sounding like written text being "
        "read aloud?",
        _H,
        Section.content,
    ),
    _r("engagement", "Engagement", "Which response was more engaging?", _H, Section.interaction),
    _r(
        "emotional_appropriateness",
        "Emotional appropriateness",
        "Which response’s emotional tone responded more appropriately to the user’s emotional state and the situation?",
        _H,
        Section.interaction,
        gated=True,
    ),
    _r(
        "naturalness",
        "Naturalness",
        "Which response’s delivery sounded more like a natural speaker?",
        _H,
        Section.acoustic,
    ),
    _r("pleasantness", "Pleasantness", "Which response was more pleasant to listen to?", _H, Section.acoustic),
    _r(
        "response_quality",
        "Response quality",
        "Which response was more helpful in achieving what the user was trying to accomplish?",
        _T,
        Section.content,
    ),
    _r(
        "instruction_following",
        "Instruction following",
        "Which response followed the specific instructions or constraints more closely?",
        _T,
        Section.content,
        gated=True,
    ),
    _r(
        "reasoning",
        "Reasoning",
        "Which response’s reasoning — when explaining its thinking or answering a question requiring judgment — was "
        "more correct and logically sound?",
        _T,
        Section.content,
        gated=True,
    ),
    _r(
        "perceived_audio_quality",
        "Perceived audio quality",
        "Which response had better audio quality?",
        _T,
        Section.acoustic,
    ),
    _r(
        "pronunciation_accuracy",
        "Pronunciation accuracy",
        "Which response had more accurate pronunciation?",
        _T,
        Section.acoustic,
    ),
    _r(
        "voice_consistency",
        "Voice consistency",
        "Which response kept a more consistent voice throughout (less noticeable change in character, timbre, or "
        "quality over time)?",
        _T,
        Section.acoustic,
    ),
)

KEYS: tuple[str, ...] = tuple(r.key for r in RUBRICS)
GATED: tuple[str, ...] = tuple(r.key for r in RUBRICS if r.gated)
FAMILIES: tuple[Family, ...] = tuple(Family)
BY_KEY: dict[str, Rubric] = {r.key: r for r in RUBRICS}
STUDY = Questions(rubrics=RUBRICS)


def family_of(key: str) -> str:
    """Return the name of a rubric's family, empty for a rubric that is not of the study."""
    return STUDY.family_of(key)


def label_of(key: str) -> str:
    """Return how a rubric is called to readers; one that is not of the study goes by its key."""
    return STUDY.label_of(key)


def rubric(key: str) -> Rubric:
    """Return the rubric of that key.

    Raises:
        UnknownNameError: there is none.
    """
    if key not in BY_KEY:
        raise UnknownNameError("rubric", key, KEYS)
    return BY_KEY[key]
