"""The first tables."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from vaeval_tasks.errors import InputError

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "clips",
        sa.Column("clip_id", sa.Integer(), nullable=False),
        sa.Column("prompt_id", sa.Text(), nullable=False),
        sa.Column("config_id", sa.Text(), nullable=False),
        sa.Column("source_sha256", sa.String(length=64), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("clip_id", name=op.f("pk_clips")),
        sa.UniqueConstraint("prompt_id", "config_id", name=op.f("uq_clips_prompt_id_config_id")),
    )
    op.create_table(
        "questions",
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("study", sa.String(length=8), nullable=False),
        sa.Column("rubric", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("question_id", name=op.f("pk_questions")),
        sa.UniqueConstraint("study", "rubric", "version", name=op.f("uq_questions_study_rubric_version")),
    )
    op.create_table(
        "raters",
        sa.Column("rater_id", sa.String(length=32), nullable=False),
        sa.Column("identity_hash", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("rater_id", name=op.f("pk_raters")),
        sa.UniqueConstraint("identity_hash", name=op.f("uq_raters_identity_hash")),
    )
    op.create_table(
        "studies",
        sa.Column("study", sa.String(length=8), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("design_sha256", sa.String(length=64), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("study", name=op.f("pk_studies")),
    )
    op.create_table(
        "tasks",
        sa.Column("study", sa.String(length=8), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("prompt_id", sa.Text(), nullable=False),
        sa.Column("a", sa.Text(), nullable=False),
        sa.Column("b", sa.Text(), nullable=True),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("left_is_a", sa.Boolean(), nullable=False),
        sa.Column("stratum", sa.Text(), nullable=False),
        sa.Column("gates", sa.Text(), nullable=False),
        sa.Column("taken", sa.Integer(), server_default="0", nullable=False),
        sa.Column("shuffle", sa.Integer(), nullable=False),
        sa.CheckConstraint("b IS NULL OR a < b OR kind = 'trap'", name=op.f("ck_tasks_order")),
        sa.CheckConstraint("taken >= 0", name=op.f("ck_tasks_taken")),
        sa.PrimaryKeyConstraint("study", "task_id", name=op.f("pk_tasks")),
    )
    with op.batch_alter_table("tasks", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_study_kind_taken_shuffle"), ["study", "kind", "taken", "shuffle"], unique=False
        )

    op.create_table(
        "assignments",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(length=43), nullable=False),
        sa.Column("study", sa.String(length=8), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("rater_id", sa.String(length=32), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("left_is_a", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("stage", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("first_play", sa.BigInteger(), nullable=True),
        sa.Column("listened", sa.BigInteger(), nullable=True),
        sa.Column("finished", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("state IN ('leased', 'done', 'expired', 'withdrawn')", name=op.f("ck_assignments_state")),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.rater_id"], name=op.f("fk_assignments_rater_id")),
        sa.PrimaryKeyConstraint("assignment_id", name=op.f("pk_assignments")),
        sa.UniqueConstraint("token", name=op.f("uq_assignments_token")),
    )
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_rater_id_study"), ["rater_id", "study"], unique=False)
        batch_op.create_index(batch_op.f("ix_state_lease_until"), ["state", "lease_until"], unique=False)
        batch_op.create_index(
            "uq_assignments_one_lease",
            ["study", "rater_id"],
            unique=True,
            sqlite_where=sa.text("state = 'leased'"),
            postgresql_where=sa.text("state = 'leased'"),
        )
        batch_op.create_index(
            "uq_assignments_pair_rater",
            ["study", "task_id", "rater_id"],
            unique=True,
            sqlite_where=sa.text("state IN ('leased', 'done')"),
            postgresql_where=sa.text("state IN ('leased', 'done')"),
        )
        batch_op.create_index(
            "uq_assignments_slot",
            ["study", "task_id", "slot"],
            unique=True,
            sqlite_where=sa.text("state IN ('leased', 'done')"),
            postgresql_where=sa.text("state IN ('leased', 'done')"),
        )

    op.create_table(
        "checks",
        sa.Column("check_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.String(length=32), nullable=False),
        sa.Column("study", sa.String(length=8), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("outcome", sa.String(length=8), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("outcome IN ('pass', 'fail', 'unknown')", name=op.f("ck_checks_outcome")),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.rater_id"], name=op.f("fk_checks_rater_id")),
        sa.PrimaryKeyConstraint("check_id", name=op.f("pk_checks")),
    )
    with op.batch_alter_table("checks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_study_name_made"), ["study", "name", "made"], unique=False)

    op.create_table(
        "enrolments",
        sa.Column("rater_id", sa.String(length=32), nullable=False),
        sa.Column("study", sa.String(length=8), nullable=False),
        sa.Column("entered", sa.BigInteger(), nullable=False),
        sa.Column("consented", sa.BigInteger(), nullable=True),
        sa.Column("demographics", sa.BigInteger(), nullable=True),
        sa.Column("sound", sa.BigInteger(), nullable=True),
        sa.Column("finished", sa.BigInteger(), nullable=True),
        sa.Column("withdrawn", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.rater_id"], name=op.f("fk_enrolments_rater_id")),
        sa.PrimaryKeyConstraint("rater_id", "study", name=op.f("pk_enrolments")),
    )
    op.create_table(
        "clip_links",
        sa.Column("link", sa.String(length=43), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("part", sa.String(length=8), nullable=False),
        sa.Column("clip_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.assignment_id"], name=op.f("fk_clip_links_assignment_id")
        ),
        sa.ForeignKeyConstraint(["clip_id"], ["clips.clip_id"], name=op.f("fk_clip_links_clip_id")),
        sa.PrimaryKeyConstraint("link", name=op.f("pk_clip_links")),
        sa.UniqueConstraint("assignment_id", "part", name=op.f("uq_clip_links_assignment_id_part")),
    )
    op.create_table(
        "comments",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.assignment_id"], name=op.f("fk_comments_assignment_id")
        ),
        sa.PrimaryKeyConstraint("assignment_id", name=op.f("pk_comments")),
    )
    op.create_table(
        "drafts",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("rubric", sa.String(length=64), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("ms", sa.Integer(), nullable=False),
        sa.Column("saved", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.assignment_id"], name=op.f("fk_drafts_assignment_id")),
        sa.PrimaryKeyConstraint("assignment_id", "rubric", name=op.f("pk_drafts")),
    )
    op.create_table(
        "events",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("client_time", sa.BigInteger(), nullable=False),
        sa.Column("server_time", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignments.assignment_id"], name=op.f("fk_events_assignment_id")),
        sa.PrimaryKeyConstraint("assignment_id", "seq", name=op.f("pk_events")),
    )
    op.create_table(
        "rating_revisions",
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("rubric", sa.String(length=64), nullable=False),
        sa.Column("score", sa.SmallInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.assignment_id"], name=op.f("fk_rating_revisions_assignment_id")
        ),
        sa.PrimaryKeyConstraint("revision_id", name=op.f("pk_rating_revisions")),
    )
    op.create_table(
        "ratings",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("rubric", sa.String(length=64), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("score", sa.SmallInteger(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("asked", sa.SmallInteger(), nullable=False),
        sa.Column("ms", sa.Integer(), nullable=False),
        sa.CheckConstraint("position BETWEEN 0 AND 6", name=op.f("ck_ratings_position")),
        sa.CheckConstraint("score BETWEEN -3 AND 5", name=op.f("ck_ratings_score")),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.assignment_id"], name=op.f("fk_ratings_assignment_id")
        ),
        sa.ForeignKeyConstraint(["question_id"], ["questions.question_id"], name=op.f("fk_ratings_question_id")),
        sa.PrimaryKeyConstraint("assignment_id", "rubric", name=op.f("pk_ratings")),
    )
    op.create_table(
        "submissions",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("idempotency_key", sa.String(length=128), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("response", sa.Text(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.assignment_id"], name=op.f("fk_submissions_assignment_id")
        ),
        sa.PrimaryKeyConstraint("assignment_id", name=op.f("pk_submissions")),
    )


def downgrade() -> None:
    """Refuse: nothing would be left."""
    raise InputError("the first revision cannot be undone: it would delete every rating; keep the database")
