"""The ledger on SQLite is strict and refuses to be replaced; reversals on both engines.

SQLite took text for an amount, and INSERT OR REPLACE wrote a charge anew: its table is
rebuilt, with its ids. A reversal names its charge and a reason. `number` counts the
charges of a feature in a session, of which at most the last one stands. Processes of
before go on writing first charges. A downgrade fails where a feature was charged again.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

APPEND_ONLY = "the ledger is append-only"
NO_CHARGE = "a reversal takes back one charge, all of it"
STANDS = "a feature is charged again only after a reversal"
# Of both engines: the charge that a reversal takes back, and the reversal after which
# a feature is charged again.
CHARGE = (
    "SELECT 1 FROM ledger AS c WHERE c.id = NEW.reverses AND c.kind = 'charge' "
    "AND c.tenant_id = NEW.tenant_id AND c.session_id = NEW.session_id "
    "AND c.feature = NEW.feature AND c.number = NEW.number "
    "AND c.amount = NEW.amount AND c.unit = NEW.unit"
)
REVERSAL = (
    "SELECT 1 FROM ledger AS r WHERE r.session_id = NEW.session_id "
    "AND r.feature = NEW.feature AND r.kind = 'reversal' AND r.number = NEW.number - 1"
)
SAME = (
    "SELECT 1 FROM ledger AS s WHERE s.session_id = NEW.session_id "
    "AND s.feature = NEW.feature AND s.kind = NEW.kind AND s.number = NEW.number"
)
BEFORE = 'id, tenant_id, at, session_id, feature, "group", kind, amount, unit'
# Reversals of before were written by hand, and named nothing.
ITS_CHARGE = (
    "(SELECT c.id FROM ledger AS c WHERE c.session_id = ledger.session_id "
    "AND c.feature = ledger.feature AND c.kind = 'charge')"
)
REASON = "'Written before reversals had a reason.'"
EXPLAINED = (
    "(kind = 'reversal') = (reverses IS NOT NULL) "
    "AND (kind = 'reversal') = (reason IS NOT NULL)"
)
STRICT_TABLE = f"""
CREATE TABLE new_ledger (
    id INTEGER NOT NULL CONSTRAINT pk_ledger PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL DEFAULT 'ten_default',
    key_id TEXT,
    at TEXT NOT NULL,
    session_id TEXT NOT NULL
        CONSTRAINT fk_ledger_session_id_sessions REFERENCES sessions (id),
    feature TEXT NOT NULL,
    "group" TEXT,
    kind TEXT NOT NULL,
    amount INTEGER NOT NULL,
    unit TEXT NOT NULL,
    number INTEGER NOT NULL DEFAULT 1,
    reverses INTEGER CONSTRAINT fk_ledger_reverses_ledger REFERENCES new_ledger (id),
    reason TEXT,
    CONSTRAINT uq_ledger_session_id UNIQUE (session_id, feature, kind, number),
    CONSTRAINT uq_ledger_reverses UNIQUE (reverses),
    CONSTRAINT ck_ledger_kind CHECK (kind IN ('charge', 'reversal')),
    CONSTRAINT ck_ledger_amount_not_negative CHECK (amount >= 0),
    CONSTRAINT ck_ledger_number_positive CHECK (number >= 1),
    CONSTRAINT ck_ledger_reversal_is_explained CHECK ({EXPLAINED})
) STRICT
"""
LOOSE_TABLE = """
CREATE TABLE new_ledger (
    id INTEGER NOT NULL CONSTRAINT pk_ledger PRIMARY KEY AUTOINCREMENT,
    tenant_id VARCHAR(40) NOT NULL DEFAULT 'ten_default',
    at DATETIME NOT NULL,
    session_id VARCHAR(40) NOT NULL
        CONSTRAINT fk_ledger_session_id_sessions REFERENCES sessions (id),
    feature VARCHAR(200) NOT NULL,
    "group" VARCHAR(200),
    kind VARCHAR(20) NOT NULL,
    amount BIGINT NOT NULL,
    unit VARCHAR(200) NOT NULL,
    CONSTRAINT uq_ledger_session_id UNIQUE (session_id, feature, kind),
    CONSTRAINT ck_ledger_kind CHECK (kind IN ('charge', 'reversal')),
    CONSTRAINT ck_ledger_amount_not_negative CHECK (amount >= 0)
)
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        rebuild_strict()
    else:
        alter()
    # By this a tenant's entries are listed.
    op.create_index(op.f("ix_ledger_tenant_id"), "ledger", ["tenant_id", "id"])


def rebuild_strict() -> None:
    op.execute(STRICT_TABLE)
    is_reversal = "kind = 'reversal'"
    op.execute(
        f"INSERT INTO new_ledger ({BEFORE}, reverses, reason) SELECT {BEFORE}, "
        f"CASE WHEN {is_reversal} THEN {ITS_CHARGE} END, "
        f"CASE WHEN {is_reversal} THEN {REASON} END FROM ledger ORDER BY id"
    )
    op.execute("DROP TABLE ledger")
    op.execute("ALTER TABLE new_ledger RENAME TO ledger")
    refuse_on_sqlite("no_update", "UPDATE", APPEND_ONLY)
    refuse_on_sqlite("no_delete", "DELETE", APPEND_ONLY)
    # Before an INSERT OR REPLACE would take away what is there.
    is_there = f"EXISTS (SELECT 1 FROM ledger WHERE id = NEW.id) OR EXISTS ({SAME})"
    refuse_on_sqlite("no_replace", "INSERT", APPEND_ONLY, is_there)
    is_odd = f"NEW.kind = 'reversal' AND NOT EXISTS ({CHARGE})"
    refuse_on_sqlite("reversal", "INSERT", NO_CHARGE, is_odd)
    is_early = f"NEW.number > 1 AND NEW.kind = 'charge' AND NOT EXISTS ({REVERSAL})"
    refuse_on_sqlite("charge_again", "INSERT", STANDS, is_early)


def refuse_on_sqlite(name: str, verb: str, refusal: str, when: str = "1") -> None:
    op.execute(
        f"CREATE TRIGGER ledger_{name} BEFORE {verb} ON ledger WHEN {when} "
        f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
    )


def alter() -> None:
    for column in (
        "key_id VARCHAR(40)",
        "number INTEGER NOT NULL DEFAULT 1",
        "reverses BIGINT CONSTRAINT fk_ledger_reverses_ledger REFERENCES ledger (id)",
        "reason TEXT",
    ):
        op.execute(f"ALTER TABLE ledger ADD COLUMN {column}")
    op.execute("ALTER TABLE ledger DISABLE TRIGGER ledger_append_only")
    op.execute(
        f"UPDATE ledger SET reverses = {ITS_CHARGE}, reason = {REASON} "
        "WHERE kind = 'reversal'"
    )
    op.execute("ALTER TABLE ledger ENABLE TRIGGER ledger_append_only")
    op.drop_constraint("uq_ledger_session_id", "ledger", type_="unique")
    for rule in (
        "uq_ledger_session_id UNIQUE (session_id, feature, kind, number)",
        "uq_ledger_reverses UNIQUE (reverses)",
        "ck_ledger_number_positive CHECK (number >= 1)",
        f"ck_ledger_reversal_is_explained CHECK ({EXPLAINED})",
    ):
        op.execute(f"ALTER TABLE ledger ADD CONSTRAINT {rule}")
    op.execute(
        "CREATE FUNCTION check_ledger_entry() RETURNS trigger LANGUAGE plpgsql AS $$ "
        f"BEGIN IF NEW.kind = 'reversal' THEN IF NOT EXISTS ({CHARGE}) THEN "
        f"RAISE EXCEPTION '{NO_CHARGE}' USING ERRCODE = 'check_violation'; END IF; "
        f"ELSIF NOT EXISTS ({REVERSAL}) THEN "
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
    op.drop_index(op.f("ix_ledger_tenant_id"), "ledger")
    if op.get_bind().dialect.name == "sqlite":
        op.execute(LOOSE_TABLE)
        op.execute(f"INSERT INTO new_ledger ({BEFORE}) SELECT {BEFORE} FROM ledger")
        op.execute("DROP TABLE ledger")
        op.execute("ALTER TABLE new_ledger RENAME TO ledger")
        refuse_on_sqlite("no_update", "UPDATE", APPEND_ONLY)
        refuse_on_sqlite("no_delete", "DELETE", APPEND_ONLY)
        return
    op.execute("DROP TRIGGER ledger_reversals ON ledger")
    op.execute("DROP FUNCTION check_ledger_entry()")
    op.drop_constraint("uq_ledger_session_id", "ledger", type_="unique")
    op.create_unique_constraint(
        "uq_ledger_session_id", "ledger", ["session_id", "feature", "kind"]
    )
    for column in ("key_id", "number", "reverses", "reason"):
        op.execute(f"ALTER TABLE ledger DROP COLUMN {column}")
