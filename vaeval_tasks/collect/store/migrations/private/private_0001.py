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
        "keys",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_keys")),
    )
    op.create_table(
        "people",
        sa.Column("rater_id", sa.String(length=32), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("gender", sa.String(length=32), nullable=False),
        sa.Column("age", sa.SmallInteger(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("delete_after", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("age IS NULL OR age BETWEEN 18 AND 120", name=op.f("ck_people_age")),
        sa.PrimaryKeyConstraint("rater_id", name=op.f("pk_people")),
    )


def downgrade() -> None:
    """Refuse: nothing would be left."""
    raise InputError("the first revision cannot be undone: it would delete every rating; keep the database")
