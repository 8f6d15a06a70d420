"""Sessions have what their caller knows the case by, and are found by it."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("client_ref", sa.String(200), nullable=True))
    op.create_index(op.f("ix_sessions_client_ref"), "sessions", ["client_ref"])


def downgrade() -> None:
    op.drop_index(op.f("ix_sessions_client_ref"), "sessions")
    op.execute("ALTER TABLE sessions DROP COLUMN client_ref")
