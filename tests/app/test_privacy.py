"""What is erased is nowhere any more: in no row, file or log, and after its time."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.records import Moment
from askless.app.service.sessions import erase_old
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.app.store.database.engine import transaction
from askless.app.worker.computing import utc_now
from askless.app.worker.errands import Errands
from tests.app.clinic import Answer, Json, Start
from tests.app.conftest import Finished

pytest_plugins = ["tests.app.conftest_http"]

CANARIES = ("canary-category", "canary-reference", "73501.5")
on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


@pytest.fixture
def told(start: Start, answer: Answer) -> Json:
    """A session that has been told canaries."""
    session = start(60.0, client_ref=CANARIES[1], known={"ecg": 73501.5})
    answer(session, ("sex", CANARIES[0]), ("age", 73501.5), accept_unseen=True)
    answer(session, ("sex", "male"), ("age", 63))
    return session


def found_in(folder: Path) -> set[str]:
    """The canaries that any file of the database has."""
    held = b"".join(path.read_bytes() for path in folder.glob("askless.db*"))
    return {canary for canary in CANARIES if canary.encode() in held}


@on_sqlite
def test_no_file_of_the_database_has_what_was_erased(
    client: TestClient, told: Json, home: Path
) -> None:
    before = found_in(home)

    client.delete(f"/predict/{told['id']}")

    assert before == set(CANARIES)
    assert found_in(home) == set()
    amounts = client.get(f"/predict/{told['id']}/ledger").json()["sums"]
    assert amounts[0]["net"] == 1.5


@on_sqlite
def test_what_a_reader_keeps_in_the_log_is_erased_after_it(
    client: TestClient, told: Json, home: Path, engine: sa.Engine
) -> None:
    errands = Errands(engine, Blobs(f"file://{home}/up"), Settings(home=home))
    with transaction(engine, None, is_read=True) as db:
        db.execute(sa.text("SELECT count(*) FROM sessions"))
        client.delete(f"/predict/{told['id']}")
        meanwhile = found_in(home)

    errands.empty_log()

    assert meanwhile == set(CANARIES)
    assert found_in(home) == set()


def test_no_row_has_what_was_erased(
    client: TestClient, told: Json, engine: sa.Engine
) -> None:
    client.delete(f"/predict/{told['id']}")

    metadata = sa.MetaData()
    with transaction(engine, None, is_read=True) as db:
        metadata.reflect(db.connection())
        rows = [
            str(db.execute(table.select()).all()) for table in metadata.sorted_tables
        ]

    assert not [canary for canary in CANARIES if canary in "".join(rows)]


def test_closed_sessions_are_erased_when_a_tenant_keeps_them_no_longer(
    client: TestClient, start: Start, engine: sa.Engine
) -> None:
    closed, idle = start(60.0, client_ref="a"), start(60.0)
    client.post(f"/predict/{closed['id']}/stop")

    def erased_after(days: float) -> int:
        later = utc_now() + timedelta(days=days)
        ttls = timedelta(days=7), timedelta(days=90)
        with transaction(engine, "ten_default") as db:
            return erase_old(db, Moment(later, *ttls), timedelta(days=30))

    assert [erased_after(days) for days in (29, 31, 36, 38)] == [0, 1, 0, 1]
    shown = [client.get(f"/predict/{entry['id']}").json() for entry in (closed, idle)]
    assert [session["state"] for session in shown] == ["closed", "closed"]
    assert [session["prediction"] for session in shown] == [None, None]


def test_an_operator_says_how_long_sessions_are_kept(
    run: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASKLESS_HOME", str(tmp_path))

    kept = run("tenants", "keep", "default", "--days", "30")
    listed = run("tenants", "list")
    unsaid = run("tenants", "keep", "default")
    unknown = run("tenants", "keep", "nobody", "--forever")

    assert kept.out == "Sessions of default are kept 30 days once they are closed.\n"
    assert "30 d" in listed.out
    assert "--days: is required, or --forever" in unsaid.err
    assert "must be the name of a tenant" in unknown.err
    assert (unsaid.code, unknown.code) == (2, 2)
