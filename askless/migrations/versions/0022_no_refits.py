"""No model is trained anew at the prices of a list any more.

Models that came of that stay, as versions of their name.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("price_lists") as batch:
        batch.drop_constraint(op.f("uq_price_lists_training_id"), type_="unique")
    for column in ("training_id", "excuse"):
        op.execute(f"ALTER TABLE price_lists DROP COLUMN {column}")
    for table in ("trainings", "models"):
        op.drop_index(op.f(f"ix_{table}_refit_of"), table)
        op.execute(f"ALTER TABLE {table} DROP COLUMN refit_of")


def downgrade() -> None:
    for table in ("trainings", "models"):
        op.add_column(table, sa.Column("refit_of", sa.String(40)))
        op.create_index(op.f(f"ix_{table}_refit_of"), table, ["refit_of"])
    op.add_column("price_lists", sa.Column("excuse", sa.String(20)))
    op.add_column("price_lists", sa.Column("training_id", sa.String(40)))
    names = {"fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s"}
    with op.batch_alter_table("price_lists", naming_convention=names) as batch:
        batch.create_unique_constraint(
            op.f("uq_price_lists_training_id"), ["training_id"]
        )
        if op.get_bind().dialect.name == "sqlite":
            # The copied table has it beside its columns; 0005 could not drop that one.
            batch.drop_constraint(
                "fk_price_lists_tenant_id_tenants", type_="foreignkey"
            )
