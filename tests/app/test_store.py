"""The database itself: migrations, constraints, and the race to charge."""

from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy.exc import IntegrityError

from askless.app.records import LedgerEntry, PredictSession
from askless.app.store import ledger, models, sessions
from askless.app.store.buying import calls
from askless.app.store.database.engine import create_engine
from askless.app.store.database.migrate import (
    build_config,
    is_served,
    list_revisions,
    migrate,
    oldest_code,
    schema_state,
)
from askless.app.store.database.tables import sessions as session_rows
from askless.app.store.database.tables import trainings as training_rows
from askless.app.store.database.transactions import Transaction
from askless.app.store.ledger import ledger as ledger_rows
from askless.app.store.schema import all_tables
from tests.app.servers import CONTEXT
from tests.app.tenants import transaction

# Each process charges so many times; the budget holds for all of them together.
N_CHARGES, BUDGET = 60, 150
NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
OURS = set(all_tables().tables)


def tables(url: str) -> set[str]:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    return set(sa.inspect(engine).get_table_names())


def test_migrations_go_up_down_and_up_again(empty_url: str) -> None:
    migrate(empty_url)
    assert tables(empty_url) >= OURS

    command.downgrade(build_config(empty_url), "base")
    assert not tables(empty_url) & OURS

    migrate(empty_url)
    assert tables(empty_url) >= OURS


def test_migrating_twice_changes_nothing(database_url: str, engine: sa.Engine) -> None:
    migrate(database_url)

    assert is_served(engine)


def test_database_without_migrations_is_not_served(empty_url: str) -> None:
    engine = create_engine(empty_url)
    assert not is_served(engine)
    engine.dispose()


# What the schema and `schema_state` of a database of another version say.
OTHERS = {
    "before the first release": ("0021", "0002"),
    "before schemas said which code they serve": ("0001", None),
    "of no use to this code": ("9999", "9999"),
}


@pytest.mark.parametrize("words", [["migrate"], ["serve", "--port", "0"]])
@pytest.mark.parametrize("version", OTHERS)
def test_database_of_another_version_is_refused_in_one_sentence(
    database_url: str,
    engine: sa.Engine,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[..., Any],
    version: str,
    words: list[str],
) -> None:
    revision, oldest = OTHERS[version]
    with transaction(engine) as db:
        db.execute(sa.text(f"UPDATE alembic_version SET version_num = '{revision}'"))
        if oldest is None:
            db.execute(sa.text("DROP TABLE schema_state"))
        else:
            db.execute(schema_state.update().values(oldest_code=oldest))
    monkeypatch.setenv("ASKLESS_DATABASE_URL", database_url)

    finished = run(*words)

    assert not is_served(engine)
    assert finished.code == 2
    assert finished.err == (
        "refused database: must have a schema of this version of Askless: use the "
        "version that made it, or name a new database by ASKLESS_HOME or "
        f"ASKLESS_DATABASE_URL; found schema {revision}, not {list_revisions()[0]}\n"
    )


def test_schema_says_which_code_may_work_on_it(engine: sa.Engine) -> None:
    with transaction(engine, is_read=True) as db:
        stated = db.scalar(sa.select(schema_state.c.oldest_code))

    scripts = ScriptDirectory.from_config(build_config(""))
    assert stated == oldest_code(scripts, "head")
    assert stated in list_revisions()


def test_migrations_make_the_declared_tables(database_url: str) -> None:
    checked = build_config(database_url)
    checked.stdout = StringIO()

    command.check(checked)


def test_migrations_have_one_head() -> None:
    assert len(ScriptDirectory.from_config(build_config("")).get_heads()) == 1


def add_session(db: Transaction, limit: int | None) -> str:
    model = models.insert(db, name="m", document="{}", training_id=None, now=NOW)
    made = PredictSession("ses_1", model.id, "open", 1, limit, 0, "CAD", "{}", NOW, NOW)
    sessions.insert(db, made)
    return made.id


@pytest.fixture
def session_id(engine: sa.Engine) -> str:
    with transaction(engine) as db:
        return add_session(db, 100)


def add_charge(
    db: Transaction, session_id: str, amount: int = 10, feature: str = "age"
) -> None:
    charge = (1, NOW, session_id, feature, None, "charge", amount, "CAD")
    ledger.append(db, LedgerEntry(*charge))


@pytest.mark.parametrize(
    "change", [sa.update(ledger_rows).values(amount=0), sa.delete(ledger_rows)]
)
def test_ledger_is_append_only(
    engine: sa.Engine, session_id: str, change: sa.Update | sa.Delete
) -> None:
    with transaction(engine) as db:
        add_charge(db, session_id)

    with (
        pytest.raises(sa.exc.DBAPIError, match="append-only"),
        transaction(engine) as db,
    ):
        db.execute(change)

    with transaction(engine, is_read=True) as db:
        assert db.scalars(sa.select(ledger_rows.c.amount)).all() == [10]


READS_OF_SESSIONS: list[Callable[[Transaction, str], object]] = [
    add_charge,
    ledger.list_of_session,
    lambda db, session_id: ledger.find_row_id(db, session_id, 1),
    lambda db, session_id: sessions.lock_unerased(db, [session_id, *"abcdefgh"]),
    calls.erase,
]


@pytest.mark.parametrize("read", READS_OF_SESSIONS)
def test_what_concerns_one_session_reads_no_other(
    engine: sa.Engine, session_id: str, read: Callable[[Transaction, str], object]
) -> None:
    if engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL's plans follow from statistics")
    plans = []

    def explain(connection: Any, _: Any, statement: str, values: Any, *__: Any) -> None:
        if statement.startswith(("SELECT", "UPDATE")):
            cursor = connection.connection.cursor()
            rows = cursor.execute(f"EXPLAIN QUERY PLAN {statement}", values)
            plans.extend(row[3] for row in rows)

    with transaction(engine) as db:
        sa.event.listen(engine, "before_cursor_execute", explain)
        read(db, session_id)
        sa.event.remove(engine, "before_cursor_execute", explain)

    assert plans
    assert [plan for plan in plans if "(tenant_id=?)" in plan] == []


@pytest.mark.parametrize("amount", [10, -1], ids=["the same again", "negative"])
def test_feature_is_charged_once_in_a_session_and_no_negative_amount(
    engine: sa.Engine, session_id: str, amount: int
) -> None:
    if amount > 0:
        with transaction(engine) as db:
            add_charge(db, session_id)

    with pytest.raises(IntegrityError), transaction(engine) as db:
        add_charge(db, session_id, amount)


@pytest.mark.parametrize(
    "values", [{"spent": 101}, {"spent": -1}, {"state": "asleep"}, {"model_id": "x"}]
)
def test_impossible_session_is_refused(
    engine: sa.Engine, session_id: str, values: dict[str, object]
) -> None:
    with pytest.raises(IntegrityError), transaction(engine) as db:
        db.execute(session_rows.update().values(values))

    with transaction(engine, is_read=True) as db:
        found = sessions.get(db, session_id)
    assert found is not None
    assert (found.state, found.spent) == ("open", 0)


@pytest.mark.parametrize(
    "values", [{"state": "asleep"}, {"share": 1.5}, {"dataset_id": "x"}]
)
def test_impossible_training_is_refused(
    engine: sa.Engine, values: dict[str, object]
) -> None:
    row = {
        "id": "trn_1",
        "name": "m",
        "state": "queued",
        "spec": {},
        "warnings": [],
        "share": 0.0,
        "attempt": 0,
        "created_at": NOW,
    }

    with pytest.raises(IntegrityError), transaction(engine) as db:
        db.execute(training_rows.insert().values(row | values))


def test_reading_transaction_can_not_write(engine: sa.Engine, session_id: str) -> None:
    with (
        pytest.raises(sa.exc.DBAPIError),
        transaction(engine, is_read=True) as db,
    ):
        charge(db, session_id, 1)

    with transaction(engine) as db:
        assert charge(db, session_id, 1)


def charge(db: Transaction, session_id: str, amount: int) -> bool:
    return sessions.save(db, sessions.get(db, session_id), amount) is not None


def charge_often(url: str, session_id: str, number: int) -> int:
    """Charge 1 micro-unit again and again; return how often it was accepted."""
    engine, n_taken = create_engine(url), 0
    for count in range(N_CHARGES):
        with transaction(engine) as db:
            if charge(db, session_id, 1):
                add_charge(db, session_id, 1, f"{number}-{count}")
                n_taken += 1
    engine.dispose()
    return n_taken


@pytest.mark.slow
def test_racing_charges_are_neither_lost_nor_past_the_budget(
    database_url: str, engine: sa.Engine
) -> None:
    with transaction(engine) as db:
        session_id = add_session(db, BUDGET)

    with CONTEXT.Pool(3) as pool:
        tasks = [(database_url, session_id, number) for number in range(3)]
        taken = pool.starmap(charge_often, tasks)

    with transaction(engine, is_read=True) as db:
        found = sessions.get(db, session_id)
        charged = db.scalar(sa.select(sa.func.sum(ledger_rows.c.amount)))
    assert found is not None
    assert found.spent == charged == sum(taken) == BUDGET
