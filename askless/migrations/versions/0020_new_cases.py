"""New cases of models are found by indexes, however many old ones there are."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_outcomes_tenant_id", "outcomes", ["tenant_id", "at"])
    op.drop_index("ix_sessions_model_id", "sessions")
    op.create_index(
        "ix_sessions_model_id", "sessions", ["model_id", "state", "updated_at"]
    )


def downgrade() -> None:
    op.drop_index("ix_sessions_model_id", "sessions")
    op.create_index("ix_sessions_model_id", "sessions", ["model_id"])
    op.drop_index("ix_outcomes_tenant_id", "outcomes")
