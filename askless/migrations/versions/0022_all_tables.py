"""All tables, with the triggers that keep the ledger append-only.

The numbers below this one were those of schemas before the first release; a database
that has one of them is refused.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = None
branch_labels = None
depends_on = None
# Later schemas serve this code, unless a migration names itself.
oldest_code = "0022"

APPEND_ONLY = "the ledger is append-only"
NO_CHARGE = "a reversal takes back one charge, all of it"
STANDS = "a feature is charged again only after a reversal"
# Of both engines: the charge or miss that a reversal takes back, and a charge that
# stands, beside which the feature is not charged again.
CHARGE = (
    "SELECT 1 FROM ledger AS c WHERE c.id = NEW.reverses AND c.kind <> 'reversal' "
    "AND c.tenant_id = NEW.tenant_id AND c.session_id = NEW.session_id "
    "AND c.feature = NEW.feature AND c.number = NEW.number "
    "AND c.amount = NEW.amount AND c.unit = NEW.unit"
)
STANDING = (
    "SELECT 1 FROM ledger AS c WHERE c.session_id = NEW.session_id "
    "AND c.feature = NEW.feature AND c.kind = 'charge' "
    "AND NOT EXISTS (SELECT 1 FROM ledger AS r WHERE r.reverses = c.id)"
)
SAME = (
    "SELECT 1 FROM ledger AS s WHERE s.session_id = NEW.session_id "
    "AND s.feature = NEW.feature AND s.kind = NEW.kind AND s.number = NEW.number"
)
# The ledger's table is strict on SQLite, which knows fewer types then.
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WHEN = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")


def text(length: int) -> sa.types.TypeEngine[str]:
    return sa.String(length).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    make_tenants()
    make_trainings()
    make_models()
    make_sessions()
    make_operations()
    make_ledger()
    make_buying()
    if op.get_bind().dialect.name == "sqlite":
        guard_on_sqlite()
    else:
        guard_on_postgres()


def make_tenants() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retention_days", sa.Integer()),
        sa.Column("is_bootstrapped", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
        sa.UniqueConstraint("name", name=op.f("uq_tenants_name")),
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
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("last_used_at", sa.DateTime(timezone=True)),
        sa.Column("subject", sa.String(600)),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_keys_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    op.create_index("ix_keys_subject", "keys", ["tenant_id", "subject"], unique=True)
    op.create_index(op.f("ix_keys_tenant_id"), "keys", ["tenant_id", "created_at"])
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["key_id"], ["keys.id"], name=op.f("fk_sign_ins_key_id_keys")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sign_ins")),
    )
    op.create_index(op.f("ix_sign_ins_expires_at"), "sign_ins", ["expires_at"])
    op.create_table(
        "idempotency_keys",
        sa.Column("tenant_id", sa.String(40), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("session_id", sa.String(40)),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
            name=op.f("fk_idempotency_keys_tenant_id_tenants"),
        ),
        sa.PrimaryKeyConstraint("tenant_id", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(
        op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"]
    )
    op.create_index(
        op.f("ix_idempotency_keys_session_id"), "idempotency_keys", ["session_id"]
    )
    op.execute(
        "INSERT INTO tenants (id, name, created_at, is_bootstrapped) "
        "VALUES ('ten_default', 'default', CURRENT_TIMESTAMP, FALSE)"
    )


def make_trainings() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("key_id", sa.String(40)),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("blob", sa.String(200), nullable=False),
        sa.Column("n_bytes", sa.BigInteger(), nullable=False),
        sa.Column("n_rows", sa.BigInteger(), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("url", sa.Text()),
        sa.Column("files", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_datasets_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
    )
    op.create_index(
        op.f("ix_datasets_tenant_id"), "datasets", ["tenant_id", "created_at"]
    )
    op.create_table(
        "trainings",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("key_id", sa.String(40)),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("dataset_id", sa.String(40)),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("share", sa.Float(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("holder", sa.String(80)),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True)),
        sa.Column("model_id", sa.String(40)),
        sa.Column("error", sa.JSON()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("kind", sa.String(20), server_default="train", nullable=False),
        sa.Column("asked_model", sa.String(40)),
        sa.Column("result", sa.JSON()),
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
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_trainings_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trainings")),
    )
    op.create_index(op.f("ix_trainings_dataset_id"), "trainings", ["dataset_id"])
    op.create_index(op.f("ix_trainings_state"), "trainings", ["state"])
    op.create_index(
        op.f("ix_trainings_tenant_id"), "trainings", ["tenant_id", "created_at"]
    )
    op.create_table(
        "training_events",
        sa.Column("training_id", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("type", sa.String(40), nullable=False),
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
    op.create_table(
        "checkpoints",
        sa.Column("training_id", sa.String(40), nullable=False),
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


def make_models() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("training_id", sa.String(40)),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True)),
        sa.Column(
            "is_champion", sa.Boolean(), server_default=sa.false(), nullable=False
        ),
        sa.Column("learnt_from", sa.String(40)),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_models_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint(
            "tenant_id", "name", "version", name=op.f("uq_models_tenant_id")
        ),
        sa.UniqueConstraint("training_id", name=op.f("uq_models_training_id")),
    )
    op.create_index(op.f("ix_models_tenant_id"), "models", ["tenant_id", "created_at"])
    op.create_index(
        "uq_models_champion",
        "models",
        ["tenant_id", "name"],
        unique=True,
        sqlite_where=sa.text("is_champion"),
        postgresql_where=sa.text("is_champion"),
    )
    op.create_table(
        "price_lists",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("model_id", sa.String(40), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_price_lists_model_id_models")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_price_lists_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price_lists")),
        sa.UniqueConstraint("model_id", "digest", name=op.f("uq_price_lists_model_id")),
    )
    op.create_table(
        "challenges",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("key_id", sa.String(40)),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("champion_id", sa.String(40), nullable=False),
        sa.Column("training_id", sa.String(40), nullable=False),
        sa.Column("alpha", sa.Float(), nullable=False),
        sa.Column("margin", sa.Float(), nullable=False),
        sa.Column("is_by_rule", sa.Boolean(), nullable=False),
        sa.Column("cases_since", sa.DateTime(timezone=True)),
        sa.Column("cut_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("counted_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decision", sa.String(20)),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("decided_by", sa.String(40)),
        sa.Column("was_by_rule", sa.Boolean()),
        sa.Column("n_decided", sa.Integer()),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_challenges_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenges")),
        sa.UniqueConstraint("training_id", name=op.f("uq_challenges_training_id")),
    )
    op.create_index(
        op.f("ix_challenges_tenant_id"), "challenges", ["tenant_id", "created_at"]
    )
    op.create_index(
        "uq_challenges_open",
        "challenges",
        ["tenant_id", "name"],
        unique=True,
        sqlite_where=sa.text("decision IS NULL"),
        postgresql_where=sa.text("decision IS NULL"),
    )
    op.create_table(
        "challenge_cases",
        sa.Column("challenge_id", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("session_id", sa.String(40)),
        sa.Column("champion_loss", sa.Float(), nullable=False),
        sa.Column("challenger_loss", sa.Float(), nullable=False),
        sa.Column("champion_spent", sa.BigInteger()),
        sa.Column("challenger_spent", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenges.id"],
            name=op.f("fk_challenge_cases_challenge_id_challenges"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
            name=op.f("fk_challenge_cases_tenant_id_tenants"),
        ),
        sa.PrimaryKeyConstraint(
            "challenge_id", "number", name=op.f("pk_challenge_cases")
        ),
        sa.UniqueConstraint(
            "challenge_id", "session_id", name=op.f("uq_challenge_cases_challenge_id")
        ),
    )
    op.create_index(
        op.f("ix_challenge_cases_session_id"), "challenge_cases", ["session_id"]
    )


def make_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("key_id", sa.String(40)),
        sa.Column("model_id", sa.String(40), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("budget_limit", sa.BigInteger()),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.Column("unit", sa.String(200), nullable=False),
        sa.Column("document", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("price_list_id", sa.String(40)),
        sa.Column("client_ref", sa.String(200)),
        sa.Column("held", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("is_run", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.CheckConstraint(
            "state IN ('open', 'waiting', 'closed')", name=op.f("ck_sessions_state")
        ),
        sa.CheckConstraint(
            "budget_limit IS NULL OR spent + held <= budget_limit",
            name=op.f("ck_sessions_within_budget"),
        ),
        sa.CheckConstraint("spent >= 0", name=op.f("ck_sessions_spent_not_negative")),
        sa.CheckConstraint("held >= 0", name=op.f("ck_sessions_held_not_negative")),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_sessions_model_id_models")
        ),
        sa.ForeignKeyConstraint(
            ["price_list_id"],
            ["price_lists.id"],
            name=op.f("fk_sessions_price_list_id_price_lists"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_sessions_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(
        "ix_sessions_reference", "sessions", ["tenant_id", "client_ref", "created_at"]
    )
    op.create_index(op.f("ix_sessions_key_id"), "sessions", ["key_id", "state"])
    op.create_index(
        op.f("ix_sessions_model_id"), "sessions", ["model_id", "state", "updated_at"]
    )
    op.create_index(op.f("ix_sessions_state"), "sessions", ["state"])
    op.create_index(
        op.f("ix_sessions_tenant_id"), "sessions", ["tenant_id", "created_at"]
    )
    op.create_index(op.f("ix_sessions_updated_at"), "sessions", ["updated_at"])
    op.create_table(
        "outcomes",
        sa.Column("session_id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("predicted", sa.String(200), nullable=False),
        sa.Column("chances", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
            name=op.f("fk_outcomes_session_id_sessions"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_outcomes_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_outcomes")),
    )
    op.create_index(op.f("ix_outcomes_tenant_id"), "outcomes", ["tenant_id", "at"])


def make_operations() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.String(80), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "schema_state",
        sa.Column("oldest_code", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("oldest_code", name=op.f("pk_schema_state")),
    )


def make_ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("id", WHOLE, autoincrement=True, nullable=False),
        sa.Column("tenant_id", text(40), server_default="ten_default", nullable=False),
        sa.Column("key_id", text(40)),
        sa.Column("at", WHEN, nullable=False),
        sa.Column("session_id", text(40), nullable=False),
        sa.Column("feature", text(200), nullable=False),
        sa.Column("group", text(200)),
        sa.Column("kind", text(20), nullable=False),
        sa.Column("amount", WHOLE, nullable=False),
        sa.Column("unit", text(200), nullable=False),
        sa.Column("number", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("reverses", WHOLE),
        sa.Column("reason", sa.Text()),
        sa.Column("provider", text(100)),
        sa.Column("digest", text(64), nullable=False),
        sa.CheckConstraint(
            "(kind = 'reversal') = (reverses IS NOT NULL) "
            "AND (kind = 'reversal') = (reason IS NOT NULL)",
            name=op.f("ck_ledger_reversal_is_explained"),
        ),
        sa.CheckConstraint(
            "kind IN ('charge', 'miss', 'reversal')", name=op.f("ck_ledger_kind")
        ),
        sa.CheckConstraint("amount >= 0", name=op.f("ck_ledger_amount_not_negative")),
        sa.CheckConstraint("number >= 1", name=op.f("ck_ledger_number_positive")),
        sa.ForeignKeyConstraint(
            ["reverses"], ["ledger.id"], name=op.f("fk_ledger_reverses_ledger")
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_ledger_session_id_sessions")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger")),
        sa.UniqueConstraint("reverses", name=op.f("uq_ledger_reverses")),
        sa.UniqueConstraint(
            "session_id", "feature", "kind", "number", name=op.f("uq_ledger_session_id")
        ),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_ledger_tenant_id"), "ledger", ["tenant_id", "id"])


def make_buying() -> None:
    op.create_table(
        "providers",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("key_id", sa.String(40)),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cools_until", sa.DateTime(timezone=True)),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True)),
        sa.Column("changes", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_providers_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_providers")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_providers_tenant_id")),
    )
    op.create_table(
        "provider_days",
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("provider", sa.String(100), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("held", sa.BigInteger(), nullable=False),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("held >= 0", name=op.f("ck_provider_days_held")),
        sa.CheckConstraint("spent >= 0", name=op.f("ck_provider_days_spent")),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
            name=op.f("fk_provider_days_tenant_id_tenants"),
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "provider", "day", name=op.f("pk_provider_days")
        ),
    )
    op.create_table(
        "runs",
        sa.Column("session_id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("key_id", sa.String(40)),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("keys", sa.JSON()),
        sa.Column("webhook", sa.JSON()),
        sa.Column("terms", sa.JSON()),
        sa.Column("left_out", sa.JSON(), nullable=False),
        sa.Column("holder", sa.String(80)),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("receipt", sa.Text()),
        sa.Column("digest", sa.String(64)),
        sa.CheckConstraint(
            "state IN ('buying', 'paused', 'ended', 'released')",
            name=op.f("ck_runs_state"),
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_runs_session_id_sessions")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_runs_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_state"), "runs", ["state", "heartbeat_at"])
    op.create_table(
        "calls",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("key_id", sa.String(40)),
        sa.Column("session_id", sa.String(40)),
        sa.Column("provider", sa.String(100), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("features", sa.JSON(), nullable=False),
        sa.Column("price", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.Column("unit", sa.String(200), nullable=False),
        sa.Column("idempotency_key", sa.String(64), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("reason", sa.String(200)),
        sa.Column("latency_ms", sa.Integer()),
        sa.Column("before", sa.JSON()),
        sa.Column("after", sa.JSON()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint(
            "state IN ('reserved', 'sent', 'settled', 'missed', 'released', "
            "'in_doubt')",
            name=op.f("ck_calls_state"),
        ),
        sa.CheckConstraint("charged >= 0", name=op.f("ck_calls_charged")),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_calls_session_id_sessions")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_calls_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calls")),
        sa.UniqueConstraint("session_id", "number", name=op.f("uq_calls_session_id")),
    )
    op.create_index(op.f("ix_calls_tenant_id"), "calls", ["tenant_id", "created_at"])
    op.create_index(
        op.f("ix_calls_provider"), "calls", ["tenant_id", "provider", "state"]
    )
    op.create_index(
        op.f("ix_calls_newest"), "calls", ["tenant_id", "provider", "created_at"]
    )
    op.create_table(
        "cached_answers",
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("provider", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("session_id", sa.String(40), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
            name=op.f("fk_cached_answers_session_id_sessions"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
            name=op.f("fk_cached_answers_tenant_id_tenants"),
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "provider", "digest", name=op.f("pk_cached_answers")
        ),
    )
    op.create_index(
        op.f("ix_cached_answers_session_id"), "cached_answers", ["session_id"]
    )
    op.create_table(
        "deliveries",
        sa.Column("session_id", sa.String(40), nullable=False),
        sa.Column(
            "tenant_id", sa.String(40), server_default="ten_default", nullable=False
        ),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('pending', 'delivered', 'failed')",
            name=op.f("ck_deliveries_state"),
        ),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
            name=op.f("fk_deliveries_session_id_sessions"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_deliveries_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_deliveries")),
    )
    op.create_index(op.f("ix_deliveries_state"), "deliveries", ["state", "next_at"])


def guard_on_sqlite() -> None:
    refuse("no_update", "UPDATE", APPEND_ONLY)
    refuse("no_delete", "DELETE", APPEND_ONLY)
    # Before an INSERT OR REPLACE would take away what is there.
    is_there = f"EXISTS (SELECT 1 FROM ledger WHERE id = NEW.id) OR EXISTS ({SAME})"
    refuse("no_replace", "INSERT", APPEND_ONLY, is_there)
    is_odd = f"NEW.kind = 'reversal' AND NOT EXISTS ({CHARGE})"
    refuse("reversal", "INSERT", NO_CHARGE, is_odd)
    is_early = f"NEW.number > 1 AND NEW.kind = 'charge' AND EXISTS ({STANDING})"
    refuse("charge_again", "INSERT", STANDS, is_early)


def refuse(name: str, verb: str, refusal: str, when: str = "1") -> None:
    op.execute(
        f"CREATE TRIGGER ledger_{name} BEFORE {verb} ON ledger WHEN {when} "
        f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
    )


def guard_on_postgres() -> None:
    op.execute(
        "CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{APPEND_ONLY}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER ledger_append_only "
        "BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change()"
    )
    op.execute(
        "CREATE FUNCTION check_ledger_entry() RETURNS trigger LANGUAGE plpgsql AS $$ "
        f"BEGIN IF NEW.kind = 'reversal' THEN IF NOT EXISTS ({CHARGE}) THEN "
        f"RAISE EXCEPTION '{NO_CHARGE}' USING ERRCODE = 'check_violation'; END IF; "
        f"ELSIF NEW.kind = 'charge' AND EXISTS ({STANDING}) THEN "
        f"RAISE EXCEPTION '{STANDS}' USING ERRCODE = 'unique_violation'; END IF; "
        "RETURN NEW; END $$"
    )
    # First charges, nearly all there are, need no more than the unique constraint.
    op.execute(
        "CREATE TRIGGER ledger_reversals BEFORE INSERT ON ledger FOR EACH ROW "
        "WHEN (NEW.kind = 'reversal' OR NEW.number > 1) "
        "EXECUTE FUNCTION check_ledger_entry()"
    )


def downgrade() -> None:
    for table in (
        *("deliveries", "cached_answers", "calls", "runs"),
        *("provider_days", "providers"),
        *("ledger", "schema_state", "workers", "outcomes", "sessions"),
        *("challenge_cases", "challenges", "price_lists", "models"),
        *("checkpoints", "training_events", "trainings", "datasets"),
        *("idempotency_keys", "sign_ins", "keys", "tenants"),
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name != "sqlite":
        op.execute("DROP FUNCTION check_ledger_entry()")
        op.execute("DROP FUNCTION refuse_ledger_change()")
