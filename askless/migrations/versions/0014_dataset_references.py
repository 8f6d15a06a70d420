"""Datasets by reference: the address of a table, and its files as they were."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("url", sa.Text()))
    op.add_column("datasets", sa.Column("files", sa.JSON()))


def downgrade() -> None:
    # What older code would look for a blob of, and no training may wait for.
    op.execute("DELETE FROM datasets WHERE url IS NOT NULL")
    op.drop_column("datasets", "files")
    op.drop_column("datasets", "url")
