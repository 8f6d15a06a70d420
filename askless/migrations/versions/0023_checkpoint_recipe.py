"""Say how the rounds of a checkpoint were grown.

Workers of older code read all checkpoints: stop them before this code trains.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("checkpoints", sa.Column("recipe", sa.String(64)))


def downgrade() -> None:
    op.drop_column("checkpoints", "recipe")
