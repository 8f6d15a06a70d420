"""Tables that several nouns use; a noun's own tables are beside its queries.

Money is in micro-units, times are in UTC, documents are JSON text.
"""

import sqlalchemy as sa

from askless.app.records import DEFAULT_TENANT
from askless.app.store.database.sql_types import Id, UtcDateTime

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
    """Make the column of a row's tenant, which `tenancy` fills.

    The default serves processes of older code, while they are being replaced.
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
    sa.Column("subject", sa.String(600)),
    sa.Index("ix_keys_subject", "tenant_id", "subject", unique=True),
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
    # What the bare name means; at most one of a name.
    sa.Column("is_champion", sa.Boolean, nullable=False, server_default=sa.false()),
    # The model that went on learning, whose next version this one is.
    sa.Column("learnt_from", Id),
    sa.UniqueConstraint("tenant_id", "name", "version"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    sa.Column("key_id", Id),
    sa.Column("model_id", Id, sa.ForeignKey("models.id"), nullable=False),
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
    # Reserved for calls on their way.
    sa.Column("held", sa.BigInteger, nullable=False, server_default="0"),
    # Whether it has a row in `runs`.
    sa.Column("is_run", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.CheckConstraint("state IN ('open', 'waiting', 'closed')", name="state"),
    sa.CheckConstraint("spent >= 0", name="spent_not_negative"),
    sa.CheckConstraint("held >= 0", name="held_not_negative"),
    sa.CheckConstraint(
        "budget_limit IS NULL OR spent + held <= budget_limit", name="within_budget"
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

# What champion and challenger came to on each case of a challenge, in the order in
# which they were counted. They never change: the same rows give the same verdict.
challenge_cases = sa.Table(
    "challenge_cases",
    metadata,
    sa.Column("challenge_id", Id, sa.ForeignKey("challenges.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    tenant_key(),
    # NULL once the case was erased: its losses then belong to nobody.
    sa.Column("session_id", Id, index=True),
    # Each from 0 to 1.
    sa.Column("champion_loss", sa.Float, nullable=False),
    sa.Column("challenger_loss", sa.Float, nullable=False),
    # NULL where the log lacks an answer.
    sa.Column("champion_spent", sa.BigInteger),
    sa.Column("challenger_spent", sa.BigInteger),
    sa.UniqueConstraint("challenge_id", "session_id"),
)

# By these a tenant's rows are listed.
for table in (keys, datasets, trainings, models, sessions):
    sa.Index(None, table.c.tenant_id, table.c.created_at)
# By all three: for one reference SQLite would read all sessions of a tenant.
sa.Index(
    "ix_sessions_reference",
    *(sessions.c.tenant_id, sessions.c.client_ref, sessions.c.created_at),
)
# By these the cases of models are found that became known since a moment.
sa.Index(None, sessions.c.model_id, sessions.c.state, sessions.c.updated_at)
sa.Index(None, outcomes.c.tenant_id, outcomes.c.at)
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
