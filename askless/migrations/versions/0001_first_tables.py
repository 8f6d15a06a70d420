"""First tables; the ledger refuses UPDATE and DELETE."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

REFUSAL = "the ledger is append-only"


def upgrade() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("blob", sa.String(length=200), nullable=False),
        sa.Column("n_bytes", sa.BigInteger(), nullable=False),
        sa.Column("n_rows", sa.BigInteger(), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
    )
    op.create_index(op.f("ix_datasets_created_at"), "datasets", ["created_at"])

    op.create_table(
        "models",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("training_id", sa.String(length=40), nullable=True),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint("name", "version", name=op.f("uq_models_name")),
        sa.UniqueConstraint("training_id", name=op.f("uq_models_training_id")),
    )
    op.create_index(op.f("ix_models_created_at"), "models", ["created_at"])

    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("model_id", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("budget_limit", sa.BigInteger(), nullable=True),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.Column("unit", sa.String(length=200), nullable=False),
        sa.Column("document", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('open', 'waiting', 'closed')", name=op.f("ck_sessions_state")
        ),
        sa.CheckConstraint(
            "budget_limit IS NULL OR spent <= budget_limit",
            name=op.f("ck_sessions_within_budget"),
        ),
        sa.CheckConstraint("spent >= 0", name=op.f("ck_sessions_spent_not_negative")),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_sessions_model_id_models")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_created_at"), "sessions", ["created_at"])
    op.create_index(op.f("ix_sessions_model_id"), "sessions", ["model_id"])
    op.create_index(op.f("ix_sessions_state"), "sessions", ["state"])
    op.create_index(op.f("ix_sessions_updated_at"), "sessions", ["updated_at"])

    op.create_table(
        "trainings",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("dataset_id", sa.String(length=40), nullable=True),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("share", sa.Float(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("executor_id", sa.String(length=80), nullable=True),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("model_id", sa.String(length=40), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(state = 'succeeded') = (model_id IS NOT NULL)",
            name=op.f("ck_trainings_succeeded_has_model"),
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'succeeded', 'failed', 'cancelling', "
            "'cancelled')",
            name=op.f("ck_trainings_state"),
        ),
        sa.CheckConstraint(
            "share >= 0 AND share <= 1", name=op.f("ck_trainings_share")
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["datasets.id"],
            name=op.f("fk_trainings_dataset_id_datasets"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trainings")),
    )
    op.create_index(op.f("ix_trainings_created_at"), "trainings", ["created_at"])
    op.create_index(op.f("ix_trainings_dataset_id"), "trainings", ["dataset_id"])
    op.create_index(op.f("ix_trainings_state"), "trainings", ["state"])

    op.create_table(
        "checkpoints",
        sa.Column("training_id", sa.String(length=40), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("first_round", sa.Integer(), nullable=False),
        sa.Column("rounds", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["training_id"],
            ["trainings.id"],
            name=op.f("fk_checkpoints_training_id_trainings"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "training_id", "part", "first_round", name=op.f("pk_checkpoints")
        ),
    )
    op.create_table(
        "ledger",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("session_id", sa.String(length=40), nullable=False),
        sa.Column("feature", sa.String(length=200), nullable=False),
        sa.Column("group", sa.String(length=200), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("unit", sa.String(length=200), nullable=False),
        sa.CheckConstraint(
            "kind IN ('charge', 'reversal')", name=op.f("ck_ledger_kind")
        ),
        sa.CheckConstraint("amount >= 0", name=op.f("ck_ledger_amount_not_negative")),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_ledger_session_id_sessions")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger")),
        sa.UniqueConstraint(
            "session_id", "feature", "kind", name=op.f("uq_ledger_session_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "training_events",
        sa.Column("training_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["training_id"],
            ["trainings.id"],
            name=op.f("fk_training_events_training_id_trainings"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "training_id", "number", name=op.f("pk_training_events")
        ),
    )
    close_ledger()


def close_ledger() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER ledger_no_{verb.lower()} BEFORE {verb} ON ledger "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER ledger_append_only "
        "BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change()"
    )


def downgrade() -> None:
    op.drop_table("training_events")
    op.drop_table("ledger")
    op.drop_table("checkpoints")
    op.drop_index(op.f("ix_trainings_state"), table_name="trainings")
    op.drop_index(op.f("ix_trainings_dataset_id"), table_name="trainings")
    op.drop_index(op.f("ix_trainings_created_at"), table_name="trainings")

    op.drop_table("trainings")
    op.drop_index(op.f("ix_sessions_updated_at"), table_name="sessions")
    op.drop_index(op.f("ix_sessions_state"), table_name="sessions")
    op.drop_index(op.f("ix_sessions_model_id"), table_name="sessions")
    op.drop_index(op.f("ix_sessions_created_at"), table_name="sessions")

    op.drop_table("sessions")
    op.drop_index(op.f("ix_models_created_at"), table_name="models")

    op.drop_table("models")
    op.drop_index(op.f("ix_datasets_created_at"), table_name="datasets")

    op.drop_table("datasets")
    if op.get_bind().dialect.name != "sqlite":
        op.execute("DROP FUNCTION refuse_ledger_change()")
