"""Jobs that apply a model to a table, in the queue of the trainings.

Restart the workers first: one of before takes such a job for a training, and fails it.
A downgrade drops these jobs.
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE trainings ADD COLUMN kind VARCHAR(20) DEFAULT 'train' NOT NULL"
    )
    op.execute("ALTER TABLE trainings ADD COLUMN asked_model VARCHAR(40)")
    op.execute("ALTER TABLE trainings ADD COLUMN result JSON")


def downgrade() -> None:
    op.execute(
        "DELETE FROM training_events WHERE training_id IN "
        "(SELECT id FROM trainings WHERE kind <> 'train')"
    )
    op.execute("DELETE FROM trainings WHERE kind <> 'train'")
    for column in ("result", "asked_model", "kind"):
        op.execute(f"ALTER TABLE trainings DROP COLUMN {column}")
