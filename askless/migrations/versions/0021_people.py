"""People who sign in at an identity provider have keys, which name who they are.

Without the column nobody is known any more: upgraded again, people get new keys, and
who was revoked must be revoked again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", sa.Column("subject", sa.String(600)))
    op.create_index("ix_keys_subject", "keys", ["tenant_id", "subject"], unique=True)


def downgrade() -> None:
    op.drop_index("ix_keys_subject", "keys")
    op.drop_column("keys", "subject")
