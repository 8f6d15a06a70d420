"""Sessions at other prices than their model's: price lists, which sessions share.

After a downgrade sessions that have a price list go on at their model's prices.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "price_lists",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("model_id", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_price_lists_model_id_models")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price_lists")),
        sa.UniqueConstraint("model_id", "digest", name=op.f("uq_price_lists_model_id")),
    )
    # Alembic has no column with a foreign key for SQLite but in a new table.
    op.execute(
        "ALTER TABLE sessions ADD COLUMN price_list_id VARCHAR(40) "
        "CONSTRAINT fk_sessions_price_list_id_price_lists REFERENCES price_lists (id)"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE sessions DROP COLUMN price_list_id")
    op.drop_table("price_lists")
