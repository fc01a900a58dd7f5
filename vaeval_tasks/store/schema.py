"""The records that cross between the stages: what one row of each table means.

Signs: a pair is (prompt, a, b) with ``a < b`` as strings. A CMOS score is positive when ``a`` is
preferred, from -3 to +3, and 0 is a tie. What the rater clicked (left or right) is stored beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from vaeval_tasks.audio import audible
from vaeval_tasks.errors import InputError

__all__ = [
    "CHECK_PREFIX",
    "CMOS_MAX",
    "MOS_LEVELS",
    "Assignment",
    "AssignmentState",
    "CheckDecides",
    "CheckOutcome",
    "Comment",
    "Condition",
    "Event",
    "Item",
    "ModelConfig",
    "MosRating",
    "Pair",
    "PairKind",
    "Prompt",
    "QualityCheck",
    "Rater",
    "RaterKind",
    "Rating",
    "Response",
    "ResponseStatus",
    "Score",
    "SpeechPace",
    "StudyKind",
    "slug",
]

CHECK_PREFIX = "check/"
"""Configurations with this prefix are worse copies: no pair of the study proper holds one."""

CMOS_MAX = 3
MOS_LEVELS = (1, 2, 3, 4, 5)


@lru_cache(maxsize=4096)
def slug(text: str) -> str:
    """Return ``text`` in lower case with everything but letters, digits and dots as single hyphens."""
    kept = "".join(c if c.isalnum() or c == "." else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)


class Condition(StrEnum):
    """The acoustic condition a prompt was recorded in; all but ``clean`` count as degraded."""

    clean = "clean"
    indoor = "indoor"
    outdoor = "outdoor"
    far_field = "far_field"


class ResponseStatus(StrEnum):
    """What became of a request. A failed response is counted and shown, never dropped."""

    ok = "ok"
    empty = "empty"
    timeout = "timeout"
    refused = "refused"
    degenerate = "degenerate"
    error = "error"
    unsupported = "unsupported"
    """The model cannot take such a request: images, for one that does not see. It gets no score, not 0."""

    @property
    def failed(self) -> bool:
        """Whether no answer came, so that the request may be made again; every other status is an answer."""
        return self in (ResponseStatus.error, ResponseStatus.timeout)


class SpeechPace(StrEnum):
    """How the user's speech went to the model."""

    whole = "whole"
    """As fast as the network took it: what can be worked out while somebody speaks is waited for after it."""
    spoken = "spoken"
    """At the pace it was spoken, as to a listener."""


class PairKind(StrEnum):
    """Why a pair is shown. Only ``main`` pairs enter a fit."""

    main = "main"
    repeat = "repeat"
    trap = "trap"
    gold = "gold"
    train = "train"


class StudyKind(StrEnum):
    """What raters answer in a study: which of two responses is better, and how much, or how good one response is."""

    cmos = "cmos"
    mos = "mos"


class AssignmentState(StrEnum):
    """What became of an assignment. Only ``leased`` and ``done`` hold a slot."""

    leased = "leased"
    done = "done"
    expired = "expired"
    withdrawn = "withdrawn"


class RaterKind(StrEnum):
    """Who gave an answer. The kinds are never mixed in one fit."""

    human = "human"
    simulated = "simulated"
    """A program that clicks as a rater would, to rehearse a study."""
    judge = "judge"
    """A model that rates pairs (:mod:`vaeval_tasks.judging`)."""


class CheckOutcome(StrEnum):
    """The result of a check of a rater."""

    passed = "pass"
    failed = "fail"
    unknown = "unknown"
    """There is too little to tell, or the checker itself failed, which is never the rater's fault."""


class CheckDecides(StrEnum):
    """What a check decides about a rater's answers."""

    accept = "accept"
    """Payment, and with it the use in the analysis."""
    use = "use"
    """The use in the analysis only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One recorded prompt of the study."""

    prompt_id: str
    category: str
    """The objective category, a free label of the manifest."""
    difficulty: str
    """``L1`` (easiest) to ``L5``, or empty for a degraded prompt without a level."""
    condition: Condition = Condition.clean
    gates: tuple[str, ...] = ()
    """Keys of the gated rubrics that apply to this prompt."""
    script: str = ""
    """What the contributor was asked to say."""
    path: str = ""
    """The WAV, relative to the run folder."""
    sha256: str = ""
    sampling_rate: int = 0
    """Hz."""
    seconds: float = 0.0
    public: bool = False
    """Whether the board may play this prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """One model configuration: (model, thinking, voice) and how it is asked."""

    model: str
    """The name shown on the board, such as ``GPT-Realtime 2.1``."""
    provider: str
    """The adapter that speaks to it, such as ``openai_realtime``."""
    thinking: str = "default"
    voice: str = "default"
    voice_gender: str = ""
    system_prompt: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    """Every parameter that goes on the wire, in the provider's own words."""
    connection: dict[str, Any] = field(default_factory=dict)
    """How the provider is reached (address, time limits, sessions at once); never a key."""

    @property
    def config_id(self) -> str:
        """``model/thinking/voice``, each part as a slug."""
        return "/".join(slug(part) for part in (self.model, self.thinking, self.voice))


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One document of an evaluation-harness task: what was asked and how it is judged."""

    item_id: str
    task: str
    question: str = ""
    """The transcript of what the user said (all turns, one a line)."""
    references: tuple[str, ...] = ()
    system_prompt: str = ""
    role_audio: str = ""
    """The voice to imitate (role-play), a path."""
    user_emotion: str = ""
    audio: tuple[str, ...] = ()
    """Every clip the model was played, in order."""
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One answer of one configuration to one prompt or item."""

    response_id: str
    prompt_id: str
    """The ``prompt_id`` of a study or the ``item_id`` of a harness task."""
    config_id: str
    status: ResponseStatus
    text: str = ""
    """The response's own text: what the model says it said."""
    path: str = ""
    """The final audio (WAV), relative to the run folder; empty where there is none."""
    sha256: str = ""
    sampling_rate: int = 0
    """Hz."""
    seconds: float = 0.0
    task: str = ""
    """The harness task, empty in a study."""
    turn_texts: tuple[str, ...] = ()
    """The answers to every turn of a dialogue, the last one included."""
    turn: int = 0
    """Of a dialogue the user turn, from 1, that was asked last; 0 where there is only one."""
    provisional_path: str = ""
    input_transcript: str = ""
    output_transcript: str = ""
    thoughts: str = ""
    first_audio_s: float | None = None
    """Seconds from the end of the user's speech as it was sent to the first audible sample of the answer, as who plays
    the answer from its first byte on would hear it."""
    first_byte_s: float | None = None
    """Seconds from the same moment to the first byte of the answer's audio."""
    speech_pace: str = ""
    """How the user's speech was sent (``SpeechPace``): latencies compare only where this agrees."""
    total_s: float | None = None
    attempts: int = 1
    error: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    request: dict[str, Any] = field(default_factory=dict)
    """The exact request, with audio replaced by its length and hash and without keys."""
    events_path: str = ""
    """The log that holds everything sent and received, in the line of this ``response_id`` and attempt."""
    created: str = ""
    """UTC, ISO 8601."""

    def sound(self, root: Path) -> Path | None:
        """Return the file of the response's sound, None where there is nothing to hear.

        A response is heard where its file is there and is not silent, whatever its status: what has sound is rated
        as it is, however bad. Without sound, raters, judges and scorers have nothing to go by. Who rates, judges or
        shows responses asks here and decides by nothing else.

        Args:
            root: the run folder.

        Raises:
            InputError: the file is not sound.
        """
        path = root / self.path
        return path if self.path and path.is_file() and audible(path) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One automatic score of one response. ``value`` is None where the response could not be scored."""

    response_id: str
    metric: str
    value: float | None
    signature: str
    """Backend, model, checksum and normaliser: two scores compare only where this agrees."""
    detail: str = ""
    """What was read: a transcript, a verdict, the reason of a missing value."""
    again: bool = False
    """Whether a missing value may be had another time: the scorer was not there, not asked, or too busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two configurations to be compared on one prompt."""

    pair_id: str
    prompt_id: str
    a: str
    b: str
    kind: PairKind = PairKind.main
    wave: int = 1
    slots: int = 2
    """How many raters are to answer it; 0 for a training pair, which every rater answers."""
    left_is_a: bool = True
    """The side of ``a`` in the first slot; the next slot shows the mirror image."""
    stratum: str = ""
    expect: tuple[str, ...] = ()
    """What an attentive rater answers to a trap or gold pair: ``rubric:low:high``, ``*`` for every rubric."""

    def __post_init__(self) -> None:
        if self.a > self.b or (self.a == self.b and self.kind is not PairKind.trap):
            raise InputError(
                f"pair {self.pair_id!r} must name two configurations with a < b, got {self.a!r}, {self.b!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One pair (or one response, in a MOS study) given to one rater."""

    assignment_id: str
    pair_id: str
    rater_id: str
    slot: int
    left_is_a: bool
    state: AssignmentState
    started: str = ""
    finished: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One answer to one rubric question on one pair; see the module for the sign."""

    prompt_id: str
    a: str
    b: str
    rater_id: str
    rubric: str
    score: int
    left_is_a: bool | None = None
    """None where the source did not keep the side."""
    assignment_id: str = ""
    use: bool = True
    """False where the quality rules exclude it; nothing is deleted."""
    kind: PairKind = PairKind.main


@dataclass(frozen=True, slots=True, kw_only=True)
class MosRating:
    """One answer to one rubric question on one response, 1 (bad) to 5 (excellent)."""

    prompt_id: str
    config_id: str
    rater_id: str
    rubric: str
    score: int
    assignment_id: str = ""
    use: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A rater's free text on one response (MOS) or one pair (CMOS)."""

    prompt_id: str
    config_id: str
    """The response's configuration; of a pair, ``a``."""
    rater_id: str
    text: str
    other_config_id: str = ""
    """Of a pair, ``b``."""
    assignment_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A pseudonymous rater. Age in years and gender are optional and kept apart from the ratings."""

    rater_id: str
    kind: RaterKind = RaterKind.human
    gender: str = ""
    age: int | None = None
    pools: tuple[str, ...] = ()
    """The collections the rater took part in: ``cmos``, ``mos``."""
    accepted: bool = True
    """Whether the rater passed the checks that payment depends on."""
    use: bool = True
    """Whether the rater's answers enter the analysis; never true of one who is not accepted."""
    reasons: tuple[str, ...] = ()
    """The rules that were not passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened while a rater had an assignment: a clip was played, a page was hidden."""

    assignment_id: str
    seq: int
    """The order within the assignment, from 1."""
    kind: str
    at: str
    """The server's time, UTC, ISO 8601."""
    client_ms: int
    """The page's own clock, in ms since its first event in the assignment; may lie."""
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityCheck:
    """The outcome of one quality rule for a rater or, with ``assignment_id``, for one assignment."""

    rater_id: str
    study: StudyKind
    rule: str
    outcome: CheckOutcome
    decides: CheckDecides
    detail: str
    rules_version: str
    assignment_id: str = ""
    value: float | None = None
    """What was measured."""
    limit: float | None = None
    """What it was held against."""
