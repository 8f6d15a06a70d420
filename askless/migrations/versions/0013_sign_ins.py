"""Browsers that are signed in by a key: a cookie's digest, and until when."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["key_id"], ["keys.id"], name="fk_sign_ins_key_id_keys"
        ),
        sa.PrimaryKeyConstraint("digest", name="pk_sign_ins"),
    )
    op.create_index("ix_sign_ins_expires_at", "sign_ins", ["expires_at"])


def downgrade() -> None:
    op.drop_table("sign_ins")
