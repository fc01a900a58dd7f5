"""The tables of a collection, for SQLite and PostgreSQL (SQLAlchemy Core).

All times are whole milliseconds since 1970 (UTC), by the server's clock. One database holds the CMOS and
the MOS study of a run, so that a person who takes part in both keeps one ``rater_id``. Who the person is
(panel id, age, gender) and the signing keys lie in a second database, :data:`PRIVATE`.

What is written where:

===================  =============================================================================
``studies``          one row a study (``cmos``, ``mos``): its settings as JSON and the design's hash
``questions``        the wording asked, versioned: a changed text is a new row, never an edit
``clips``            published audio: of a prompt (``config_id`` empty) or of a response
``tasks``            the frozen design: a pair, or one response (``b`` is NULL) in a MOS study
``raters``           a random id and a keyed hash of the outside identity
``enrolments``       how far a rater has come in a study, as times (NULL: not yet)
``assignments``      a task given to a rater: a lease until it is done, expired or withdrawn
``clip_links``       the opaque address of a clip in one assignment
``drafts``           answers before submission; of an expired assignment they stay as evidence
``ratings``          submitted answers, never changed
``rating_revisions`` corrections of ratings, each with its reason
``comments``         free text
``events``           what the page reported (play, ended, seek, late submits …), in order
``submissions``      what a submit was answered, for retries with the same key
``checks``           sound checks and outside checks: ``pass``, ``fail`` or ``unknown``
``webhooks``         ids of the panel's messages, so that one delivered twice counts once
===================  =============================================================================
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

__all__ = [
    "PRIVATE",
    "PUBLIC",
    "assignments",
    "checks",
    "clip_links",
    "clips",
    "comments",
    "drafts",
    "enrolments",
    "events",
    "keys",
    "people",
    "questions",
    "raters",
    "rating_revisions",
    "ratings",
    "studies",
    "submissions",
    "tasks",
    "webhooks",
]

_NAMES = {
    "ix": "ix_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}
PUBLIC = MetaData(naming_convention=_NAMES)
"""The study: pseudonymous."""
PRIVATE = MetaData(naming_convention=_NAMES)
"""Who the raters are, and the keys: a database of its own with its own access."""

_HOLDS = text("state IN ('leased', 'done')")
_LEASED = text("state = 'leased'")
_STUDY = String(8)


def _assignment() -> Column[int]:
    return Column("assignment_id", ForeignKey("assignments.assignment_id"), nullable=False)


studies = Table(
    "studies",
    PUBLIC,
    Column("study", _STUDY, primary_key=True),
    Column("settings", Text, nullable=False),
    Column("design_sha256", String(64), nullable=False),
    Column("created", BigInteger, nullable=False),
)

questions = Table(
    "questions",
    PUBLIC,
    Column("question_id", Integer, primary_key=True),
    Column("study", _STUDY, nullable=False),
    Column("rubric", String(64), nullable=False),
    Column("version", Integer, nullable=False),
    Column("text", Text, nullable=False),
    UniqueConstraint("study", "rubric", "version"),
)

clips = Table(
    "clips",
    PUBLIC,
    Column("clip_id", Integer, primary_key=True),
    Column("prompt_id", Text, nullable=False),
    Column("config_id", Text, nullable=False),
    Column("source_sha256", String(64), nullable=False),
    Column("file", Text, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("seconds", Float, nullable=False),
    UniqueConstraint("prompt_id", "config_id"),
)

tasks = Table(
    "tasks",
    PUBLIC,
    Column("study", _STUDY, primary_key=True),
    Column("task_id", Text, primary_key=True),
    Column("prompt_id", Text, nullable=False),
    Column("a", Text, nullable=False),
    Column("b", Text),
    Column("kind", String(8), nullable=False),
    Column("wave", Integer, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("left_is_a", Boolean, nullable=False),
    Column("stratum", Text, nullable=False),
    Column("gates", Text, nullable=False),  # JSON list of gated rubrics that apply to the prompt
    Column("taken", Integer, nullable=False, server_default="0"),  # live and done assignments
    Column("shuffle", Integer, nullable=False),  # the order of offering
    CheckConstraint("b IS NULL OR a < b OR kind = 'trap'", name="order"),
    CheckConstraint("taken >= 0", name="taken"),
    Index(None, "study", "kind", "taken", "shuffle"),
)

raters = Table(
    "raters",
    PUBLIC,
    Column("rater_id", String(32), primary_key=True),
    Column("identity_hash", String(64), nullable=False, unique=True),
    Column("source", String(16), nullable=False),  # link, open, prolific, simulated
    Column("kind", String(16), nullable=False),  # human, simulated
    Column("created", BigInteger, nullable=False),
)

enrolments = Table(
    "enrolments",
    PUBLIC,
    Column("rater_id", ForeignKey("raters.rater_id"), primary_key=True),
    Column("study", _STUDY, primary_key=True),
    Column("entered", BigInteger, nullable=False),
    Column("consented", BigInteger),
    Column("demographics", BigInteger),  # when the questions were passed, not what was answered
    Column("sound", BigInteger),
    Column("finished", BigInteger),
    Column("withdrawn", BigInteger),
)

assignments = Table(
    "assignments",
    PUBLIC,
    Column("assignment_id", Integer, primary_key=True),
    Column("token", String(43), nullable=False, unique=True),
    Column("study", _STUDY, nullable=False),
    Column("task_id", Text, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("rater_id", ForeignKey("raters.rater_id"), nullable=False),
    Column("slot", Integer, nullable=False),
    Column("left_is_a", Boolean, nullable=False),
    Column("state", String(10), nullable=False),
    Column("stage", SmallInteger, nullable=False, server_default="0"),  # 0 listening, then 1 + locked sections
    Column("lease_until", BigInteger, nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("first_play", BigInteger),
    Column("listened", BigInteger),
    Column("finished", BigInteger),
    CheckConstraint("state IN ('leased', 'done', 'expired', 'withdrawn')", name="state"),
    Index("uq_assignments_slot", "study", "task_id", "slot", unique=True, sqlite_where=_HOLDS, postgresql_where=_HOLDS),
    Index(
        "uq_assignments_pair_rater",
        *("study", "task_id", "rater_id"),
        unique=True,
        sqlite_where=_HOLDS,
        postgresql_where=_HOLDS,
    ),
    Index(
        "uq_assignments_one_lease",
        *("study", "rater_id"),
        unique=True,
        sqlite_where=_LEASED,
        postgresql_where=_LEASED,
    ),
    Index(None, "state", "lease_until"),
    Index(None, "rater_id", "study"),
)

clip_links = Table(
    "clip_links",
    PUBLIC,
    Column("link", String(43), primary_key=True),
    _assignment(),
    Column("part", String(8), nullable=False),  # prompt, left, right
    Column("clip_id", ForeignKey("clips.clip_id"), nullable=False),
    UniqueConstraint("assignment_id", "part"),
)

drafts = Table(
    "drafts",
    PUBLIC,
    Column("assignment_id", ForeignKey("assignments.assignment_id"), primary_key=True),
    Column("rubric", String(64), primary_key=True),
    Column("position", SmallInteger, nullable=False),
    Column("ms", Integer, nullable=False),
    Column("saved", BigInteger, nullable=False),
)

ratings = Table(
    "ratings",
    PUBLIC,
    Column("assignment_id", ForeignKey("assignments.assignment_id"), primary_key=True),
    Column("rubric", String(64), primary_key=True),
    Column("question_id", ForeignKey("questions.question_id"), nullable=False),
    Column("score", SmallInteger, nullable=False),  # CMOS: positive where a is preferred; MOS: 1..5
    Column("position", SmallInteger, nullable=False),  # what was clicked, 0 the leftmost
    Column("asked", SmallInteger, nullable=False),  # the place among the questions, from 0
    Column("ms", Integer, nullable=False),  # from the opening of the section to the answer
    CheckConstraint("score BETWEEN -3 AND 5", name="score"),
    CheckConstraint("position BETWEEN 0 AND 6", name="position"),
)

rating_revisions = Table(
    "rating_revisions",
    PUBLIC,
    Column("revision_id", Integer, primary_key=True),
    _assignment(),
    Column("rubric", String(64), nullable=False),
    Column("score", SmallInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
)

comments = Table(
    "comments",
    PUBLIC,
    Column("assignment_id", ForeignKey("assignments.assignment_id"), primary_key=True),
    Column("text", Text, nullable=False),
)

events = Table(
    "events",
    PUBLIC,
    Column("assignment_id", ForeignKey("assignments.assignment_id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("client_time", BigInteger, nullable=False),  # as the page says; never trusted
    Column("server_time", BigInteger, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("payload", Text, nullable=False),  # JSON
)

submissions = Table(
    "submissions",
    PUBLIC,
    Column("assignment_id", ForeignKey("assignments.assignment_id"), primary_key=True),
    Column("idempotency_key", String(128), nullable=False),
    Column("body_sha256", String(64), nullable=False),
    Column("response", Text, nullable=False),
    Column("received", BigInteger, nullable=False),
)

checks = Table(
    "checks",
    PUBLIC,
    Column("check_id", Integer, primary_key=True),
    Column("rater_id", ForeignKey("raters.rater_id"), nullable=False),
    Column("study", _STUDY, nullable=False),
    Column("name", String(32), nullable=False),  # sound, prolific
    Column("outcome", String(8), nullable=False),
    Column("detail", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    CheckConstraint("outcome IN ('pass', 'fail', 'unknown')", name="outcome"),
    Index(None, "study", "name", "made"),
)

webhooks = Table(
    "webhooks",
    PUBLIC,
    Column("event_id", String(128), primary_key=True),
    Column("received", BigInteger, nullable=False),
)

people = Table(
    "people",
    PRIVATE,
    Column("rater_id", String(32), primary_key=True),
    Column("identity", Text, nullable=False),  # the panel's id or the link's code
    Column("gender", String(32), nullable=False),  # empty: not said
    Column("age", SmallInteger),  # years
    Column("created", BigInteger, nullable=False),
    Column("delete_after", BigInteger, nullable=False),
    CheckConstraint("age IS NULL OR age BETWEEN 18 AND 120", name="age"),
)

keys = Table(
    "keys",
    PRIVATE,
    Column("name", String(32), primary_key=True),
    Column("value", Text, nullable=False),
)
