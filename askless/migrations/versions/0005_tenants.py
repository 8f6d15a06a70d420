"""Tenants and their keys; what was there belongs to the first tenant.

The columns have defaults, so that processes of before go on writing. A downgrade fails
while two tenants have models of one name and version.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

FIRST = "ten_default"
# With the column that lists are ordered by.
LISTED = ("datasets", "trainings", "models", "sessions")
MADE_BY_KEYS = ("datasets", "trainings", "sessions")


def upgrade() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retention_days", sa.Integer(), nullable=True),
        sa.Column("is_bootstrapped", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
        sa.UniqueConstraint("name", name=op.f("uq_tenants_name")),
    )
    op.execute(
        "INSERT INTO tenants (id, name, created_at, is_bootstrapped) "
        f"VALUES ('{FIRST}', 'default', CURRENT_TIMESTAMP, FALSE)"
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("tenant_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("limits", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_keys_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    op.create_index(op.f("ix_keys_tenant_id"), "keys", ["tenant_id", "created_at"])
    for table in ("datasets", "trainings", "sessions", "price_lists"):
        # Alembic has no column with a foreign key for SQLite but in a new table.
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN tenant_id VARCHAR(40) NOT NULL "
            f"DEFAULT '{FIRST}' CONSTRAINT fk_{table}_tenant_id_tenants "
            "REFERENCES tenants (id)"
        )
    # No reference, which every charge would have to check: its session has one.
    op.execute(
        "ALTER TABLE ledger ADD COLUMN tenant_id VARCHAR(40) NOT NULL "
        f"DEFAULT '{FIRST}'"
    )
    for table in MADE_BY_KEYS:
        op.execute(f"ALTER TABLE {table} ADD COLUMN key_id VARCHAR(40)")
    op.create_index(op.f("ix_sessions_key_id"), "sessions", ["key_id", "state"])
    # That of models is made anew on SQLite, for its other constraint.
    with op.batch_alter_table("models") as batch:
        batch.add_column(
            sa.Column("tenant_id", sa.String(40), nullable=False, server_default=FIRST)
        )
        batch.create_foreign_key(
            op.f("fk_models_tenant_id_tenants"), "tenants", ["tenant_id"], ["id"]
        )
        batch.drop_constraint(op.f("uq_models_name"), type_="unique")
        batch.create_unique_constraint(
            op.f("uq_models_tenant_id"), ["tenant_id", "name", "version"]
        )
    for table in LISTED:
        op.drop_index(op.f(f"ix_{table}_created_at"), table)
        op.create_index(
            op.f(f"ix_{table}_tenant_id"), table, ["tenant_id", "created_at"]
        )


def downgrade() -> None:
    for table in LISTED:
        op.drop_index(op.f(f"ix_{table}_tenant_id"), table)
        op.create_index(op.f(f"ix_{table}_created_at"), table, ["created_at"])
    with op.batch_alter_table("models") as batch:
        batch.drop_constraint(op.f("uq_models_tenant_id"), type_="unique")
        batch.create_unique_constraint(op.f("uq_models_name"), ["name", "version"])
        # The table was made anew, and the reference with it, on SQLite.
        batch.drop_constraint(op.f("fk_models_tenant_id_tenants"), type_="foreignkey")
        batch.drop_column("tenant_id")
    op.drop_index(op.f("ix_sessions_key_id"), "sessions")
    for table in MADE_BY_KEYS:
        op.execute(f"ALTER TABLE {table} DROP COLUMN key_id")
    op.execute("ALTER TABLE ledger DROP COLUMN tenant_id")
    for table in ("datasets", "trainings", "sessions", "price_lists"):
        op.execute(f"ALTER TABLE {table} DROP COLUMN tenant_id")
    op.drop_index(op.f("ix_keys_tenant_id"), "keys")
    op.drop_table("keys")
    op.drop_table("tenants")
