"""Models that went on learning: the model whose next version each one is.

Restart the workers first: one of before fails the jobs that learn. A downgrade drops
these jobs; what they made stays, as models without an origin.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("models", sa.Column("learnt_from", sa.String(40)))


def downgrade() -> None:
    op.execute(
        "DELETE FROM training_events WHERE training_id IN "
        "(SELECT id FROM trainings WHERE kind = 'learn')"
    )
    op.execute("DELETE FROM trainings WHERE kind = 'learn'")
    op.drop_column("models", "learnt_from")
