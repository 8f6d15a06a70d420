"""Trainings of a model at the prices of a list, and the models that come of them.

A downgrade keeps these models as further versions of their name.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("trainings", "models"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN refit_of VARCHAR(40)")
        op.create_index(op.f(f"ix_{table}_refit_of"), table, ["refit_of"])
    op.execute("ALTER TABLE price_lists ADD COLUMN excuse VARCHAR(20)")
    op.execute("ALTER TABLE price_lists ADD COLUMN training_id VARCHAR(40)")
    with op.batch_alter_table("price_lists") as batch:
        batch.create_unique_constraint(
            op.f("uq_price_lists_training_id"), ["training_id"]
        )


def downgrade() -> None:
    with op.batch_alter_table("price_lists") as batch:
        batch.drop_constraint(op.f("uq_price_lists_training_id"), type_="unique")
    for column in ("training_id", "excuse"):
        op.execute(f"ALTER TABLE price_lists DROP COLUMN {column}")
    for table in ("trainings", "models"):
        op.drop_index(op.f(f"ix_{table}_refit_of"), table)
        op.execute(f"ALTER TABLE {table} DROP COLUMN refit_of")
