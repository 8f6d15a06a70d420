"""Workers are seen, and a schema says which code may work on it."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "schema_state",
        sa.Column("oldest_code", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("oldest_code", name=op.f("pk_schema_state")),
    )


def downgrade() -> None:
    op.drop_table("schema_state")
    op.drop_table("workers")
