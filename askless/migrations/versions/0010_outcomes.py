"""What came of a case, beside what was predicted for it."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "outcomes",
        sa.Column("session_id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), nullable=False, server_default="ten_default"
        ),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("predicted", sa.String(200), nullable=False),
        sa.Column("chances", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
            name=op.f("fk_outcomes_session_id_sessions"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_outcomes_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_outcomes")),
    )


def downgrade() -> None:
    op.drop_table("outcomes")
