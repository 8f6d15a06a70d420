"""Of the models of a name one may be the champion: what the bare name means."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

IS_CHAMPION = sa.text("is_champion")


def upgrade() -> None:
    wanted: dict[str, object] = sa.Column(
        "is_champion", sa.Boolean(), nullable=False, server_default=sa.false()
    )
    op.add_column("models", wanted)
    op.create_index(
        "uq_models_champion",
        "models",
        ["tenant_id", "name"],
        unique=True,
        sqlite_where=IS_CHAMPION,
        postgresql_where=IS_CHAMPION,
    )


def downgrade() -> None:
    op.drop_index("uq_models_champion", "models")
    op.execute("ALTER TABLE models DROP COLUMN is_champion")
