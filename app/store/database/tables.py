"""The tables. Money in micro-units, times in UTC, documents as JSON text."""

import sqlalchemy as sa

from app.records import DEFAULT_TENANT
from app.store.database.kinds import Counter, Id, StrictUtc, UtcDateTime, strict_text

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

tenants = sa.Table(
    "tenants",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False, unique=True),
    sa.Column("created_at", UtcDateTime, nullable=False),
    # Days after which closed sessions are erased; NULL: never.
    sa.Column("retention_days", sa.Integer),
    # Whether the first start has printed a key.
    sa.Column("is_bootstrapped", sa.Boolean, nullable=False),
)


def tenant_key() -> sa.Column[str]:
    """Make the column that says whose a row is; `app.store.database.tenancy` fills it.

    The default is for processes of before there were tenants, while they are replaced.
    """
    owner = sa.ForeignKey("tenants.id")
    return sa.Column(
        "tenant_id", Id, owner, nullable=False, server_default=DEFAULT_TENANT
    )


# The secrets themselves are stored nowhere: `digest` is their SHA-256.
keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("tenant_id", Id, sa.ForeignKey("tenants.id"), nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("limits", sa.JSON, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime),
    sa.Column("revoked_at", UtcDateTime),
    sa.Column("last_used_at", UtcDateTime),
)

datasets = sa.Table(
    "datasets",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("key_id", Id),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("blob", sa.String(200), nullable=False),
    sa.Column("n_bytes", sa.BigInteger, nullable=False),
    sa.Column("n_rows", sa.BigInteger, nullable=False),
    sa.Column("columns", sa.JSON, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    # Of a table that stays where it is: its address, and its files as they were.
    sa.Column("url", sa.Text),
    sa.Column("files", sa.JSON(none_as_null=True)),
)

trainings = sa.Table(
    "trainings",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("key_id", Id),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("state", sa.String(20), nullable=False, index=True),
    sa.Column(
        "dataset_id", Id, sa.ForeignKey("datasets.id", ondelete="SET NULL"), index=True
    ),
    sa.Column("spec", sa.JSON, nullable=False),
    sa.Column("warnings", sa.JSON, nullable=False),
    sa.Column("share", sa.Float, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("holder", sa.String(80)),
    sa.Column("heartbeat_at", UtcDateTime),
    sa.Column("model_id", Id),
    sa.Column("error", sa.JSON(none_as_null=True)),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("started_at", UtcDateTime),
    sa.Column("finished_at", UtcDateTime),
    # A model. No foreign key, which would lock it: whoever deletes it locks this row.
    sa.Column("refit_of", Id, index=True),
    # Jobs that apply a model are in the same queue. Theirs is `asked_model`, and their
    # `model_id` too once they have succeeded.
    sa.Column("kind", sa.String(20), nullable=False, server_default="train"),
    sa.Column("asked_model", Id),
    sa.Column("result", sa.JSON(none_as_null=True)),
    sa.CheckConstraint(
        "state IN ('queued', 'running', 'succeeded', 'failed', 'cancelling', "
        "'cancelled')",
        name="state",
    ),
    sa.CheckConstraint("share >= 0 AND share <= 1", name="share"),
    sa.CheckConstraint(
        "(state = 'succeeded') = (model_id IS NOT NULL)", name="succeeded_has_model"
    ),
)


def training_key() -> sa.Column[str]:
    """Make the first column of what belongs to a training, and goes with it."""
    key = sa.ForeignKey("trainings.id", ondelete="CASCADE")
    return sa.Column("training_id", Id, key, primary_key=True)


# The rounds of a training so far: one row for each part and each checkpoint of it.
checkpoints = sa.Table(
    "checkpoints",
    metadata,
    training_key(),
    sa.Column("part", sa.Integer, primary_key=True),
    sa.Column("first_round", sa.Integer, primary_key=True),
    sa.Column("rounds", sa.Text, nullable=False),
)

training_events = sa.Table(
    "training_events",
    metadata,
    training_key(),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("type", sa.String(40), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
)

models = sa.Table(
    "models",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("training_id", Id, unique=True),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    # A deleted model keeps its row: the ledger's sessions must stay explicable.
    sa.Column("deleted_at", UtcDateTime),
    # A model, as in the training; NULL but of one trained at the prices of a list.
    sa.Column("refit_of", Id, index=True),
    # What the bare name means; at most one of a name.
    sa.Column("is_champion", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.UniqueConstraint("tenant_id", "name", "version"),
)

# Once written, their amounts never change: sessions go on at them.
price_lists = sa.Table(
    "price_lists",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("model_id", Id, sa.ForeignKey("models.id"), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("training_id", Id, unique=True),
    # Why there is no training.
    sa.Column("excuse", sa.String(20)),
    sa.UniqueConstraint("model_id", "digest"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("key_id", Id),
    sa.Column("model_id", Id, sa.ForeignKey("models.id"), nullable=False, index=True),
    sa.Column("state", sa.String(20), nullable=False, index=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("budget_limit", sa.BigInteger),
    sa.Column("spent", sa.BigInteger, nullable=False),
    sa.Column("unit", sa.String(200), nullable=False),
    # NULL once its answers were erased.
    sa.Column("document", sa.Text),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False, index=True),
    # NULL: the model's own prices.
    sa.Column("price_list_id", Id, sa.ForeignKey("price_lists.id")),
    # What the caller knows the case by; NULL once it was erased.
    sa.Column("client_ref", sa.String(200)),
    sa.CheckConstraint("state IN ('open', 'waiting', 'closed')", name="state"),
    sa.CheckConstraint("spent >= 0", name="spent_not_negative"),
    sa.CheckConstraint(
        "budget_limit IS NULL OR spent <= budget_limit", name="within_budget"
    ),
)

# What came of a case, and what its session predicted when that was told.
outcomes = sa.Table(
    "outcomes",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), primary_key=True),
    tenant_key(),
    sa.Column("label", sa.String(200), nullable=False),
    sa.Column("predicted", sa.String(200), nullable=False),
    # Of each class of the model, in its order.
    sa.Column("chances", sa.JSON, nullable=False),
    # Of the session.
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)

# Append-only: triggers refuse whatever changes, replaces or removes an entry. Of the
# charges of a feature in a session, numbered from 1, at most the last one stands.
ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("id", Counter, primary_key=True, autoincrement=True),
    # No reference, which every charge would have to check: its session has one.
    sa.Column(
        "tenant_id", strict_text(40), nullable=False, server_default=DEFAULT_TENANT
    ),
    sa.Column("key_id", strict_text(40)),
    sa.Column("at", StrictUtc, nullable=False),
    sa.Column(
        "session_id", strict_text(40), sa.ForeignKey("sessions.id"), nullable=False
    ),
    sa.Column("feature", strict_text(200), nullable=False),
    sa.Column("group", strict_text(200)),
    sa.Column("kind", strict_text(20), nullable=False),
    sa.Column("amount", Counter, nullable=False),
    sa.Column("unit", strict_text(200), nullable=False),
    # Of a reversal that of its charge.
    sa.Column("number", sa.Integer, nullable=False, server_default="1"),
    sa.Column("reverses", Counter, sa.ForeignKey("ledger.id"), unique=True),
    sa.Column("reason", sa.Text),
    sa.CheckConstraint("kind IN ('charge', 'reversal')", name="kind"),
    sa.CheckConstraint("amount >= 0", name="amount_not_negative"),
    sa.CheckConstraint("number >= 1", name="number_positive"),
    sa.CheckConstraint(
        "(kind = 'reversal') = (reverses IS NOT NULL) "
        "AND (kind = 'reversal') = (reason IS NOT NULL)",
        name="reversal_is_explained",
    ),
    sa.UniqueConstraint("session_id", "feature", "kind", "number"),
    sa.Index(None, "tenant_id", "id"),
    sqlite_autoincrement=True,
)

# Answers to requests with an idempotency key. `digest` is what was asked, `session_id`
# the session that the answer tells of.
idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("tenant_id", Id, sa.ForeignKey("tenants.id"), primary_key=True),
    sa.Column("key", sa.String(255), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("session_id", Id, index=True),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("headers", sa.JSON, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False, index=True),
)

# By these a tenant's rows are listed.
for table in (keys, datasets, trainings, models, sessions):
    sa.Index(None, table.c.tenant_id, table.c.created_at)
sa.Index(None, sessions.c.client_ref)
# By this a key's open ones are counted.
sa.Index(None, sessions.c.key_id, sessions.c.state)
sa.Index(
    "uq_models_champion",
    models.c.tenant_id,
    models.c.name,
    unique=True,
    sqlite_where=models.c.is_champion,
    postgresql_where=models.c.is_champion,
)
