"""A challenger plays silently beside the champion: the rule, and the cases so far."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0014"
branch_labels = None
depends_on = None

IS_OPEN = sa.text("decision IS NULL")
OWNER = "fk_{}_tenant_id_tenants"


def tenant_key(table: str) -> tuple[sa.Column[str], sa.ForeignKeyConstraint]:
    return (
        sa.Column(
            "tenant_id", sa.String(40), nullable=False, server_default="ten_default"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=OWNER.format(table)
        ),
    )


def upgrade() -> None:
    op.create_table(
        "challenges",
        sa.Column("id", sa.String(40), nullable=False),
        *tenant_key("challenges"),
        sa.Column("key_id", sa.String(40)),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("champion_id", sa.String(40), nullable=False),
        sa.Column("training_id", sa.String(40), nullable=False),
        sa.Column("alpha", sa.Float(), nullable=False),
        sa.Column("margin", sa.Float(), nullable=False),
        sa.Column("is_by_rule", sa.Boolean(), nullable=False),
        sa.Column("cut_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("counted_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decision", sa.String(20)),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("decided_by", sa.String(40)),
        sa.Column("was_by_rule", sa.Boolean()),
        sa.Column("n_decided", sa.Integer()),
        sa.PrimaryKeyConstraint("id", name="pk_challenges"),
        sa.UniqueConstraint("training_id", name="uq_challenges_training_id"),
    )
    op.create_index(
        "ix_challenges_tenant_id", "challenges", ["tenant_id", "created_at"]
    )
    op.create_index(
        "uq_challenges_open",
        "challenges",
        ["tenant_id", "name"],
        unique=True,
        sqlite_where=IS_OPEN,
        postgresql_where=IS_OPEN,
    )
    op.create_table(
        "challenge_cases",
        sa.Column("challenge_id", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        *tenant_key("challenge_cases"),
        sa.Column("session_id", sa.String(40)),
        sa.Column("champion_loss", sa.Float(), nullable=False),
        sa.Column("challenger_loss", sa.Float(), nullable=False),
        sa.Column("champion_spent", sa.BigInteger()),
        sa.Column("challenger_spent", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenges.id"],
            name="fk_challenge_cases_challenge_id_challenges",
        ),
        sa.PrimaryKeyConstraint("challenge_id", "number", name="pk_challenge_cases"),
        sa.UniqueConstraint(
            "challenge_id", "session_id", name="uq_challenge_cases_challenge_id"
        ),
    )
    op.create_index("ix_challenge_cases_session_id", "challenge_cases", ["session_id"])


def downgrade() -> None:
    op.drop_table("challenge_cases")
    op.drop_table("challenges")
