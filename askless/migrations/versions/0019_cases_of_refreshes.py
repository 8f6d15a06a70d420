"""From when on the cases in a refresh's table became known."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("challenges", sa.Column("cases_since", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("challenges", "cases_since")
