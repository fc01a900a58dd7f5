"""The panel's messages, so that one delivered twice counts once."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from vaeval_tasks.errors import InputError

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "webhooks",
        sa.Column("event_id", sa.String(length=128), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_webhooks")),
    )


def downgrade() -> None:
    """Undo, where nothing is lost."""
    if op.get_bind().execute(sa.text("SELECT count(*) FROM webhooks")).scalar():
        raise InputError("the table 'webhooks' is not empty: going back would lose it; keep this version")
    op.drop_table("webhooks")
